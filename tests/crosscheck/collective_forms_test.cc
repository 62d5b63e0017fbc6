// The closed form of a call on every machine of the catalogue against the
// simulator's time of the same call by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "analytic/collective/group_cost.h"
#include "base/format.h"
#include "catalog/resolve.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// Both count the same messages and bytes; what is left are picoseconds.
constexpr double kExact = 1e-3;

struct Layout {
  const char* name;
  std::vector<int> chips;
};

// `count` chips, `stride` apart.
std::vector<int> Every(int stride, int count) {
  std::vector<int> chips(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) chips[static_cast<size_t>(i)] = i * stride;
  return chips;
}

std::vector<Layout> LayoutsOf(const System& system) {
  const int c = system.chips_per_node();
  std::vector<Layout> layouts = {
      {"node", Every(1, c)},
      {"half a node", Every(1, c / 2)},
      {"one per node", Every(c, system.nodes())},
      {"machine", Every(1, system.chips())},
      {"every second chip", Every(2, system.chips() / 2)}};
  std::erase_if(layouts, [](const Layout& l) { return l.chips.size() < 2; });
  return layouts;
}

constexpr Kind kEveryKind[] = {
    Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter, Kind::kAllToAll,
    Kind::kBroadcast, Kind::kReduce,    Kind::kPointToPoint,
};

// Both for calls on one machine.
class Comparison {
 public:
  explicit Comparison(const System& system)
      : network_(Network::Make(system).value()),
        planner_(network_, {.fidelity = Fidelity::kClosedForm}),
        cost_(GroupCost::Create(system).value()) {}

  void Expect(const std::vector<int>& chips, Kind kind, int64_t bytes) {
    CollectiveCall call;
    for (const int chip : chips) {
      call.chips.push_back(static_cast<VertexId>(chip));
    }
    call.kind = kind;
    call.bytes = Bytes(bytes);
    const auto planned = planner_.Plan(call);
    ASSERT_TRUE(planned.ok()) << planned.status().ToString();
    const double simulated = ToSeconds(planned->solo);
    EXPECT_NEAR(
        cost_.Time(kind, call.bytes, cost_.Span(chips)).count() / simulated, 1,
        kExact)
        << NameOf(kind) << " of " << bytes << " bytes over "
        << fmt::format("{}", fmt::join(chips, ",")) << " by "
        << NameOf(planned->algorithm) << " " << planned->protocol;
  }

 private:
  Network network_;
  CallPlanner planner_;
  GroupCost cost_;
};

System MachineOf(const std::string& name, int nodes) {
  const auto proto =
      ResolveSystem(Catalog(), name, {fmt::format("system.nodes={}", nodes)});
  CHECK(proto.ok()) << proto.status().ToString();
  auto system = System::FromProto(*proto);
  CHECK(system.ok()) << system.status().ToString();
  return *std::move(system);
}

TEST(CollectiveForms, AreTheSimulatorsTimesOnEveryMachine) {
  const std::vector<std::string> systems = Catalog().Names("systems");
  ASSERT_GT(systems.size(), 10u);
  for (const std::string& name : systems) {
    for (const int nodes : {1, 2, 4, 8}) {
      SCOPED_TRACE(fmt::format("{}, {} nodes", name, nodes));
      const System system = MachineOf(name, nodes);
      Comparison compare(system);
      for (const Layout& layout : LayoutsOf(system)) {
        SCOPED_TRACE(layout.name);
        for (const Kind kind : kEveryKind) {
          // Chains of hundreds take the simulator long.
          const bool rooted = kind == Kind::kBroadcast || kind == Kind::kReduce;
          if (rooted && layout.chips.size() > 128) continue;
          for (const int64_t bytes :
               {int64_t{4} << 10, int64_t{1} << 20, int64_t{256} << 20}) {
            compare.Expect(layout.chips, kind, bytes);
          }
        }
      }
    }
  }
}

