// The chips of the catalogue against their vendors' datasheets, typed here once
// more: a slip in a preset, or in how it is read, would otherwise be seen by no
// test where no measurement of that chip is at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/format.h"
#include "base/units_text.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "cost/kernel/kernel_timer.h"
#include "run/chip_with_kernels.h"
#include "tests/status_matchers.h"
#include "topology/graph/build.h"
#include "topology/graph/metrics.h"

namespace orrery {
namespace {

// GB, TB/s, dense TFLOP/s in BF16; FP8, or INT8 where there is no FP8 (0:
// neither). Memory that is sold as GB has as many GiB of devices, of which the
// driver keeps a share.
constexpr double kDriver = 0.006;
struct Sheet {
  const char* chip;
  double memory;
  double bandwidth;
  double bf16;
  double eight_bits;
  double kept = kDriver;
};
constexpr Sheet kSheets[] = {
    // NVIDIA A100 datasheet (40 and 80 GB SXM).
    {"a100_sxm_40", 40, 1.555, 312, 624},
    {"a100_sxm_80", 80, 2.039, 312, 624},
    // NVIDIA H100 datasheet (SXM), H200 datasheet, GH200 datasheet (96 GB of
    // HBM3).
    {"h100_sxm", 80, 3.35, 989, 1979},
    {"h200_sxm", 141, 4.8, 989, 1979},
    // Where decimal GB are all that is known, a GiB is 7 % more.
    {"gh200_96", 96, 4.0, 989, 1979, 0.069},
    // An H100 with HBM2e, as torchtitan's benchmark notes describe it.
    {"h100_hbm2e_500w", 96, 2.4, 989, 1979},
    // Export variants: the H800 is an H100 with fewer links, the H20 has 148
    // TFLOP/s and 4 TB/s.
    {"h800_sxm", 80, 3.35, 989, 1979},
    {"h20_sxm", 96, 4.0, 148, 296},
    // NVIDIA L40S datasheet; a sixteenth of GDDR6 is for error correction.
    {"l40s", 48, 0.864, 362, 733, 1.0 / 16 + kDriver},
    // HGX B200: 1.4 TB and 62 TB/s on eight chips, 72 PFLOP/s of FP8 with
    // sparsity, which is twice the dense rate.
    {"b200_sxm", 180, 7.7, 2250, 4500},
    // GB200 NVL72: 13.4 TB and 576 TB/s on 72 chips, 720 PFLOP/s of FP8 with
    // sparsity; GB300 NVL72: 20 TB of it usable, 576 TB/s.
    {"gb200", 186, 8.0, 2500, 5000},
    {"gb300", 288, 8.0, 2500, 5000, 1 - 20.0 * 1000 / 72 / 288 + kDriver},
    // AMD Instinct MI300X and MI355X data sheets.
    {"mi300x", 192, 5.3, 1307.4, 2614.9},
    {"mi355x", 288, 8.0, 2516.6, 5033.2},
    // Google Cloud TPU documentation, per chip.
    {"tpu_v4", 32, 1.2, 275, 275},
    {"tpu_v5e", 16, 0.819, 197, 393},
    {"tpu_v5p", 95, 2.765, 459, 918},
    {"tpu_v6e", 32, 1.64, 918, 918},
    {"tpu_v7x", 192, 7.37, 2307, 4614},
};

class Datasheet : public testing::TestWithParam<Sheet> {};
INSTANTIATE_TEST_SUITE_P(Chips, Datasheet, testing::ValuesIn(kSheets),
                         [](const auto& test) {
                           return std::string(test.param.chip);
                         });

// A preset may have what was measured at the clocks of a board rather than the
// round numbers of the sheet.
constexpr double kRounded = 0.01;

TEST_P(Datasheet, IsThePreset) {
  const Sheet& sheet = GetParam();
  ASSERT_OK_AND_ASSIGN(const ChipWithKernels of, LoadChip(sheet.chip, "", {}));
  const Chip& chip = of.chip;
  const double gibibytes =
      static_cast<double>(chip.memory().value()) / (1 << 30);
  EXPECT_LE(gibibytes, sheet.memory);
  EXPECT_GE(gibibytes, sheet.memory * (1 - sheet.kept));
  EXPECT_NEAR(chip.memory_bandwidth().value() / 1e12 / sheet.bandwidth, 1,
              kRounded);
  EXPECT_NEAR(chip.peak(DType::kBf16)->value() / 1e12 / sheet.bf16, 1,
              kRounded);
  const auto narrow =
      chip.peak(DType::kFp8) ? chip.peak(DType::kFp8) : chip.peak(DType::kInt8);
  ASSERT_TRUE(narrow.has_value());
  EXPECT_NEAR(narrow->value() / 1e12 / sheet.eight_bits, 1, kRounded);
}

// One row times a matrix of 8192 x 57344 in BF16 reads 940 MB: at the sheet's
// bandwidth that is the least it can take, and kernels reach two thirds of it
// at the least. 8192 rows of it do 7.7 PFLOP, and reach half of the peak.
TEST_P(Datasheet, IsTheRoofline) {
  const Sheet& sheet = GetParam();
  ASSERT_OK_AND_ASSIGN(const ChipWithKernels of, LoadChip(sheet.chip, "", {}));
  ASSERT_OK_AND_ASSIGN(const KernelTimer timer,
                       KernelTimer::Create(of.chip, of.kernels));
  const auto seconds = [&](int64_t rows) {
    const Op op{OpName::kProduct, Pass::kForward,
                Gemm{.m = rows, .n = 57344, .k = 8192}};
    return ToSeconds(timer.Time(op).time);
  };
  const double reading = 8192.0 * 57344 * 2 / (sheet.bandwidth * 1e12);
  EXPECT_GT(seconds(1), reading * (1 - kRounded));
  EXPECT_LT(seconds(1), reading * 1.5);
  const double computing = 2.0 * 8192 * 57344 * 8192 / (sheet.bf16 * 1e12);
  EXPECT_GT(seconds(8192), computing * (1 - kRounded));
  EXPECT_LT(seconds(8192), computing * 2);
}

// What leaves a chip over the links to its island, in one direction, and the
// NICs of a node. Vendors state both directions together.
struct Wires {
  const char* system;
  double scale_up;  // GB/s of a chip, all its links
  int nics;         // of a node; 0: no network between nodes
  double nic;       // Gb/s
};
constexpr Wires kWires[] = {
    // NVLink of 600 GB/s on the A100, of which Jean Zay's four-chip boards and
    // pairs of boards use a third; HDR, EDR and Omni-Path are per port.
    {"a100_opa100x4", 100, 4, 100},
    {"azure_nd_a100_v4", 300, 8, 200},
    {"dgx_a100_hdr200", 300, 8, 200},
    // 900 GB/s on Hopper, 400 on the H800.
    {"aws_p5_efa", 450, 8, 400},
    {"dgx_h100_ib400", 450, 8, 400},
    {"h200_ib400", 450, 8, 400},
    {"h20_ib400", 450, 8, 400},
    {"h800_ib400", 200, 8, 400},
    {"gh200_ib400", 450, 1, 400},
    // 1.8 TB/s on Blackwell; ConnectX-7, on the GB300 ConnectX-8.
    {"dgx_b200", 900, 8, 400},
    {"gb200_nvl72", 900, 72, 400},
    {"gb300_nvl72", 900, 72, 800},
    // PCIe 4.0: 64 GB/s.
    {"l40s_pcie", 32, 2, 400},
    // Seven links of 128 GB/s, and of 153.6.
    {"mi300x_8x400", 448, 8, 400},
    {"mi355x_8x400", 537.6, 8, 400},
    // Google states ICI per chip: 2400, 1600 and 4800 Gb/s one way; 800 GB/s
    // both ways on v6e, 1200 on v7x. Slices meet over the NICs of their hosts.
    {"tpu_v4_pod", 300, 0, 0},
    {"tpu_v4_multislice", 300, 64, 50},
    {"tpu_v5e_pod", 200, 0, 0},
    {"tpu_v5e_multislice", 200, 64, 25},
    {"tpu_v5p_pod", 600, 0, 0},
    {"tpu_v5p_multislice", 600, 64, 50},
    {"tpu_v6e_pod", 400, 0, 0},
    {"tpu_v7x_pod", 600, 0, 0},
};

// Presets of TPUs have what jax-ml measured, nine tenths of what is stated.
constexpr double kUsable = 0.12;

class Links : public testing::TestWithParam<Wires> {};
INSTANTIATE_TEST_SUITE_P(Systems, Links, testing::ValuesIn(kWires),
                         [](const auto& test) {
                           return std::string(test.param.system);
                         });

TEST_P(Links, AreThoseOfTheDatasheet) {
  const Wires& wires = GetParam();
  ASSERT_OK_AND_ASSIGN(const pb::System proto, Catalog().System(wires.system));
  const pb::Fabric& fabric = proto.scale_up().fabric();
  ASSERT_OK_AND_ASSIGN(const BytesPerSecond link,
                       ParseBytesPerSecond(fabric.link().bandwidth()));
  double links = 0;
  if (fabric.has_switch_()) {
    links = fabric.switch_().links_per_endpoint();
  } else if (fabric.has_torus()) {
    links = 2 * fabric.torus().dimensions();
  } else {
    ASSERT_TRUE(fabric.has_fully_connected());
    links = proto.chips_per_node() - 1;
  }
  EXPECT_NEAR(links * link.value() / 1e9 / wires.scale_up, 1, kUsable);
  ASSERT_EQ(proto.has_scale_out(), wires.nics > 0);
  if (wires.nics == 0) return;
  EXPECT_EQ(proto.scale_out().nics_per_node(), wires.nics);
  ASSERT_OK_AND_ASSIGN(const BytesPerSecond nic,
                       ParseBytesPerSecond(proto.scale_out().nic_bandwidth()));
  EXPECT_NEAR(nic.value() * 8 / 1e9, wires.nic, 1e-6);
}

TEST(Datasheets, AreThereForEverySystem) {
  std::set<std::string> sheets;
  for (const Wires& wires : kWires) sheets.insert(wires.system);
  for (const std::string& name : Catalog().Names("systems")) {
    EXPECT_TRUE(sheets.contains(name)) << name;
  }
}

TEST(Datasheets, AreThereForEveryChip) {
  std::set<std::string> sheets;
  for (const Sheet& sheet : kSheets) sheets.insert(sheet.chip);
  for (const std::string& name : Catalog().Names("chips")) {
    EXPECT_TRUE(sheets.contains(name)) << name;
  }
}

// The vendor states how many watts a chip may draw, and a node or rack with
// everything in it (the largest power of DGX A100, H100 and B200, and of the
// racks). A zero stands for a value that is not stated.
struct Drawn {
  const char* system;
  double chip;
  double node;
};
constexpr Drawn kDrawn[] = {
    {"azure_nd_a100_v4", 400, 0},   {"dgx_a100_hdr200", 400, 6500},
    {"dgx_h100_ib400", 700, 10200}, {"h200_ib400", 700, 10200},
    {"h800_ib400", 700, 10200},     {"dgx_b200", 1000, 14300},
    {"gb200_nvl72", 1200, 120000},  {"gb300_nvl72", 1400, 135000},
    {"l40s_pcie", 350, 0},          {"mi300x_8x400", 750, 0},
    {"mi355x_8x400", 1400, 0},
};

TEST(Datasheets, SayWhatChipsAndNodesDraw) {
  for (const Drawn& drawn : kDrawn) {
    SCOPED_TRACE(drawn.system);
    ASSERT_OK_AND_ASSIGN(const pb::System proto,
                         ResolveSystem(Catalog(), drawn.system, {}));
    ASSERT_OK_AND_ASSIGN(const Watts chip, ParseWatts(proto.chip().power()));
    EXPECT_NEAR(chip.value(), drawn.chip, 1e-6);
    if (drawn.node == 0) continue;
    ASSERT_OK_AND_ASSIGN(const Watts host, ParseWatts(proto.host().power()));
    EXPECT_NEAR(
        (host.value() + proto.chips_per_node() * chip.value()) / drawn.node, 1,
        0.02);
  }
}

// The vendors' reference designs have no taper between nodes: every leaf switch
// has as many ports up as down. Half of the nodes can then send the other half
// all that their NICs send, also where they need more than one leaf.
TEST(Datasheets, NoNetworkBetweenNodesIsTapered) {
  int seen = 0;
  for (const std::string& name : Catalog().Names("systems")) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(pb::System proto, ResolveSystem(Catalog(), name, {}));
    const pb::Fabric& fabric = proto.scale_out().fabric();
    int radix = 0;
    if (fabric.has_rail_optimized()) radix = fabric.rail_optimized().radix();
    if (fabric.has_fat_tree()) radix = fabric.fat_tree().radix();
    if (radix == 0) continue;
    // So many nodes need two leaves at the least.
    proto.set_nodes(2 * radix);
    ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(proto));
    ASSERT_OK_AND_ASSIGN(const Graph graph, BuildGraph(system));
    const ScaleOut& out = *system.scale_out();
    const BytesPerSecond sent = out.nic_bandwidth * out.nics_per_node * radix;
    EXPECT_NEAR(BisectionOfNodes(graph, proto.chips_per_node()) / sent, 1,
                1e-9);
    ++seen;
  }
  EXPECT_GT(seen, 10);
}

