#include "sim/network/collective_library.h"

#include <gmock/gmock.h>

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Kind = CommunicationKind;
using Algorithm = CollectiveAlgorithm;
using std::chrono::microseconds;

Protocol Named(const char* name, Tier tier,
               std::optional<ProtocolUse> use = std::nullopt) {
  return {.name = name,
          .tier = tier,
          .step_latency = microseconds(1),
          .efficiency = 1,
          .fill_latency = Duration(0),
          .base_latency = Duration(0),
          .use = use};
}

std::vector<std::string> Names(const std::vector<ProtocolPair>& pairs) {
  std::vector<std::string> names;
  for (const ProtocolPair& pair : pairs) {
    names.push_back((pair.scale_up ? pair.scale_up->name : "-") + "/" +
                    (pair.scale_out ? pair.scale_out->name : "-"));
  }
  return names;
}

// A library of which only its list of algorithms is known.
CollectiveLibrary LibraryWith(std::vector<std::string> algorithms) {
  NetworkCalibration calibration{};
  calibration.algorithms = std::move(algorithms);
  return CollectiveLibrary(std::move(calibration));
}

TEST(CollectiveLibrary, OffersWhatItHasForTheOperation) {
  const CollectiveLibrary library = LibraryWith({"ring", "all_reduce/nvls"});
  const std::vector<Algorithm> applicable = {
      Algorithm::kRing, Algorithm::kDirect, Algorithm::kSwitchMulticast};
  EXPECT_THAT(library.Offered(Kind::kAllReduce, applicable, false),
              ElementsAre(Algorithm::kRing, Algorithm::kSwitchMulticast));
  EXPECT_THAT(library.Offered(Kind::kAllGather, applicable, false),
              ElementsAre(Algorithm::kRing));
}

// An operation with nothing listed gets all there is.
TEST(CollectiveLibrary, OffersEverythingWhereItHasNothing) {
  const CollectiveLibrary library = LibraryWith({"ring"});
  const std::vector<Algorithm> applicable = {Algorithm::kDirect,
                                             Algorithm::kPairwise};
  EXPECT_THAT(library.Offered(Kind::kAllToAll, applicable, false),
              ElementsAre(Algorithm::kDirect, Algorithm::kPairwise));
}

TEST(CollectiveLibrary, TreesOfSwitchesAreThoseOfTheFabric) {
  const CollectiveLibrary library = LibraryWith({"ring", "sharp"});
  const std::vector<Algorithm> applicable = {Algorithm::kRing,
                                             Algorithm::kReductionTree};
  EXPECT_THAT(library.Offered(Kind::kAllReduce, applicable, true),
              ElementsAre(Algorithm::kRing, Algorithm::kReductionTree));
  EXPECT_THAT(library.Offered(Kind::kAllReduce, applicable, false),
              ElementsAre(Algorithm::kRing));
}

// Tiers go by one name, but for a tree of switches, which goes on inside the
// islands by any protocol of rings.
TEST(CollectiveLibrary, ProtocolsOfBothTiersGoByOneName) {
  NetworkCalibration calibration{};
  calibration.protocols = {
      Named("LL", Tier::kScaleUp), Named("Simple", Tier::kScaleUp),
      Named("Simple", Tier::kScaleOut),
      Named("SHARP", Tier::kScaleOut, ProtocolUse::kInSwitch)};
  const CollectiveLibrary library(calibration);
  using Use = CollectiveLibrary::Use;
  const Use inside = {Kind::kAllReduce, Algorithm::kRing, true, false};
  const Use across = {Kind::kAllReduce, Algorithm::kRing, true, true};
  const Use tree = {Kind::kAllReduce, Algorithm::kReductionTree, true, true};
  EXPECT_THAT(Names(library.Protocols(inside, std::nullopt)),
              ElementsAre("LL/-", "Simple/-"));
  EXPECT_THAT(Names(library.Protocols(inside, "LL")), ElementsAre("LL/-"));
  EXPECT_THAT(Names(library.Protocols(across, std::nullopt)),
              ElementsAre("Simple/Simple"));
  EXPECT_THAT(Names(library.Protocols(across, "LL")), IsEmpty());
  EXPECT_THAT(Names(library.Protocols(tree, std::nullopt)),
              ElementsAre("LL/SHARP", "Simple/SHARP"));
}

