// Collectives from system to result: graph, routes, plan, run.
//
// BM_AllReduce/<fabric>_<algorithm>_<fidelity>/<ranks> plans and runs one
// all-reduce of 256 MB; the machine is built outside the loop, the routes
// inside it, as a fresh network has to. BM_Build is the machine alone.
#include <benchmark/benchmark.h>
#include <google/protobuf/text_format.h>

#include <string>

#include "base/check.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"
#include "sim/network/run_plans.h"
#include "topology/graph/build.h"
#include "topology/machine/system.h"

namespace orrery {
namespace {

enum Machine { kIslands, kRing, kFatTree, kTorus };

System MakeSystem(Machine machine, int chips,
                  pb::Fabric::Routing routing = pb::Fabric::SPRAY) {
  const int nodes = machine == kIslands ? chips / 8 : 1;
  absl::StatusOr<pb::System> proto = ResolveSystem(
      Catalog(), "dgx_h100_ib400", {"system.nodes=" + std::to_string(nodes)});
  CHECK(proto.ok()) << proto.status().ToString();
  if (machine != kIslands) {
    proto->clear_scale_out();
    proto->set_chips_per_node(chips);
    proto->mutable_scale_up()->set_spans_nodes(true);
    pb::Fabric& fabric = *proto->mutable_scale_up()->mutable_fabric();
    if (machine == kRing) {
      fabric.mutable_ring();
    } else if (machine == kFatTree) {
      fabric.mutable_fat_tree()->set_tiers(3);
      fabric.mutable_fat_tree()->set_radix(64);
      fabric.mutable_fat_tree()->set_taper(1);
      fabric.set_routing(routing);
    } else {
      fabric.mutable_torus()->set_dimensions(3);
      fabric.set_routing(pb::Fabric::DIMENSION_ORDERED);
    }
  }
  absl::StatusOr<System> system = System::FromProto(*proto);
  CHECK(system.ok()) << system.status().ToString();
  return *std::move(system);
}

CollectiveCall AllReduce(int chips) {
  CollectiveCall call = {CommunicationKind::kAllReduce, Bytes(256'000'000), {}};
  for (int i = 0; i < chips; ++i) {
    call.chips.push_back(static_cast<VertexId>(i));
  }
  return call;
}

void Run(benchmark::State& state, const System& system,
         const PlannerOptions& options, const CollectiveCall& call) {
  for (auto _ : state) {
    absl::StatusOr<Network> network = Network::Make(system);
    CHECK(network.ok()) << network.status().ToString();
    CallPlanner planner(*network, options);
    absl::StatusOr<PlannedCall> planned = planner.Plan(call);
    CHECK(planned.ok()) << planned.status().ToString();
    benchmark::DoNotOptimize(
        RunPlans(network->resources().capacities(), {{planned->plan, Time{}}}));
  }
  state.SetItemsProcessed(state.iterations() *
                          static_cast<int64_t>(call.chips.size()));
}

void BM_AllReduce(benchmark::State& state, Machine machine, Fidelity fidelity,
                  CollectiveAlgorithm algorithm) {
  const int chips = static_cast<int>(state.range(0));
  Run(state, MakeSystem(machine, chips),
      {.fidelity = fidelity, .algorithm = algorithm}, AllReduce(chips));
}

void BM_AllToAll(benchmark::State& state, Machine machine, Fidelity fidelity,
                 pb::Fabric::Routing routing = pb::Fabric::SPRAY) {
  const int chips = static_cast<int>(state.range(0));
  CollectiveCall call = AllReduce(chips);
  call.kind = CommunicationKind::kAllToAll;
  Run(state, MakeSystem(machine, chips, routing),
      {.fidelity = fidelity, .algorithm = CollectiveAlgorithm::kDirect}, call);
}

void BM_Build(benchmark::State& state, Machine machine) {
  const System system = MakeSystem(machine, static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(BuildGraph(system));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// The three fidelities of one machine and algorithm. Message by message only
// as far as the messages can be counted.
#define ORRERY_ALL_REDUCE(name, machine, algorithm, most_stepped)              \
  BENCHMARK_CAPTURE(BM_AllReduce, name##_closed_form, machine,                 \
                    Fidelity::kClosedForm, CollectiveAlgorithm::algorithm)     \
      ->Arg(8)                                                                 \
      ->Arg(64)                                                                \
      ->Arg(1024)                                                              \
      ->Arg(16384)                                                             \
      ->Unit(benchmark::kMillisecond);                                         \
  BENCHMARK_CAPTURE(BM_AllReduce, name##_fluid, machine, Fidelity::kFluid,     \
                    CollectiveAlgorithm::algorithm)                            \
      ->Arg(8)                                                                 \
      ->Arg(64)                                                                \
      ->Arg(1024)                                                              \
      ->Arg(16384)                                                             \
      ->Unit(benchmark::kMillisecond);                                         \
  BENCHMARK_CAPTURE(BM_AllReduce, name##_stepped, machine, Fidelity::kStepped, \
                    CollectiveAlgorithm::algorithm)                            \
      ->Arg(8)                                                                 \
      ->Arg(64)                                                                \
      ->Arg(most_stepped)                                                      \
      ->Unit(benchmark::kMillisecond)
ORRERY_ALL_REDUCE(islands_ring, kIslands, kRing, 256);
ORRERY_ALL_REDUCE(ring_ring, Machine::kRing, kRing, 1024);
ORRERY_ALL_REDUCE(fat_tree_ring, kFatTree, kRing, 1024);
ORRERY_ALL_REDUCE(fat_tree_halving_doubling, kFatTree, kHalvingDoubling, 1024);
ORRERY_ALL_REDUCE(torus_bucket, kTorus, kTorusBucket, 512);
#undef ORRERY_ALL_REDUCE

BENCHMARK_CAPTURE(BM_AllToAll, islands_fluid, kIslands, Fidelity::kFluid)
    ->Arg(256)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_AllToAll, fat_tree_fluid, kFatTree, Fidelity::kFluid)
    ->Arg(256)
    ->Unit(benchmark::kMillisecond);
// By every routing, from graph to end.
#define ORRERY_ALL_TO_ALL(name, routing)                                      \
  BENCHMARK_CAPTURE(BM_AllToAll, fat_tree_##name, kFatTree, Fidelity::kFluid, \
                    pb::Fabric::routing)                                      \
      ->Arg(1024)                                                             \
      ->Arg(16384)                                                            \
      ->Unit(benchmark::kMillisecond)
ORRERY_ALL_TO_ALL(spray, SPRAY);
ORRERY_ALL_TO_ALL(minimal, MINIMAL);
ORRERY_ALL_TO_ALL(ecmp, ECMP);
ORRERY_ALL_TO_ALL(valiant, VALIANT);
ORRERY_ALL_TO_ALL(adaptive, ADAPTIVE);
#undef ORRERY_ALL_TO_ALL
BENCHMARK_CAPTURE(BM_Build, islands, kIslands)
    ->Arg(16384)
    ->Arg(65536)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery
