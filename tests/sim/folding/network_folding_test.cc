// A call that stands for its replicas takes as long as all of them together,
// and resources that nothing tells apart are merged.
#include "sim/network/merge_resources.h"
#include "tests/sim/network/networks.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// Eight rings, one per rail of two tapered islands: alone each has its NIC;
// together they share the uplinks.
TEST(NetworkFolding, AFoldedCallTakesAsLongAsAllTogether) {
  pb::System system = IslandSystem(8, 4);
  *system.mutable_scale_out()->mutable_fabric() =
      With(system.scale_out().fabric(),
           "fat_tree { tiers: 2 radix: 8 taper: 3 } routing: SPRAY");
  PlannedNetwork network(system, {.algorithm = CollectiveAlgorithm::kRing});
  std::vector<CollectiveCall> calls;
  CollectiveCall folded;
  for (int rail = 0; rail < 4; ++rail) {
    const CollectiveCall call = {Kind::kAllReduce, Bytes(1 << 26),
                                 ChipRange(rail, 8, 4)};
    if (rail == 0) {
      folded = call;
    } else {
      folded.replicas.push_back(call.chips);
    }
    calls.push_back(call);
  }
  const double alone = TimeAlone(network, calls[0]);
  const std::vector<double> together = TimesTogether(network, calls);
  const double as_one = TimeAlone(network, folded);
  EXPECT_GT(together[0], 1.2 * alone);
  for (double time : together) EXPECT_NEAR(time, as_one, 1e-12);

  // The plan shrinks to the resources that differ, and takes as long.
  ASSERT_OK_AND_ASSIGN(PlannedCall planned, network.Plan(folded));
  std::vector<PlanSteps> plans = {planned.plan};
  const IdVector<ResourceId, double> left =
      MergeResources(network.resources().capacities(), absl::MakeSpan(plans));
  EXPECT_LT(left.size(), network.resources().capacities().size() / 4);
  EXPECT_NEAR(ToSeconds(RunPlans(left, {{plans[0], Time{}}})[0]), as_one,
              1e-12);
}

TEST(NetworkFolding, SteppedPlansCannotBeFolded) {
  PlannedNetwork network(IslandSystem(2, 4), {.fidelity = Fidelity::kStepped});
  EXPECT_THAT(network
                  .Plan({Kind::kAllReduce,
                         Bytes(1024),
                         ChipRange(0, 4),
                         {ChipRange(4, 4)}})
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("--fold=off")));
}

TEST(MergeResources, KeepsWhatDiffersAndDropsWhatIsUnused) {
  const IdVector<ResourceId, double> capacities(
      std::vector<double>{10, 20, 10, 5, 7});
  const auto use = [](int id, double weight) {
    return ResourceUse{static_cast<ResourceId>(id), weight};
  };
  // 0 and 1 are loaded alike for their size, 2 is not; 3 only by the second;
  // 4 by nobody.
  std::vector<PlanSteps> plans = {
      {{{.work = 1, .uses = {use(0, 1), use(1, 2), use(2, 3)}}}, {}},
      {{{.work = 1, .uses = {use(0, 1), use(1, 2), use(2, 1), use(3, 1)}}},
       {}}};
  const IdVector<ResourceId, double> left =
      MergeResources(capacities, absl::MakeSpan(plans));
  EXPECT_THAT(left.items(), testing::ElementsAre(10, 10, 5));
  EXPECT_THAT(plans[0].steps[0].uses,
              testing::ElementsAre(use(0, 1), use(1, 3)));
  EXPECT_THAT(plans[1].steps[0].uses,
              testing::ElementsAre(use(0, 1), use(1, 1), use(2, 1)));
}

}  // namespace
}  // namespace orrery
