#include "accuracy/trust/run_kind_of.h"

namespace orrery {

RunKind KindOf(const pb::Scenario& scenario) {
  const pb::System& system = scenario.system();
  RunKind kind{.chip = system.chip().name(),
               .system = system.name(),
               .experts = scenario.model().moe().experts() > 0,
               .chips = int64_t{system.nodes()} * system.chips_per_node(),
               .hidden = scenario.model().hidden()};
  if (scenario.has_training()) {
    kind.software = scenario.framework().name();
    kind.precision = pb::DType_Name(scenario.training().precision());
    kind.sequence = scenario.training().sequence();
    return kind;
  }
  const pb::Inference& inference = scenario.inference();
  kind.software = inference.engine().name();
  kind.precision = pb::DType_Name(inference.has_weight_precision()
                                      ? inference.weight_precision()
                                      : inference.precision());
  kind.sequence = int64_t{inference.prompt()} + inference.output();
  return kind;
}

}  // namespace orrery