// Tokens that go once to each island have a library of their own where there is
// one; what passes them on inside may be slower than what stays.
TEST(CollectiveLibrary, ExpertsMayHaveProtocolsOfTheirOwn) {
  using Use = CollectiveLibrary::Use;
  const Use tokens = {
      Kind::kAllToAll, Algorithm::kHierarchical, true, true, 2, true};
  NetworkCalibration calibration{};
  calibration.protocols = {
      Named("Simple", Tier::kScaleUp), Named("Simple", Tier::kScaleOut),
      Named("P2P", Tier::kScaleUp, ProtocolUse::kPointToPoint),
      Named("P2P", Tier::kScaleOut, ProtocolUse::kPointToPoint)};
  EXPECT_THAT(
      Names(CollectiveLibrary(calibration).Protocols(tokens, std::nullopt)),
      ElementsAre("P2P/P2P"));
  calibration.protocols.push_back(
      Named("DeepEP", Tier::kScaleUp, ProtocolUse::kExperts));
  calibration.protocols.push_back(
      Named("DeepEP", Tier::kScaleOut, ProtocolUse::kExperts));
  EXPECT_THAT(
      Names(CollectiveLibrary(calibration).Protocols(tokens, std::nullopt)),
      ElementsAre("DeepEP/DeepEP"));
  Use even = tokens;
  even.experts = false;
  EXPECT_THAT(
      Names(CollectiveLibrary(calibration).Protocols(even, std::nullopt)),
      ElementsAre("P2P/P2P"));
}

// Trees between switches of nodes have protocols of their own, or multicast
// inside and go by trees between; and some protocols serve few nodes only.
TEST(CollectiveLibrary, ProtocolsMayServeSoManyNodes) {
  using Use = CollectiveLibrary::Use;
  NetworkCalibration calibration{};
  calibration.protocols = {
      Named("NVLS", Tier::kScaleUp, ProtocolUse::kInSwitch),
      Named("Simple", Tier::kScaleUp), Named("Simple", Tier::kScaleOut)};
  const auto names = [&](int nodes) {
    const Use tree = {Kind::kAllReduce, Algorithm::kSwitchTree, true, true,
                      nodes};
    return Names(CollectiveLibrary(calibration).Protocols(tree, std::nullopt));
  };
  EXPECT_THAT(names(2), ElementsAre("NVLS/Simple"));
  calibration.protocols.push_back(
      Named("NVLSTree", Tier::kScaleOut, ProtocolUse::kSwitchTree));
  EXPECT_THAT(names(2), ElementsAre("NVLS/NVLSTree"));
  EXPECT_THAT(names(20), ElementsAre("NVLS/NVLSTree"));
  calibration.protocols.back().most_nodes = 2;
  EXPECT_THAT(names(2), ElementsAre("NVLS/NVLSTree"));
  EXPECT_THAT(names(3), IsEmpty());
}

TEST(ProtocolPair, WhatLeavesTheIslandMayBeSlowerInside) {
  Protocol up = Named("Simple", Tier::kScaleUp);
  up.efficiency = 0.8;
  Protocol out = Named("Simple", Tier::kScaleOut);
  out.efficiency = 0.9;
  const ProtocolPair inside = {&up, nullptr};
  const ProtocolPair across = {&up, &out};
  EXPECT_EQ(across.Efficiency(Tier::kScaleUp), 0.8);
  up.efficiency_across = 0.3;
  EXPECT_EQ(across.Efficiency(Tier::kScaleUp), 0.3);
  EXPECT_EQ(across.Efficiency(Tier::kScaleOut), 0.9);
  EXPECT_EQ(inside.Efficiency(Tier::kScaleUp), 0.8);
}

// 4 us of fill and 400 us on the wire: 2 sqrt(4 400) = 80 us. An own part of
// 8 MB / 4 = 2 MB at 1 TB/s: 2 us more. The slower base of both tiers counts.
TEST(CollectiveLibrary, OverheadIsFillAndOwnPart) {
  Protocol up = Named("Simple", Tier::kScaleUp);
  up.fill_latency = microseconds(4);
  up.base_latency = microseconds(3);
  Protocol out = Named("Simple", Tier::kScaleOut);
  out.base_latency = microseconds(5);
  NetworkCalibration calibration{};
  calibration.local_bandwidth = BytesPerSecond(1e12);
  const CollectiveLibrary library(calibration);
  const ProtocolPair pair = {&up, &out};
  const CallOverhead gather =
      library.Overhead(Kind::kAllGather, Bytes(8'000'000), 4, pair, 400e-6);
  EXPECT_EQ(gather.base, microseconds(5));
  EXPECT_EQ(gather.alongside, microseconds(82));
  const CallOverhead transfer =
      library.Overhead(Kind::kPointToPoint, Bytes(8'000'000), 2, pair, 400e-6);
  EXPECT_EQ(transfer.alongside, microseconds(80));
}

}  // namespace
}  // namespace orrery
