#include "run/sensitivities.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "base/status.h"
#include "run/run_scenario.h"
#include "run/training_run.h"

namespace orrery {
namespace {

// `network` is that of the scenario as it is.
absl::StatusOr<Duration> StepTimeWith(const ResolvedScenario& scenario,
                                      const Network& network,
                                      const RunOptions& options,
                                      Improvement improvement, double factor) {
  ResolvedScenario better = scenario;
  ASSIGN_OR_RETURN(better.proto, Improved(scenario.proto, improvement, factor));
  ASSIGN_OR_RETURN(better.system, System::FromProto(better.proto.system()));
  ASSIGN_OR_RETURN(better.kernels, Kernels::FromProto(better.proto.kernels()));
  return StepTimeOf(better, ImprovesNetwork(improvement) ? nullptr : &network,
                    options);
}

}  // namespace

absl::StatusOr<Duration> StepTimeOf(const ResolvedScenario& scenario,
                                    const Network* network,
                                    const RunOptions& options) {
  if (const TrainingPlan* plan = scenario.training()) {
    std::optional<Network> own;
    if (network == nullptr) {
      ASSIGN_OR_RETURN(own, Network::Make(scenario.system));
    }
    ASSIGN_OR_RETURN(const PeriodicStep step,
                     RunPeriodically({scenario.model, scenario.system,
                                      scenario.kernels, own ? *own : *network},
                                     *plan, options));
    return step.time;
  }
  ASSIGN_OR_RETURN(const SimulatedRun run,
                   network == nullptr
                       ? RunScenario(scenario, options)
                       : RunScenario(scenario, *network, options));
  return run.result.end - Time{};
}

absl::StatusOr<std::vector<StepSensitivity>> Sensitivities(
    const ResolvedScenario& scenario, RunOptions options) {
  options.record = false;  // only the step times are needed
  const auto progress = std::exchange(options.progress, {});
  ASSIGN_OR_RETURN(const Network network, Network::Make(scenario.system));
  constexpr double kFactors[] = {1.1, 2.0};
  std::vector<absl::StatusOr<Duration>> times(2 * kImprovements.size());
  const auto tell = [&](double done) {
    if (progress) progress("simulating better machines", done);
  };
  tell(0);
  InParallel(
      times.size(),
      [&](size_t i) {
        times[i] = StepTimeWith(scenario, network, options,
                                kImprovements[i / 2], kFactors[i % 2]);
      },
      tell);
  std::vector<StepSensitivity> result;
  for (size_t i = 0; i < kImprovements.size(); ++i) {
    RETURN_IF_ERROR(times[2 * i].status());
    RETURN_IF_ERROR(times[2 * i + 1].status());
    result.push_back({kImprovements[i], *times[2 * i], *times[2 * i + 1]});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const StepSensitivity& a, const StepSensitivity& b) {
                     return a.twice < b.twice;
                   });
  return result;
}

}  // namespace orrery
