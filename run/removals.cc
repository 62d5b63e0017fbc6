#include "run/removals.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/parallel.h"
#include "base/status.h"
#include "run/improve_system.h"
#include "run/report.h"
#include "run/sensitivities.h"
#include "run/training_run.h"
#include "sim/analysis/time_shares.h"
#include "topology/traffic/dimension.h"
#include "workload/plan/training_plan.h"

namespace orrery {
namespace {

// Small against everything else in a step.
constexpr double kAlmostNothing = 1e6;
// Of slow chips, or of links, so many are measured one by one.
constexpr int kMostAlike = 4;
constexpr char kFillAndDrain[] = "pipeline fill and drain";
constexpr char kRecomputation[] = "recomputation";

// A step to simulate; the message is that of the scenario unless it is changed.
struct WhatIf {
  pb::Scenario proto;
  RunOptions options;
  bool same_network = true;
  // How many times the micro-batches.
  int longer = 1;
};

// Steps are by their place in the list of those to simulate.
struct Cause {
  std::string cause;
  std::string where;
  size_t without = 0;
  // What is saved is between these two, where that is not the step as it is.
  std::optional<size_t> with = std::nullopt;
  // Communication includes what congestion and faults add to it.
  bool follows = false;
};

// Congestion and faults can be mended, and are named before the communication
// that they slow unless it takes clearly more than they add to it.
constexpr double kClearly = 0.75;

absl::StatusOr<Duration> TimeOf(const ResolvedScenario& scenario,
                                const Network& network, const WhatIf& what) {
  const Network* same = what.same_network ? &network : nullptr;
  ASSIGN_OR_RETURN(const ResolvedScenario changed, MakeScenario(what.proto));
  if (what.longer == 1) return StepTimeOf(changed, same, what.options);
  const TrainingPlan& plan = *scenario.training();
  ASSIGN_OR_RETURN(
      const PeriodicStep step,
      RunPeriodically({changed.model, changed.system, changed.kernels, network},
                      plan.WithMicroBatches(what.longer * plan.micro_batches()),
                      what.options));
  return step.time;
}

// Whether the plan's memory is within the chip's.
bool Fits(const WhatIf& what, const Network& network) {
  const auto changed = MakeScenario(what.proto);
  if (!changed.ok()) return false;
  const auto memory =
      RunForMemory({changed->model, changed->system, changed->kernels, network},
                   *changed->training(), what.options);
  return memory.ok() &&
         MemoryNeeded(*changed, *memory) <= MemoryCapacity(changed->system);
}

class Causes {
 public:
  Causes(const ResolvedScenario& scenario, const SimulatedRun& run,
         const RunOptions& options)
      : scenario_(scenario), run_(run), options_(options) {}

  absl::Status Find() {
    AddMachine();
    AddPlan();
    AddCommunication();
    return AddLaunches();
  }
  const std::vector<Cause>& causes() const { return causes_; }
  const std::vector<WhatIf>& steps() const { return steps_; }

 private:
  WhatIf AsIs() const {
    return {.proto = scenario_.proto, .options = options_};
  }
  bool HasSharing() const { return options_.fidelity == Fidelity::kFluid; }
  WhatIf Alone() const {
    WhatIf what = AsIs();
    if (HasSharing()) what.options.fidelity = Fidelity::kClosedForm;
    return what;
  }
  size_t AddStep(WhatIf what) {
    steps_.push_back(std::move(what));
    return steps_.size() - 1;
  }
  Cause& Add(std::string cause, std::string where, WhatIf without) {
    causes_.push_back(
        {std::move(cause), std::move(where), AddStep(std::move(without))});
    return causes_.back();
  }