// A cut through the middle of a TPU slice crosses twice as many links where the
// sides are closed to rings. The documentation says that a side of a v4 or v5p
// slice is closed where it is a multiple of four, and a side of a v5e or v6e
// slice only where it is the pod's full side of sixteen.
TEST(Datasheets, SayWhichSidesOfASliceAreClosed) {
  struct Slice {
    const char* system;
    int chips;
    double links;  // across the middle
  };
  for (const Slice& slice :
       {Slice{"tpu_v4_pod", 64, 2 * 16}, Slice{"tpu_v5p_pod", 64, 2 * 16},
        Slice{"tpu_v5e_pod", 16, 4}, Slice{"tpu_v6e_pod", 16, 4},
        Slice{"tpu_v5e_pod", 64, 8}, Slice{"tpu_v6e_pod", 64, 8},
        Slice{"tpu_v5e_pod", 256, 2 * 16}, Slice{"tpu_v6e_pod", 256, 2 * 16}}) {
    SCOPED_TRACE(fmt::format("{} chips of {}", slice.chips, slice.system));
    ASSERT_OK_AND_ASSIGN(pb::System proto,
                         ResolveSystem(Catalog(), slice.system, {}));
    proto.set_nodes(slice.chips / proto.chips_per_node());
    ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(proto));
    ASSERT_OK_AND_ASSIGN(const Graph graph, BuildGraph(system));
    EXPECT_NEAR(Bisection(graph) / system.scale_up()->fabric.link.bandwidth,
                slice.links, 1e-9);
  }
}

}  // namespace
}  // namespace orrery
