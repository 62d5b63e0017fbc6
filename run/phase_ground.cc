#include "run/phase_ground.h"

#include <utility>

#include "base/status.h"

namespace orrery {

absl::StatusOr<std::unique_ptr<PhaseGrounds::Place>> PhaseGrounds::MakePlace(
    const pb::System& machine, const pb::Inference& inference, int64_t chips) {
  const int node = machine.chips_per_node();
  const auto nodes = static_cast<int>((chips + node - 1) / node);
  ASSIGN_OR_RETURN(System system, SystemOf(machine, inference, nodes));
  ASSIGN_OR_RETURN(Network network, Network::Make(system));
  return std::make_unique<Place>(Place{std::move(system), std::move(network)});
}

absl::StatusOr<PhaseGrounds> PhaseGrounds::Make(
    const ResolvedScenario& scenario) {
  const InferencePlan& plan = *scenario.inference();
  PhaseGrounds grounds(scenario);
  const pb::Inference& proto = scenario.proto.inference();
  const pb::System& machine = scenario.proto.system();
  ASSIGN_OR_RETURN(
      grounds.prefill_,
      MakePlace(
          scenario.prefill ? proto.disaggregated().prefill_system() : machine,
          proto, plan.prefill().degrees.ranks()));
  if (plan.disaggregated()) {
    ASSIGN_OR_RETURN(grounds.decode_,
                     MakePlace(machine, proto, plan.decode().degrees.ranks()));
  }
  return grounds;
}

}  // namespace orrery
