#include "cli/sensitivities.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/status.h"

namespace orrery {
namespace {

absl::StatusOr<Duration> StepTimeWith(const ResolvedScenario& scenario,
                                      const TrainingOptions& options,
                                      Improvement improvement, double factor) {
  ASSIGN_OR_RETURN(const pb::Scenario proto,
                   Improved(scenario.proto, improvement, factor));
  ASSIGN_OR_RETURN(const System system, System::FromProto(proto.system()));
  ASSIGN_OR_RETURN(const Kernels kernels, Kernels::FromProto(proto.kernels()));
  ASSIGN_OR_RETURN(const TrainingRun run,
                   RunTrainingStep(scenario.model, system, kernels,
                                   *scenario.training, options));
  return run.result.end - Time{};
}

}  // namespace

absl::StatusOr<std::vector<StepSensitivity>> Sensitivities(
    const ResolvedScenario& scenario, TrainingOptions options) {
  options.record = false;  // only the step times are needed
  options.progress = {};
  constexpr double kFactors[] = {1.1, 2.0};
  std::vector<absl::StatusOr<Duration>> times(2 * kImprovements.size());
  InParallel(times.size(), [&](size_t i) {
    times[i] =
        StepTimeWith(scenario, options, kImprovements[i / 2], kFactors[i % 2]);
  });
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
