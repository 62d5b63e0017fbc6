#pragma once
// HostClock: when a chip and the host that starts its kernels are done with the
// passes of an engine, on paper.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "analytic/step/unit_estimate.h"
#include "workload/plan/engine_profile.h"

namespace orrery {

// The clocks of chip and host over the steps of a pass. The host of a stage
// begins with the pass, whatever the stage has to wait for.
class HostClock {
 public:
  // `collective`: what it takes to start a call.
  HostClock(const EngineProfile& engine, EngineLaunch launch,
            const CollectiveLaunches& collective)
      : launch_(launch),
        kernel_(ToSeconds(engine.host_launch)),
        call_(collective),
        calls_wait_(engine.wait_for_collectives),
        host_(launch == EngineLaunch::kGraph ? ToSeconds(engine.graph_start)
                                             : 0),
        chip_(host_) {}

  // What the next unit needs is there at `time`.
  void Arrive(double time) { input_ = time; }
  // So many units alike, one after the other. Once the host is as far ahead of
  // the chip after one as before it, every further one takes as long; and once
  // the chip waited for nothing, it never will, if the host gains on it.
  void Run(const ForwardEstimate& unit, int times) {
    for (int left = times; left > 0; --left) {
      const double chip = chip_;
      const double host = host_;
      // The very first start waits for nothing; what the first unit waited for
      // is there for the others.
      const bool unlike = !ran_ || input_ > chip;
      waited_ = false;
      RunOne(unit);
      const double on_chip = chip_ - chip;
      const double on_host = host_ - host;
      const bool alike = std::abs(on_chip - on_host) <= kAlike * on_chip;
      if (!unlike && (alike || (!waited_ && on_host < on_chip))) {
        chip_ += (left - 1) * on_chip;
        host_ += (left - 1) * on_host;
        return;
      }
    }
  }
  double chip() const { return chip_; }
  // Ends a pass with the host's work between steps, and begins the next one.
  // Without overlap the chip waits for that work.
  void NextPass(double between, bool overlaps, double graph_start) {
    if (!overlaps && between > 0) host_ = std::max(host_, chip_);
    host_ += between;
    if (!overlaps && between > 0) chip_ = host_;
    if (launch_ != EngineLaunch::kGraph) return;
    host_ += graph_start;
    chip_ = std::max(chip_, host_);
  }
  // Ends the last pass with the host's work between steps.
  double Finish(double between, bool overlaps) const {
    return overlaps ? std::max(chip_, host_ + between) : chip_ + between;
  }

 private:
  // Times that differ by no more are the same.
  static constexpr double kAlike = 1e-12;

  void RunOne(const ForwardEstimate& unit) {
    for (size_t i = 0; i < unit.steps.size(); ++i) {
      if (launch_ != EngineLaunch::kGraph) Start(unit.call[i]);
      WaitFor(input_);
      chip_ += unit.steps[i];
    }
  }
  void WaitFor(double time) {
    if (time <= chip_) return;
    chip_ = time;
    waited_ = true;
  }
  void Start(std::optional<ExchangeGroup> call) {
    const bool waits =
        launch_ == EngineLaunch::kWaiting || (call && calls_wait_);
    // Nothing ran before the first.
    if (waits && ran_) host_ = std::max(host_, chip_);
    host_ += call ? ToSeconds(call_[static_cast<size_t>(*call)]) : kernel_;
    WaitFor(host_);
    ran_ = true;
  }

  EngineLaunch launch_;
  double kernel_;
  CollectiveLaunches call_;
  bool calls_wait_;
  double host_;
  double chip_;
  double input_ = 0;
  bool ran_ = false;
  bool waited_ = false;
};

}  // namespace orrery