  // One by one if there are few, and all together if there are several.
  template <class List, class Words>
  void AddEach(const std::string& cause, List* (pb::System::*list)(),
               Words words) {
    WhatIf none = AsIs();
    List& all = *(none.proto.mutable_system()->*list)();
    const int count = all.size();
    if (count == 0) return;
    none.same_network = false;
    if (count > 1) {
      WhatIf without = none;
      (without.proto.mutable_system()->*list)()->Clear();
      Add(cause, fmt::format("all {}", count), std::move(without));
    }
    for (int i = 0; i < std::min(count, kMostAlike); ++i) {
      WhatIf without = none;
      List& rest = *(without.proto.mutable_system()->*list)();
      const std::string where = words(rest[i]);
      rest.DeleteSubrange(i, 1);
      Add(cause, where, std::move(without));
    }
  }

  void AddMachine() {
    AddEach(kSlowChip, &pb::System::mutable_slow_chip,
            [](const pb::SlowChip& chip) {
              return fmt::format("chip {}, kernels {:.3g} times as long",
                                 chip.chip(), chip.slowdown());
            });
    AddEach(kLinkFault, &pb::System::mutable_fault,
            [](const pb::LinkFault& fault) {
              return fmt::format(
                  "{}, {:.3g} % left",
                  fault.has_to()
                      ? fmt::format("link {} to {}", fault.from(), fault.to())
                      : fmt::format("links of {}", fault.from()),
                  100 * fault.remaining());
            });
  }

  void AddPlan() {
    const TrainingPlan* plan = scenario_.training();
    const bool uneven = scenario_.proto.training().expert_imbalance() > 1 ||
                        scenario_.proto.training().expert_load_size() > 0 ||
                        scenario_.proto.inference().expert_imbalance() > 1;
    if (uneven) {
      WhatIf without = AsIs();
      if (plan != nullptr) {
        without.proto.mutable_training()->clear_expert_imbalance();
        without.proto.mutable_training()->clear_expert_load();
      } else {
        without.proto.mutable_inference()->clear_expert_imbalance();
      }
      Add("uneven routing", "experts get different numbers of tokens",
          std::move(without));
    }
    if (plan == nullptr) return;
    if (KernelSlowness(*plan) > 1) {
      WhatIf without = AsIs();
      without.options.slowness = 1;
      Add("chips that differ",
          fmt::format("all wait for the slowest of {}",
                      plan->degrees().ranks()),
          std::move(without));
    }
    if (plan->degrees().pipeline > 1) {
      // Gradients and parameters that move once per step would be counted as
      // filling and draining.
      WhatIf once = AsIs();
      once.options.free = once.options.free.With(Dimension::kData);
      once.options.slowness = KernelSlowness(*plan);
      WhatIf twice = once;
      twice.longer = 2;
      Add(kFillAndDrain,
          fmt::format("{} stages, {} micro-batches", plan->degrees().pipeline,
                      plan->micro_batches()),
          std::move(twice))
          .with = AddStep(std::move(once));
    }
    const pb::Training::Recompute recompute =
        scenario_.proto.training().recompute();
    if (recompute != pb::Training::RECOMPUTE_NONE) {
      WhatIf without = AsIs();
      without.proto.mutable_training()->set_recompute(
          pb::Training::RECOMPUTE_NONE);
      without.proto.mutable_training()->clear_recompute_module();
      without.proto.mutable_training()->clear_recompute_layers();
      Add(kRecomputation, pb::Training::Recompute_Name(recompute),
          std::move(without));
    }
  }

  void AddCommunication() {
    if (HasSharing()) Add(kCongestion, "", Alone());
    for (int d = 0; d < kDimensions; ++d) {
      const auto dimension = static_cast<Dimension>(d);
      const auto& streams = run_.placed.program.streams();
      if (std::none_of(streams.begin(), streams.end(), [&](const Stream& s) {
            return s.dimension == dimension;
          })) {
        continue;
      }
      WhatIf without = AsIs();
      without.options.free = without.options.free.With(dimension);
      Add(fmt::format("exposed {} communication", NameOf(dimension)), "",
          std::move(without))
          .follows = true;
    }
    if (options_.chip_sharing) {
      WhatIf without = AsIs();
      without.options.chip_sharing = false;
      Add(kSlowedByCommunication, "", std::move(without));
    }
  }

