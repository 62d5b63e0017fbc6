// Islands whose chips have a link of their own to each other, joined by rails:
// a collective goes over all links of a chip at once, in steps as in forms.
#include <vector>

#include "analytic/collective/collective_bounds.h"
#include "analytic/collective/collective_forms.h"
#include "analytic/collective/group_cost.h"
#include "tests/analytic/collective/plain_ports.h"
#include "tests/sim/network/networks.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;
using Algorithm = CollectiveAlgorithm;

constexpr Kind kShardKinds[] = {Kind::kAllGather, Kind::kReduceScatter,
                                Kind::kAllReduce};
constexpr Algorithm kHierarchies[] = {Algorithm::kHierarchical,
                                      Algorithm::kHierarchicalDirect};
const AlphaBeta kLink = {Seconds(3.4e-6), BytesPerSecond(370e9)};
const AlphaBeta kRail = {Seconds(14e-6), BytesPerSecond(48.5e9)};

// IslandSystem with links of 370 GB/s between every two chips of an island.
pb::System MeshedSystem(int islands, int size) {
  pb::System system = IslandSystem(islands, size);
  *system.mutable_scale_up()->mutable_fabric() =
      With(system.scale_up().fabric(), "fully_connected {}");
  return system;
}

MachinePorts MeshedPorts(int islands, int size) {
  MachinePorts ports = IslandPorts(size, islands);
  ports.wiring = IslandWiring::kLinks;
  return ports;
}

// Phase after phase, of N islands of G: inside a message and a G-th of the
// bytes on each link; along a rail (N-1)/N of a G-th, in one message or N-1.
Seconds Serial(Kind kind, Algorithm algorithm, int islands, int size,
               Bytes bytes) {
  const int steps = algorithm == Algorithm::kHierarchical ? islands - 1 : 1;
  const double across = (islands - 1.0) / islands / size;
  const Seconds pass = kLink.latency + kLink.Wire(1.0 / size, bytes) +
                       steps * kRail.latency + kRail.Wire(across, bytes);
  return (kind == Kind::kAllReduce ? 2 : 1) * pass;
}

TEST(MeshedIslands, StepsAndFormsAreTheSumOfTheirPhases) {
  for (const int islands : {2, 3, 5}) {
    for (const int size : {2, 3, 4, 8}) {
      const MachinePorts ports = MeshedPorts(islands, size);
      for (const Kind kind : kShardKinds) {
        for (const Algorithm algorithm : kHierarchies) {
          for (const int64_t bytes : {int64_t{1} << 20, int64_t{1} << 30}) {
            SCOPED_TRACE(fmt::format("{} by {}, {} islands of {}, {} bytes",
                                     NameOf(kind), NameOf(algorithm), islands,
                                     size, bytes));
            const double expected =
                Serial(kind, algorithm, islands, size, Bytes(bytes)).count();
            const auto form = FormOf(algorithm, kind, Everyone(ports));
            ASSERT_TRUE(form.has_value());
            EXPECT_NEAR(PricePlain(*form, Bytes(bytes), kLink, kRail, 1)
                            .total()
                            .count(),
                        expected, 1e-9 * expected);
            for (const Fidelity fidelity :
                 {Fidelity::kClosedForm, Fidelity::kFluid,
                  Fidelity::kStepped}) {
              PlannedNetwork network(MeshedSystem(islands, size),
                                     {.fidelity = fidelity,
                                      .algorithm = algorithm,
                                      .segments = 1});
              const double tolerance =
                  fidelity == Fidelity::kStepped ? 1e-2 : 1e-3;
              EXPECT_NEAR(TimeAlone(network, {kind, Bytes(bytes),
                                              ChipRange(0, islands * size)}),
                          expected, tolerance * expected);
            }
          }
        }
      }
    }
  }
}

// In pieces, phases overlap: all latencies, then the busier of link and NIC.
TEST(MeshedIslands, ALargeCallTakesTheLongerOfItsPhases) {
  const Bytes m(int64_t{4} << 30);
  for (const int islands : {2, 8}) {
    PlannedNetwork network(MeshedSystem(islands, 8));
    const double rail = kRail.Wire((islands - 1.0) / islands / 8, m).count();
    ASSERT_GT(rail, kLink.Wire(1.0 / 8, m).count());
    EXPECT_NEAR(
        TimeAlone(network, {Kind::kAllGather, m, ChipRange(0, islands * 8)}),
        rail, 1e-2 * rail);
  }
}

TEST(MeshedIslands, TheClosedFormChoosesAsThePlannerDoes) {
  for (const int islands : {2, 4, 7}) {
    for (const int size : {3, 8}) {
      const pb::System proto = MeshedSystem(islands, size);
      const System system = System::FromProto(proto).value();
      PlannedNetwork network(proto, {.fidelity = Fidelity::kClosedForm});
      ASSERT_OK_AND_ASSIGN(GroupCost cost, GroupCost::Create(system));
      std::vector<int> chips;
      for (int i = 0; i < islands * size; ++i) chips.push_back(i);
      for (const Kind kind : kShardKinds) {
        for (int64_t bytes = 1 << 10; bytes <= int64_t{1} << 32; bytes *= 4) {
          const double simulated = TimeAlone(
              network, {kind, Bytes(bytes), ChipRange(0, islands * size)});
          EXPECT_NEAR(cost.Time(kind, Bytes(bytes), cost.Span(chips)).count(),
                      simulated, 1e-3 * simulated)
              << NameOf(kind) << " " << bytes;
          // What the NICs of an island let out.
          EXPECT_GE(simulated * (1 + 1e-9),
                    IslandLowerBound(
                        kind, {islands, size, BytesPerSecond(size * 48.5e9)},
                        Bytes(bytes), false)
                        .count());
        }
      }
    }
  }
}

// More messages than are listed take as long as if they were.
TEST(MeshedIslands, LargeGroupsTakeAsLongAsTheirMessages) {
  const pb::System system = MeshedSystem(130, 4);
  for (const Kind kind : kShardKinds) {
    const CollectiveCall call = {kind, Bytes(1 << 26), ChipRange(0, 520)};
    PlannerOptions options = {.algorithm = Algorithm::kHierarchicalDirect};
    PlannedNetwork whole(system, options);
    options.fidelity = Fidelity::kStepped;  // lists every message
    PlannedNetwork listed(system, options);
    ASSERT_OK_AND_ASSIGN(const PlannedCall a, whole.Plan(call));
    ASSERT_OK_AND_ASSIGN(const PlannedCall b, listed.Plan(call));
    EXPECT_NEAR(ToSeconds(a.solo), ToSeconds(b.solo), 1e-6 * ToSeconds(b.solo));
  }
}

// Chips that share a switch go around rings there, as ever.
TEST(MeshedIslands, OnlyLinksOfTheirOwnMakeAMesh) {
  PlannedNetwork network(IslandSystem(2, 4),
                         {.algorithm = Algorithm::kHierarchicalDirect});
  EXPECT_THAT(
      network.Plan({Kind::kAllGather, Bytes(1 << 20), ChipRange(0, 8)})
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::HasSubstr("ranks of an island share its ports")));
}

}  // namespace
}  // namespace orrery
