// Calls of different kinds on the same links: the fluid model against every
// message by itself.
//
// Flows are equals: one message of an all-reduce gets as much of a NIC as a
// send, whatever the call's bytes are counted by; an exchange with n messages
// on a NIC at a time gets n shares.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.h"
#include "base/random.h"
#include "tests/effort.h"
#include "tests/sim/network/networks.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// What is left out: that messages of a call end one after the other, and that
// others then have more.
constexpr double kUnlikeCalls = 0.15;

// Four islands of four on rails, by the algorithms that are simplest.
pb::System Machine() {
  pb::System system = IslandSystem(4, 4);
  for (const char* name :
       {"all_reduce/ring", "all_gather/ring", "reduce_scatter/ring",
        "all_to_all/direct", "point_to_point/direct"}) {
    system.mutable_collectives()->add_algorithm(name);
  }
  return system;
}

std::vector<double> Times(const std::vector<CollectiveCall>& calls,
                          Fidelity fidelity) {
  PlannedNetwork network(Machine(), {.fidelity = fidelity});
  return TimesTogether(network, calls);
}

void ExpectAlike(const std::vector<CollectiveCall>& calls) {
  const std::vector<double> fluid = Times(calls, Fidelity::kFluid);
  const std::vector<double> stepped = Times(calls, Fidelity::kStepped);
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_NEAR(fluid[i], stepped[i], kUnlikeCalls * stepped[i])
        << NameOf(calls[i].kind) << " over " << calls[i].chips.size();
  }
}

constexpr Bytes kLarge = Bytes(1 << 28);

// Two flows on the NIC of chip 0 share it in halves: a send of m alone takes
// m b. The all-reduce over the rail has 2 (p-1)/p m on the NIC, 1.5 m.
TEST(UnlikeCalls, AnAllReduceAndASendShareANicInHalves) {
  const std::vector<CollectiveCall> calls = {
      {Kind::kAllReduce, kLarge, ChipRange(0, 4, 4)},
      {Kind::kPointToPoint, kLarge, {VertexId(0), VertexId(4)}}};
  const double wire = static_cast<double>(kLarge.value()) / 48.5e9;
  const std::vector<double> fluid = Times(calls, Fidelity::kFluid);
  // Until the send is done both go at half speed, for 2 m b; of the all-reduce
  // 0.5 m are left then, at full speed.
  constexpr double kLatencies = 0.01;
  EXPECT_NEAR(fluid[1], 2 * wire, kLatencies * fluid[1]);
  EXPECT_NEAR(fluid[0], 2.5 * wire, kLatencies * fluid[0]);
  ExpectAlike(calls);
}

// The same bytes on the wire, counted as an all-reduce or as its halves: a send
// beside them is as slow.
TEST(UnlikeCalls, TheSplitDoesNotDependOnHowBytesAreCounted) {
  const auto send = [](Kind kind, Bytes bytes) {
    return Times({{kind, bytes, ChipRange(0, 4, 4)},
                  {Kind::kPointToPoint, kLarge, {VertexId(0), VertexId(4)}}},
                 Fidelity::kFluid)[1];
  };
  // Twice the bytes, so that neither ends before the send does.
  const double beside_sum = send(Kind::kAllReduce, kLarge * 2);
  EXPECT_NEAR(send(Kind::kAllGather, kLarge * 4), beside_sum,
              0.01 * beside_sum);
}

TEST(UnlikeCalls, AllToAllWithAllGather) {
  ExpectAlike({{Kind::kAllToAll, kLarge, ChipRange(0, 16)},
               {Kind::kAllGather, kLarge, ChipRange(0, 4, 4)}});
}

TEST(UnlikeCalls, TwoGroupSizes) {
  ExpectAlike({{Kind::kAllReduce, kLarge, ChipRange(0, 4, 4)},
               {Kind::kAllReduce, kLarge, ChipRange(0, 2, 4)}});
  ExpectAlike({{Kind::kReduceScatter, kLarge, ChipRange(0, 16)},
               {Kind::kAllGather, kLarge, ChipRange(0, 3, 4)}});
}

TEST(UnlikeCalls, RandomPairs) {
  for (int seed = 0; seed < Rounds(60); ++seed) {
    Rng rng(static_cast<uint64_t>(seed), "unlike calls");
    std::vector<CollectiveCall> calls;
    std::string what;
    for (int i = 0; i < 2; ++i) {
      constexpr Kind kKinds[] = {Kind::kAllReduce, Kind::kAllGather,
                                 Kind::kReduceScatter, Kind::kAllToAll,
                                 Kind::kPointToPoint};
      const Kind kind = kKinds[rng.Below(std::size(kKinds))];
      std::vector<VertexId> chips = ChipRange(0, 16);
      const auto whole = rng.Below(3);
      if (whole == 0) chips = ChipRange(static_cast<int>(rng.Below(4)), 4, 4);
      if (whole == 1) chips = ChipRange(static_cast<int>(rng.Below(3)) * 4, 8);
      // From one island to another. Inside one, a send beside an all-to-all
      // that crosses islands is beyond the model: message by message the parts
      // inside are done early, as a fluid all parts go at the pace of the NICs.
      if (kind == Kind::kPointToPoint) {
        chips = {VertexId(rng.Below(8)), VertexId(8 + rng.Below(8))};
      }
      const Bytes bytes = kLarge * static_cast<int64_t>(1 + rng.Below(4));
      what += fmt::format("{} of {} over {} from {}; ", NameOf(kind),
                          bytes.value(), chips.size(), Index(chips[0]));
      calls.push_back({kind, bytes, std::move(chips)});
    }
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, what));
    ExpectAlike(calls);
  }
}

}  // namespace
}  // namespace orrery
