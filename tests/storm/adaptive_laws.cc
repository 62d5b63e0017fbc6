#include "tests/storm/adaptive_laws.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/units_text.h"
#include "run/run_scenario.h"
#include "sim/analysis/critical_path.h"

namespace orrery {
namespace {

// Fabrics that adapt, told to route so instead; whether there is any.
bool Reroute(pb::Fabric::Routing routing, pb::System& system) {
  bool any = false;
  const auto reroute = [&](pb::Fabric& fabric) {
    if (fabric.routing() != pb::Fabric::ADAPTIVE) return;
    fabric.set_routing(routing);
    any = true;
  };
  if (system.has_scale_up()) {
    reroute(*system.mutable_scale_up()->mutable_fabric());
  }
  if (system.has_scale_out()) {
    reroute(*system.mutable_scale_out()->mutable_fabric());
  }
  return any;
}

// Of the step, what its critical path spends in calls. Requires: recorded.
double CallsOnThePath(const SimulatedRun& run) {
  Duration calls{};
  for (const PathStep& step :
       CriticalPath(SpanIndex(run.placed.program, run.spans))) {
    if (step.span.kind != SpanKind::kKernel) calls += step.time();
  }
  return ToSeconds(calls) / ToSeconds(run.result.end);
}

}  // namespace

void HoldAdaptive(const ResolvedScenario& scenario, const SimulatedRun& run,
                  const RunOptions& options, StormSheet& sheet) {
  // Calls of one family are weighed together, as if all its groups called at
  // once. A router is fair to flows, not to steps: what a family wins may delay
  // calls of another one that overlap with it, or let kernels run beside
  // communication that waited before.
  constexpr double kOtherFamilies = 0.02;
  for (const pb::Fabric::Routing routing :
       {pb::Fabric::SPRAY, pb::Fabric::VALIANT}) {
    pb::Scenario proto = scenario.proto;
    if (!Reroute(routing, *proto.mutable_system())) return;
    const auto fixed = MakeScenario(std::move(proto));
    if (!fixed.ok()) continue;
    RunOptions plain = options;
    plain.record = false;
    const auto other = RunScenario(*fixed, plain);
    if (!other.ok()) continue;
    const double adaptive = ToSeconds(run.result.end);
    const double step = ToSeconds(other->result.end);
    const double off = adaptive / step - 1;
    StormFacts facts;
    if (off > kOtherFamilies) facts = {{"path calls", CallsOnThePath(run)}};
    sheet.HoldNear("adaptive loses to no fixed rule", std::max(0.0, off),
                   kOtherFamilies,
                   fmt::format("{} adaptive, {} {}: {:+.2f} %",
                               SecondsText(adaptive), SecondsText(step),
                               pb::Fabric::Routing_Name(routing), 100 * off),
                   facts);
  }
}

}  // namespace orrery
