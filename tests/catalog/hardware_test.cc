// Every chip, kernels preset and system of the catalogue is read, valid, cited
// and sane.
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "proto/chip.pb.h"
#include "proto/kernels.pb.h"
#include "proto/system.pb.h"
#include "tests/status_matchers.h"
#include "topology/graph/build.h"
#include "topology/graph/graph.h"
#include "topology/machine/chip.h"
#include "topology/machine/kernels.h"
#include "topology/machine/system.h"

namespace orrery {
namespace {

using testing::Contains;
using testing::IsSupersetOf;

std::vector<std::string> PresetNames(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator("catalog/" + kind)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

template <class Message>
Message Load(const std::string& kind, const std::string& name) {
  const auto text = ReadFile("catalog/" + kind + "/" + name + ".textproto");
  EXPECT_OK(text);
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text.value_or(""),
                                                            &message))
      << name;
  return message;
}

Chip LoadChip(const std::string& name) {
  const auto chip = Chip::FromProto(Load<pb::Chip>("chips", name));
  EXPECT_OK(chip);
  return *chip;
}

Kernels LoadKernels(const std::string& name) {
  const auto kernels = Kernels::FromProto(Load<pb::Kernels>("kernels", name));
  EXPECT_OK(kernels);
  return *kernels;
}

// A system of `nodes` nodes with its chip merged in, as the resolver does it.
pb::System LoadSystemProto(const std::string& name, int nodes) {
  pb::System proto = Load<pb::System>("systems", name);
  pb::Chip chip = Load<pb::Chip>("chips", proto.chip().preset());
  chip.MergeFrom(proto.chip());
  *proto.mutable_chip() = chip;
  proto.set_nodes(nodes);
  return proto;
}

System LoadSystem(const std::string& name, int nodes) {
  const auto system = System::FromProto(LoadSystemProto(name, nodes));
  EXPECT_OK(system);
  return *system;
}

class ChipPreset : public testing::TestWithParam<std::string> {};
class KernelsPreset : public testing::TestWithParam<std::string> {};
class SystemPreset : public testing::TestWithParam<std::string> {};
const auto kParamName = [](const auto& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(Catalog, ChipPreset,
                         testing::ValuesIn(PresetNames("chips")), kParamName);
INSTANTIATE_TEST_SUITE_P(Catalog, KernelsPreset,
                         testing::ValuesIn(PresetNames("kernels")), kParamName);
INSTANTIATE_TEST_SUITE_P(Catalog, SystemPreset,
                         testing::ValuesIn(PresetNames("systems")), kParamName);

TEST(Catalog, HasTheChipsAndSystemsItPromises) {
  EXPECT_THAT(
      PresetNames("chips"),
      IsSupersetOf({"a100_sxm_40", "a100_sxm_80", "h100_sxm", "h100_hbm2e_500w",
                    "h200_sxm", "h800_sxm", "h20_sxm", "b200_sxm", "gb200",
                    "gb300", "mi300x", "mi355x", "tpu_v4", "tpu_v5e", "tpu_v5p",
                    "tpu_v6e", "tpu_v7x"}));
  EXPECT_THAT(
      PresetNames("systems"),
      IsSupersetOf({"dgx_a100_hdr200", "a100_opa100x4", "azure_nd_a100_v4",
                    "dgx_h100_ib400", "aws_p5_efa", "h200_ib400", "h800_ib400",
                    "h20_ib400", "dgx_b200", "gb200_nvl72", "gb300_nvl72",
                    "mi300x_8x400", "mi355x_8x400", "tpu_v4_pod", "tpu_v5e_pod",
                    "tpu_v5p_pod", "tpu_v6e_pod", "tpu_v7x_pod"}));
}

// The fields some source vouches for: the first word of each entry, up to the
// first dot ("cache.bandwidth of L2" vouches for cache).
template <class Sources>
std::vector<std::string> Covered(const Sources& sources) {
  std::vector<std::string> fields;
  for (const pb::Source& source : sources) {
    EXPECT_FALSE(source.title().empty());
    EXPECT_THAT(source.retrieved(),
                testing::MatchesRegex("20[0-9][0-9]-[01][0-9]-[0-3][0-9]"));
    EXPECT_FALSE(source.covers().empty()) << source.title();
    for (absl::string_view entry :
         absl::StrSplit(source.covers(), ", ", absl::SkipEmpty())) {
      fields.emplace_back(
          std::vector<std::string>(absl::StrSplit(entry, absl::ByAnyChar(". ")))
              .front());
    }
  }
  return fields;
}

// Every set field of `message` that states a fact is vouched for.
template <class Sources>
void ExpectEveryFieldCited(const google::protobuf::Message& message,
                           const Sources& sources) {
  // Names, blocks with sources of their own, and provenance itself.
  static const std::vector<std::string> kNoFact = {
      "preset",     "name",     "description",    "vendor",      "year",
      "source",     "library",  "algorithm",      "collectives", "fitted_row",
      "taken_over", "made_for", "default_kernels"};
  const std::vector<std::string> covered = Covered(sources);
  if (std::count(covered.begin(), covered.end(), "all") > 0) return;
  std::vector<const google::protobuf::FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  for (const auto* field : set) {
    if (std::count(kNoFact.begin(), kNoFact.end(), field->name()) > 0) continue;
    EXPECT_THAT(covered, Contains(field->name())) << "no source";
  }
}

TEST_P(ChipPreset, IsValidAndNamedAfterItsFile) {
  const pb::Chip proto = Load<pb::Chip>("chips", GetParam());
  EXPECT_EQ(proto.name(), GetParam());
  EXPECT_FALSE(proto.description().empty());
  EXPECT_OK(Chip::FromProto(proto));
}

TEST_P(ChipPreset, CitesASourceForEveryFact) {
  const pb::Chip proto = Load<pb::Chip>("chips", GetParam());
  ExpectEveryFieldCited(proto, proto.source());
}

// A chip's default kernels were made for it, and leave room on it.
TEST_P(ChipPreset, NamesKernelsMadeForIt) {
  const pb::Chip proto = Load<pb::Chip>("chips", GetParam());
  const Kernels kernels = LoadKernels(proto.default_kernels());
  const Chip chip = LoadChip(GetParam());
  EXPECT_TRUE(kernels.MadeFor(chip)) << kernels.name();
  EXPECT_OK(kernels.CheckRoomOn(chip));
}

TEST_P(KernelsPreset, IsValidAndNamedAfterItsFile) {
  const pb::Kernels proto = Load<pb::Kernels>("kernels", GetParam());
  EXPECT_EQ(proto.name(), GetParam());
  EXPECT_FALSE(proto.description().empty());
  EXPECT_OK(Kernels::FromProto(proto));
}

TEST_P(KernelsPreset, CitesASourceForEveryFact) {
  const pb::Kernels proto = Load<pb::Kernels>("kernels", GetParam());
  ExpectEveryFieldCited(proto, proto.source());
}

TEST_P(KernelsPreset, IsMadeForChipsOfTheCatalogue) {
  const Kernels kernels = LoadKernels(GetParam());
  for (const std::string& chip : kernels.made_for()) {
    EXPECT_THAT(PresetNames("chips"), Contains(chip));
  }
}

// Fewer bits are never slower on the matrix units, and those are faster than
// the vector units.
TEST_P(ChipPreset, RatesAreOrdered) {
  const Chip chip = LoadChip(GetParam());
  const FlopsPerSecond bf16 = *chip.peak(DType::kBf16);
  EXPECT_GT(bf16, chip.vector_rate());
  for (const auto& [narrow, wide] :
       std::vector<std::pair<DType, DType>>{{DType::kFp4, DType::kFp8},
                                            {DType::kFp8, DType::kBf16},
                                            {DType::kInt8, DType::kBf16},
                                            {DType::kBf16, DType::kTf32},
                                            {DType::kTf32, DType::kFp32},
                                            {DType::kFp32, DType::kFp64}}) {
    if (!chip.peak(narrow) || !chip.peak(wide)) continue;
    EXPECT_GE(*chip.peak(narrow), *chip.peak(wide)) << Name(narrow);
  }
  if (chip.peak(DType::kFp16)) {
    EXPECT_EQ(*chip.peak(DType::kFp16), bf16);
  }
  const Hertz burst = chip.burst_clock().value_or(chip.clock());
  EXPECT_LE(chip.sustained_clock().value_or(burst), burst);
  EXPECT_LE(burst, chip.clock());
}

TEST_P(ChipPreset, QuantitiesAreWithinPhysicalRange) {
  const Chip chip = LoadChip(GetParam());
  const double memory_bandwidth = chip.memory_bandwidth().value();
  EXPECT_GT(memory_bandwidth, 0.3e12);
  EXPECT_LT(memory_bandwidth, 25e12);
  EXPECT_GT(chip.memory(), Bytes(8'000'000'000));
  EXPECT_LT(chip.memory(), Bytes(1'000'000'000'000));
  EXPECT_GT(chip.clock(), Hertz(0.5e9));
  EXPECT_LT(chip.clock(), Hertz(4e9));
  EXPECT_GT(chip.memory_latency(), FromSeconds(100e-9));
  EXPECT_LT(chip.memory_latency(), FromSeconds(2e-6));
  if (chip.power()) {
    EXPECT_GT(*chip.power(), Watts(50));
    EXPECT_LT(*chip.power(), Watts(3000));
  }
  // FLOPs per byte at the ridge of the roofline: 37 (H20) to 560 (v6e).
  const double ridge = chip.peak(DType::kBf16)->value() / memory_bandwidth;
  EXPECT_GT(ridge, 30);
  EXPECT_LT(ridge, 1000);
  for (const CacheLevel& cache : chip.caches()) {
    EXPECT_GT(cache.bandwidth, chip.memory_bandwidth()) << cache.name;
    EXPECT_LT(cache.total_size, chip.memory()) << cache.name;
  }
  for (const LinkPort& port : chip.ports()) {
    EXPECT_LT(port.total_bandwidth(), chip.memory_bandwidth()) << port.name;
  }
  if (chip.die()) {
    EXPECT_LT(chip.die()->area, SquareMillimetres(858)) << "the reticle limit";
  }
}

// Tensor cores do a power of two FLOPs per clock: peak / (units x clock) is one
// of them, but for the rounding of the datasheet.
TEST_P(ChipPreset, ThePeakIsUnitsTimesClockTimesAPowerOfTwo) {
  constexpr double kRoundingOfDatasheets = 0.005;
  const Chip chip = LoadChip(GetParam());
  const double per_clock = chip.peak(DType::kBf16)->value() /
                           (chip.compute_units() * chip.clock().value());
  const double nearest = std::exp2(std::round(std::log2(per_clock)));
  EXPECT_NEAR(per_clock / nearest, 1, kRoundingOfDatasheets) << per_clock;
}

TEST_P(SystemPreset, IsValidOnTwoNodesAndNamedAfterItsFile) {
  const pb::System proto = Load<pb::System>("systems", GetParam());
  EXPECT_EQ(proto.name(), GetParam());
  EXPECT_FALSE(proto.description().empty());
  EXPECT_FALSE(proto.has_nodes()) << "the number of nodes is the scenario's";
  EXPECT_OK(System::FromProto(LoadSystemProto(GetParam(), 2)));
}

TEST_P(SystemPreset, CitesASourceForEveryFact) {
  const pb::System proto = Load<pb::System>("systems", GetParam());
  ExpectEveryFieldCited(proto, proto.source());
  ExpectEveryFieldCited(proto.collectives(), proto.collectives().source());
}

// The fabric of a node uses the links that the chip has, all of them.
TEST_P(SystemPreset, TheScaleUpFabricMatchesThePortsOfTheChip) {
  const System system = LoadSystem(GetParam(), 16);
  const ScaleUp& scale_up = *system.scale_up();
  const LinkPort& port = system.chip().ports()[0];
  EXPECT_EQ(scale_up.fabric.link.name, port.name);
  EXPECT_EQ(scale_up.fabric.link.bandwidth, port.bandwidth);
  // Jean Zay's nodes are described with four of the twelve NVLinks.
  const double used = GetParam() == "a100_opa100x4" ? 4.0 / 12 : 1.0;
  EXPECT_DOUBLE_EQ(scale_up.chip_bandwidth.value(),
                   used * port.total_bandwidth().value());
}

TEST_P(SystemPreset, BandwidthsFallFromMemoryToNic) {
  const System system = LoadSystem(GetParam(), 2);
  const BytesPerSecond chip = system.scale_up()->chip_bandwidth;
  EXPECT_LT(chip, system.chip().memory_bandwidth());
  if (system.scale_out()) {
    const double nic = system.scale_out()->nic_bandwidth.value() *
                       system.scale_out()->nics_per_node /
                       system.chips_per_node();
    EXPECT_LT(nic, chip.value());
    EXPECT_GT(nic, 1e9);
  }
  EXPECT_LT(system.host()->chip_bandwidth, system.chip().memory_bandwidth());
}

TEST_P(SystemPreset, ReachesThousandsOfChips) {
  // Selene, on which GPT-1T ran, has 4480 A100.
  const pb::System preset = Load<pb::System>("systems", GetParam());
  const int nodes = 4480 / preset.chips_per_node();
  EXPECT_OK(System::FromProto(LoadSystemProto(GetParam(), nodes)));
}

// A chip leaves over links of the scale-up class with the bandwidth that the
// preset's fabric adds up to: every one, but for those at the ends of a slice.
TEST_P(SystemPreset, IsWiredAsAGraph) {
  for (const int nodes : {2, 16}) {
    const System system = LoadSystem(GetParam(), nodes);
    ASSERT_OK_AND_ASSIGN(const Graph graph, BuildGraph(system));
    EXPECT_GE(graph.vertex_count(), static_cast<size_t>(system.chips()));
    double scale_up = 0;
    for (const VertexId chip : Chips(graph)) {
      double own = 0;
      for (const LinkId id : graph.leaving(chip)) {
        const Link& link = graph.link(id);
        const std::string& name = graph.link_classes()[link.link_class].name;
        if (name == system.scale_up()->fabric.link.name) {
          own += link.bandwidth.value();
        }
      }
      scale_up = std::max(scale_up, own);
    }
    EXPECT_NEAR(scale_up / system.scale_up()->chip_bandwidth.value(), 1, 1e-9)
        << nodes << " nodes";
  }
}

// Llama 3 405B was trained on 16384 H100: 2048 nodes, three tiers of 64-port
// switches (two hold 64^2 / 2 = 2048 NICs).
TEST(Catalog, DgxH100ReachesTheLlama3Run) {
  const System system = LoadSystem("dgx_h100_ib400", 2048);
  EXPECT_EQ(system.chips(), 16384);
  EXPECT_EQ(
      std::get<RailOptimizedFabric>(system.scale_out()->fabric.kind).tiers, 3);
}

TEST(Catalog, AnH800HasLessNvlinkThanAnH100AndTheSameCompute) {
  const Chip h100 = LoadChip("h100_sxm");
  const Chip h800 = LoadChip("h800_sxm");
  EXPECT_LT(h800.ports()[0].total_bandwidth(),
            h100.ports()[0].total_bandwidth());
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::kFp64) continue;
    EXPECT_EQ(h800.peak(dtype), h100.peak(dtype)) << Name(dtype);
  }
  EXPECT_EQ(h800.power_draw()->matrix, h100.power_draw()->matrix);
  EXPECT_EQ(h800.memory_bandwidth(), h100.memory_bandwidth());
  // 400 GB/s and 900 GB/s both ways.
  EXPECT_DOUBLE_EQ(h800.ports()[0].total_bandwidth().value(), 200e9);
  EXPECT_DOUBLE_EQ(h100.ports()[0].total_bandwidth().value(), 450e9);
}

TEST(Catalog, GenerationsImprove) {
  const auto faster = [](const char* later, const char* earlier) {
    EXPECT_GT(*LoadChip(later).peak(DType::kBf16),
              *LoadChip(earlier).peak(DType::kBf16));
    EXPECT_GT(LoadChip(later).memory_bandwidth(),
              LoadChip(earlier).memory_bandwidth());
  };
  faster("h100_sxm", "a100_sxm_80");
  faster("b200_sxm", "h200_sxm");
  faster("mi355x", "mi300x");
  faster("tpu_v5p", "tpu_v4");
  faster("tpu_v6e", "tpu_v5e");
  faster("tpu_v7x", "tpu_v6e");
}

// Google's own pod figures: 4096 chips of v4 as 16 x 16 x 16, 8960 of v5p as
// 16 x 20 x 28, 256 of v5e as 16 x 16.
TEST(Catalog, FullPodsHaveTheirPublishedShapes) {
  const auto shape = [](const char* name, int nodes) {
    return std::get<TorusFabric>(
               LoadSystem(name, nodes).scale_up()->fabric.kind)
        .shape;
  };
  EXPECT_THAT(shape("tpu_v4_pod", 1024), testing::ElementsAre(16, 16, 16));
  EXPECT_THAT(shape("tpu_v5p_pod", 2240), testing::ElementsAre(16, 20, 28));
  EXPECT_THAT(shape("tpu_v5e_pod", 32), testing::ElementsAre(16, 16));
}

}  // namespace
}  // namespace orrery