// Groups of every size, also those that begin and end in the middle of a node.
TEST(CollectiveForms, AreThereForEveryGroup) {
  constexpr int kMostChips = 24;
  for (const std::string& name : Catalog().Names("systems")) {
    const int per_node = MachineOf(name, 1).chips_per_node();
    for (int nodes = 1; nodes <= std::max(1, kMostChips / per_node); ++nodes) {
      SCOPED_TRACE(fmt::format("{}, {} nodes", name, nodes));
      const System system = MachineOf(name, nodes);
      Comparison compare(system);
      for (const int stride : {1, 2, 3}) {
        for (int size = 2; size <= std::min(kMostChips, system.chips());
             ++size) {
          const int last = (size - 1) * stride;
          if (last >= system.chips()) break;
          std::vector<int> chips = Every(stride, size);
          // As far on as it fits, in turn.
          for (int& chip : chips) chip += size % (system.chips() - last);
          for (const Kind kind : kEveryKind) {
            compare.Expect(chips, kind, int64_t{1} << 20);
          }
        }
      }
    }
  }
}

// Chips 0 and 1 of each node share a NIC: 0 to 8 and 1 to 9 share what it
// sends, however fast its links into the fabric are.
TEST(CollectiveForms, ChipsThatShareANicSendNoMoreThanIt) {
  const auto time = [](int links) {
    const auto proto = ResolveSystem(
        Catalog(), "a100_opa100x4",
        {"system.nodes=2",
         fmt::format("system.scale_out.fabric={{ link {{ name: \"L\" "
                     "bandwidth: \"100 Gb/s\" latency: \"300 ns\" }} switch {{ "
                     "planes: 1 links_per_endpoint: {} }} routing: SPRAY }}",
                     links)});
    CHECK(proto.ok()) << proto.status().ToString();
    const System system = System::FromProto(*proto).value();
    Comparison(system).Expect({0, 8, 1, 9}, Kind::kPointToPoint, 1 << 30);
    const Network network = Network::Make(system).value();
    CallPlanner planner(network, {.fidelity = Fidelity::kClosedForm});
    return planner
        .Plan({Kind::kPointToPoint,
               Bytes(1 << 30),
               {VertexId{0}, VertexId{8}, VertexId{1}, VertexId{9}}})
        ->solo;
  };
  EXPECT_EQ(time(1), time(2));
  EXPECT_EQ(time(1), time(8));
}

// Whatever is said about a protocol, a library that is accepted serves every
// call, on paper as in the simulator.
TEST(CollectiveForms, AreThereForEveryLibrary) {
  int accepted = 0;
  int refused = 0;
  const auto expect = [&](const pb::System& proto) {
    const auto system = System::FromProto(proto);
    if (!system.ok()) {
      EXPECT_THAT(std::string(system.status().message()),
                  testing::HasSubstr("collectives.protocol"));
      ++refused;
      return;
    }
    ++accepted;
    Comparison compare(*system);
    // Half of a node and half of the next.
    const int c = system->chips_per_node();
    std::vector<int> chips = Every(1, std::max(2, std::min(c, 16)));
    for (int& chip : chips) chip += std::max(0, c - 8);
    for (const Kind kind : kEveryKind) {
      compare.Expect(chips, kind, int64_t{1} << 20);
    }
  };
  for (const std::string& name : Catalog().Names("systems")) {
    const auto proto = ResolveSystem(Catalog(), name, {"system.nodes=2"});
    ASSERT_TRUE(proto.ok());
    for (int i = 0; i < proto->collectives().protocol_size(); ++i) {
      pb::System changed = *proto;
      auto& protocol = *changed.mutable_collectives()->mutable_protocol(i);
      SCOPED_TRACE(fmt::format("{}, protocol {}", name, i));
      for (const auto use :
           {pb::CollectiveCalibration::IN_SWITCH,
            pb::CollectiveCalibration::POINT_TO_POINT,
            pb::CollectiveCalibration::RING, pb::CollectiveCalibration::TREE,
            pb::CollectiveCalibration::ONE_SHOT,
            pb::CollectiveCalibration::SWITCH_TREE,
            pb::CollectiveCalibration::RING_AND_TREE}) {
        protocol.set_use(use);
        expect(changed);
      }
      protocol.clear_use();
      expect(changed);
      protocol.set_most_nodes(1);
      expect(changed);
      protocol.clear_most_nodes();
      protocol.set_name("another");
      expect(changed);
      protocol = proto->collectives().protocol(i);
      protocol.set_tier(protocol.tier() == pb::CollectiveCalibration::SCALE_UP
                            ? pb::CollectiveCalibration::SCALE_OUT
                            : pb::CollectiveCalibration::SCALE_UP);
      expect(changed);
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace orrery
