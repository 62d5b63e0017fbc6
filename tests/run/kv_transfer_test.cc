#include "run/requests/kv_transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/network/network.h"
#include "tests/run/inference_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

// Eight decode ranks get the same bytes of a prompt, however it is cut among
// them: 8 / tensor heads of keys and values, and 1 / context of its tokens.
//   tensor 8             : 1 head,  all tokens
//   tensor 4, context 2  : 2 heads, half of the tokens
//   tensor 2, context 4  : 4 heads, a quarter of the tokens
TEST(KvTransfer, ContextRanksGetAPartOfTheTokensEach) {
  const auto transfer = [](int tensor, int context) {
    const absl::StatusOr<ResolvedScenario> scenario =
        ScenarioWith("llama3_70b_pools",
                     {"inference.disaggregated.decode_parallel.tensor=" +
                          std::to_string(tensor),
                      "inference.disaggregated.decode_parallel.context=" +
                          std::to_string(context),
                      "inference.disaggregated.decode_parallel.data=1"});
    EXPECT_THAT(scenario, IsOk());
    const absl::StatusOr<KvTransfer> moved =
        TransferCache(*scenario, Duration(0));
    EXPECT_THAT(moved, IsOk());
    return *moved;
  };
  const KvTransfer whole = transfer(8, 1);
  EXPECT_GT(whole.time, Duration(0));
  for (const int context : {2, 4}) {
    const KvTransfer cut = transfer(8 / context, context);
    EXPECT_EQ(cut.moved, whole.moved) << context;
    EXPECT_EQ(cut.time, whole.time) << context;
  }
}

// A cache that comes from another machine comes from nodes beyond the grid of
// those that receive it: with twice the nodes, a mesh has twice the chips.
TEST(KvTransfer, AMeshOverNodesGrowsWithThem) {
  const absl::StatusOr<ResolvedScenario> scenario = ScenarioWith(
      "llama3_70b_tpu_v6e", {"system.scale_up.fabric.mesh={shape: [4, 2]}"});
  ASSERT_THAT(scenario, IsOk());
  const pb::System& system = scenario->proto.system();
  ASSERT_EQ(system.nodes() * system.chips_per_node(), 4 * 2);
  const absl::StatusOr<System> twice =
      SystemOf(system, scenario->proto.inference(), 2 * system.nodes());
  ASSERT_THAT(twice, IsOk());
  EXPECT_EQ(twice->chips(), 2 * 4 * 2);
  EXPECT_THAT(Network::Make(*twice), IsOk());
}

}  // namespace
}  // namespace orrery
