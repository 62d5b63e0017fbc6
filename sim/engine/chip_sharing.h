#pragma once
// ChipSharing: the rates of kernels that do not have their chip to themselves.
//
// Communication holds its share of the compute units and of the HBM bandwidth
// for as long as it runs, as its channels do on the hardware. Kernels share
// what is left, max-min fair, each with its demand as weight and at most its
// full speed. For one kernel that is
//
//   rate = min(1, (1 - held compute) / compute demand,
//                 (1 - held memory) / memory demand)
//
// of its work; its launch, which needs nothing of the chip, takes as long as it
// takes. So a kernel of which l is launch goes through its duration at
// 1 / (l + (1 - l) / rate).
//
// A collective that waits for its partners holds its compute units as well: its
// kernel has been launched, and spins. It moves nothing, so it takes no
// bandwidth; and all that wait hold half of the chip at most, so that they
// never stop what they wait for. A transfer between two stages holds nothing
// while it waits: a receive is posted early here, where programs post it when
// nothing else is left to do.
//
// A kernel that starts on an idle chip never comes here: the engine schedules
// its end at once. Only when something starts or ends beside it is the chip
// marked, and its kernels' ends are moved when the instant is settled.
#include <absl/types/span.h>

#include <vector>

#include "sim/engine/engine_state.h"
#include "sim/engine/event_queue.h"
#include "sim/sharing/completion.h"
#include "sim/sharing/fair_share.h"

namespace orrery {

// Of a chip's compute units, what collectives that wait hold at most.
inline constexpr double kMostSpinning = 0.5;

// Defined for the queues of event_queue.h.
template <EventQueue Queue>
class ChipSharing {
 public:
  ChipSharing(EngineState& state, Queue& queue)
      : state_(state), queue_(queue), progress_(state.streams.size()) {}

  // Something changed on the chip. Its kernels get their rates in Settle.
  void Mark(RankId rank) {
    RankState& chip = state_.ranks[rank];
    if (!chip.is_dirty && chip.kernels != 0) AddMarked(chip, rank);
  }

  // Chips that will be settled.
  absl::Span<const RankId> marked() const { return marked_; }

  void Settle(Time now) {
    if (!marked_.empty()) SettleMarked(now);
  }

  // Kernels whose rate was set, and work done by kernels that shared: for tests
  // and reports.
  int64_t changes() const { return changes_; }

 private:
  // Work is the kernel's duration in picoseconds, done at `rate` <= 1.
  struct Progress {
    double remaining = 0;
    double rate = 1;
    Time updated{};
  };

  void AddMarked(RankState& chip, RankId rank);
  void SettleMarked(Time now);
  void SettleChip(RankId rank, Time now);
  ChipShare Held(const RankState& chip, RankId rank) const;
  // Of a kernel whose work goes on at `rate`.
  double WithLaunch(RankId rank, PlaceId task, double rate) const;
  // `rate` is that of the kernel's work.
  void SetRate(RankId rank, StreamId stream, double rate, Time now);

  EngineState& state_;
  Queue& queue_;
  std::vector<Progress> progress_;
  std::vector<RankId> marked_;
  int64_t changes_ = 0;
  FairShareProblem problem_;
  FairShareSolver solver_;
};

// The duration of a kernel on a rank with the chip to itself. What needs
// nothing of the chip, as its host does, is not slower on a slow one.
inline Duration SoloDuration(const KernelWork& kernel, double slowness) {
  if (slowness == 1 || kernel.demand == ChipShare{} ||
      IsBeyondTime(kernel.duration)) {
    return kernel.duration;
  }
  const double scaled = Picoseconds(kernel.duration) * slowness;
  // Beyond the range of time: the engine reports it when it comes up.
  if (!(scaled < kMaxSeconds * 1e12)) return kBeyondTime;
  return Duration(static_cast<int64_t>(scaled + 0.5));
}

}  // namespace orrery
