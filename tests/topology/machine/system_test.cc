#include "topology/machine/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/status_matchers.h"
#include "tests/topology/machine/protos.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;
absl::StatusOr<System> Changed(const std::string& change) {
  return System::FromProto(With(TestSystem(), change));
}

TEST(System, CountsAndFabricsAreTyped) {
  ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(TestSystem()));
  EXPECT_EQ(system.chips(), 32);
  EXPECT_EQ(system.chip().name(), "round");
  ASSERT_TRUE(system.scale_up().has_value());
  // 12 links of 25 GB/s.
  EXPECT_EQ(system.scale_up()->chip_bandwidth, BytesPerSecond(300e9));
  EXPECT_EQ(system.scale_up()->fabric.endpoints, 8);
  ASSERT_TRUE(system.scale_out().has_value());
  // 200 Gb/s.
  EXPECT_EQ(system.scale_out()->nic_bandwidth, BytesPerSecond(25e9));
  EXPECT_EQ(system.scale_out()->fabric.endpoints, 32);
  EXPECT_EQ(system.collectives().protocols.size(), 2u);
  EXPECT_FALSE(system.host().has_value());
}

TEST(System, ViolationsOfEveryPartComeTogether) {
  EXPECT_THAT(
      Changed("chip { memory: '0 GB' } scale_out { nic_bandwidth: '1 m' } "
              "collectives { protocol { efficiency: 0 } }"),
      StatusIs(
          kInvalid,
          AllOf(HasSubstr("system.chip.memory: '0 GB' must be positive\n"),
                HasSubstr("system.scale_out.nic_bandwidth: '1 m' is not"),
                HasSubstr("collectives.protocol[2].efficiency: 0 is not above"),
                HasSubstr("protocol[2].tier: not set; write one of "
                          "SCALE_UP, SCALE_OUT"))));
}

TEST(System, AbsurdCountsAreRefusedBeforeAnythingIsSized) {
  EXPECT_THAT(Changed("nodes: 0"),
              StatusIs(kInvalid, HasSubstr("system.nodes: 0 is not between")));
  EXPECT_THAT(Changed("nodes: 2147483647"),
              StatusIs(kInvalid, HasSubstr("system.nodes: 2147483647")));
  EXPECT_THAT(Changed("nodes: 2000000"),
              StatusIs(kInvalid,
                       "system.nodes: 2000000 nodes of 8 chips are more than "
                       "10000000 chips; at most 1250000 nodes"));
  EXPECT_THAT(Changed("chips_per_node: -8"),
              StatusIs(kInvalid, HasSubstr("system.chips_per_node: -8")));
  EXPECT_THAT(Changed("scale_out { nics_per_node: 100000 } nodes: 1000"),
              StatusIs(kInvalid, HasSubstr("more than 10000000 NICs")));
}

TEST(System, NicsAreSharedEvenly) {
  EXPECT_OK(Changed("scale_out { nics_per_node: 4 }"));
  EXPECT_OK(Changed("scale_out { nics_per_node: 16 }"));
  EXPECT_THAT(Changed("scale_out { nics_per_node: 1000 }"),
              StatusIs(kInvalid, HasSubstr("1000 NICs for 8 chips are more "
                                           "than 100 for each; at most 800")));
  EXPECT_THAT(Changed("scale_out { nics_per_node: 3 }"),
              StatusIs(kInvalid, HasSubstr("3 NICs cannot be shared evenly by "
                                           "8 chips; 8 can")));
}

TEST(System, ATierInUseNeedsAFabricAndAProtocol) {
  pb::System proto = TestSystem();
  proto.clear_scale_out();
  EXPECT_THAT(System::FromProto(proto),
              StatusIs(kInvalid, HasSubstr("scale_out: not set, but there are "
                                           "4 nodes")));
  proto.set_nodes(1);
  EXPECT_OK(System::FromProto(proto));
  proto.clear_scale_up();
  EXPECT_THAT(System::FromProto(proto),
              StatusIs(kInvalid, HasSubstr("a node has 8 chips")));
  proto = TestSystem();
  proto.mutable_collectives()->mutable_protocol()->RemoveLast();
  EXPECT_THAT(System::FromProto(proto),
              StatusIs(kInvalid, HasSubstr("none for tier SCALE_OUT")));
}

TEST(System, AScaleUpFabricMaySpanTheNodes) {
  pb::System proto = TestSystem();
  proto.mutable_scale_up()->set_spans_nodes(true);
  EXPECT_THAT(System::FromProto(proto),
              StatusIs(kInvalid, HasSubstr("joins all nodes already")));
  proto.clear_scale_out();
  ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(proto));
  EXPECT_EQ(system.scale_up()->fabric.endpoints, 32);
}

TEST(System, AChipCannotSendMoreThanItsLinks) {
  EXPECT_THAT(Changed("scale_up { chip_bandwidth: '301 GB/s' }"),
              StatusIs(kInvalid,
                       "system.scale_up.chip_bandwidth: 301 GB/s is "
                       "more than the 300 GB/s of a chip's links; at most 300 "
                       "GB/s, or leave it out"));
  ASSERT_OK_AND_ASSIGN(const System capped,
                       Changed("scale_up { chip_bandwidth: '150 GB/s' }"));
  EXPECT_EQ(capped.scale_up()->chip_bandwidth, BytesPerSecond(150e9));
}

TEST(System, AFaultNamesAChipThatIsThere) {
  ASSERT_OK_AND_ASSIGN(const System system,
                       Changed("fault { from: 31 remaining: 0 }"));
  EXPECT_EQ(system.faults()[0].chip, 31);
  EXPECT_FALSE(system.faults()[0].peer.has_value());
  EXPECT_THAT(Changed("fault { from: 32 remaining: 0.5 }"),
              StatusIs(kInvalid, HasSubstr("fault[0].from: 32")));
  EXPECT_THAT(Changed("fault { from: 0 remaining: -1 }"),
              StatusIs(kInvalid, HasSubstr("fault[0].remaining: -1")));
}

TEST(System, AHostThatIsGivenIsGivenWhole) {
  EXPECT_THAT(Changed("host { cpu: 'x' }"),
              StatusIs(kInvalid, AllOf(HasSubstr("host.memory: not set"),
                                       HasSubstr("host.power: not set"))));
}

}  // namespace
}  // namespace orrery