  absl::Status AddLaunches() {
    WhatIf launches = AsIs();
    ASSIGN_OR_RETURN(
        launches.proto,
        Improved(launches.proto, Improvement::kLaunch, kAlmostNothing));
    Add("kernel launches", "on the chip", std::move(launches));
    WhatIf host = AsIs();
    if (scenario_.training() != nullptr) {
      if (!scenario_.proto.framework().has_dispatch() &&
          !scenario_.proto.framework().has_collective_check()) {
        return absl::OkStatus();
      }
      pb::Framework& framework = *host.proto.mutable_framework();
      framework.clear_dispatch();
      framework.clear_collective_check();
      framework.clear_blocking_launches();
      framework.clear_host_waits_for_receive();
    } else {
      pb::Engine& engine = *host.proto.mutable_inference()->mutable_engine();
      for (std::string* time :
           {engine.mutable_host_launch(), engine.mutable_graph_start(),
            engine.mutable_collective_launch(),
            engine.mutable_request_overhead(), engine.mutable_step_overhead(),
            engine.mutable_sequence_overhead()}) {
        *time = "0 s";
      }
      engine.set_wait_for_collectives(false);
      engine.set_group_launch(false);
    }
    Add("host",
        scenario_.training() != nullptr ? "starting kernels"
                                        : "between steps and launches",
        std::move(host));
    return absl::OkStatus();
  }

  const ResolvedScenario& scenario_;
  const SimulatedRun& run_;
  const RunOptions& options_;
  std::vector<Cause> causes_;
  std::vector<WhatIf> steps_;
};

}  // namespace

absl::StatusOr<std::vector<pb::Explanation::Removal>> MeasureRemovals(
    const ResolvedScenario& scenario, const SimulatedRun& run,
    RunOptions options) {
  constexpr double kWorthMeasuring = 0.001;
  options.record = false;
  options.checked = false;
  options.breakdown = false;
  const auto progress = std::exchange(options.progress, {});
  Causes causes(scenario, run, options);
  RETURN_IF_ERROR(causes.Find());
  ASSIGN_OR_RETURN(const Network network, Network::Make(scenario.system));
  const auto tell = [&](double done) {
    if (progress) progress("simulating the step without its causes", done);
  };
  tell(0);
  const double step = ToSeconds(run.result.end);
  std::vector<absl::StatusOr<Duration>> times(causes.steps().size());
  InParallel(
      times.size(),
      [&](size_t i) {
        times[i] = TimeOf(scenario, network, causes.steps()[i]);
      },
      tell);
  struct Ranked {
    pb::Explanation::Removal removal;
    double weight;
  };
  std::vector<Ranked> ranked;
  for (const Cause& each : causes.causes()) {
    // What cannot be without it (a plan that only recomputation makes legal)
    // has no answer.
    if (!times[each.without].ok()) continue;
    double left = ToSeconds(*times[each.without]);
    if (each.with) {
      RETURN_IF_ERROR(times[*each.with].status());
      const double whole = ToSeconds(*times[*each.with]);
      if (each.cause == kFillAndDrain) {
        left += ToSeconds(run.breakdown.kernels.optimizer) - whole;
      }
      left = step - (whole - left);
    }
    if (left > step * (1 - kWorthMeasuring)) continue;
    const double saved = 1 - left / step;
    pb::Explanation::Removal& removal =
        ranked
            .emplace_back(Ranked{
                .removal = {}, .weight = saved * (each.follows ? kClearly : 1)})
            .removal;
    removal.set_cause(each.cause);
    if (!each.where.empty()) removal.set_where(each.where);
    if (each.cause == kRecomputation &&
        !Fits(causes.steps()[each.without], network)) {
      removal.set_where(each.where + "; does not fit without it");
    }
    removal.set_step_time_s(left);
    removal.set_saved(saved);
  }
  std::stable_sort(
      ranked.begin(), ranked.end(),
      [](const Ranked& a, const Ranked& b) { return a.weight > b.weight; });
  std::vector<pb::Explanation::Removal> removals;
  for (Ranked& each : ranked) removals.push_back(std::move(each.removal));
  return removals;
}

}  // namespace orrery
