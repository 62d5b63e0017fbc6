#include "workload/plan/host_time.h"

#include "base/check.h"

namespace orrery {
namespace {

int SizeOf(ExchangeGroup group, const Degrees& degrees) {
  switch (group) {
    case ExchangeGroup::kTensor:
      return degrees.tensor;
    case ExchangeGroup::kContext:
      return degrees.context;
    case ExchangeGroup::kExpert:
      return degrees.expert;
    case ExchangeGroup::kExpertTensor:
      return degrees.expert_tensor;
  }
  CHECK(false) << "no such group";
  return 1;
}

}  // namespace

Duration LaunchTime(const std::vector<LayerStep>& steps,
                    const TrainingPlan& plan) {
  const Framework& framework = plan.framework();
  if (!framework.dispatch) return Duration(0);
  Duration time = *framework.dispatch * CountLaunches(steps);
  for (const LayerStep& step : steps) {
    const Exchange* exchange = step.exchange();
    // Blocks of a ring are sent and received.
    if (exchange == nullptr || exchange->kind == ExchangeKind::kRing) continue;
    time += CheckTime(framework, SizeOf(exchange->group, plan.degrees()));
  }
  return time;
}

Duration CheckTime(const Framework& framework, int ranks) {
  return ranks > 1 ? framework.collective_check * ranks : Duration(0);
}

}  // namespace orrery
