#include "run/phase_ground.h"

#include <utility>

#include "base/status.h"

namespace orrery {

absl::StatusOr<std::unique_ptr<PhaseGrounds::Place>> PhaseGrounds::MakePlace(
    const ResolvedScenario& scenario, int64_t chips) {
  const int node = scenario.system.chips_per_node();
  const auto nodes = static_cast<int>((chips + node - 1) / node);
  ASSIGN_OR_RETURN(System system, SystemOf(scenario.proto, nodes));
  ASSIGN_OR_RETURN(Network network, Network::Make(system));
  return std::make_unique<Place>(Place{std::move(system), std::move(network)});
}

absl::StatusOr<PhaseGrounds> PhaseGrounds::Make(
    const ResolvedScenario& scenario) {
  const InferencePlan& plan = *scenario.inference();
  PhaseGrounds grounds(scenario);
  ASSIGN_OR_RETURN(grounds.prefill_,
                   MakePlace(scenario, plan.prefill().degrees.ranks()));
  if (plan.disaggregated()) {
    ASSIGN_OR_RETURN(grounds.decode_,
                     MakePlace(scenario, plan.decode().degrees.ranks()));
  }
  return grounds;
}

}  // namespace orrery
