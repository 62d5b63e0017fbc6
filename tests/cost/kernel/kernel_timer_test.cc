// What holds for every op on every chip of the catalogue.
#include "cost/kernel/kernel_timer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "catalog/catalog.h"
#include "cost/kernel/roofline.h"
#include "proto/chip.pb.h"
#include "tests/cost/kernel/chips.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

Op OpOf(const Work& work) { return {OpName::kPointwise, Pass::kForward, work}; }

// Sizes from 1 to about `most`, spread over its orders of magnitude.
int64_t Size(Rng& rng, double most) {
  return std::max<int64_t>(1, std::llround(std::pow(most, rng.Uniform())));
}

Work RandomWork(Rng& rng, int kind) {
  switch (kind) {
    case 0:
      return Gemm{.m = Size(rng, 20000),
                  .n = Size(rng, 20000),
                  .k = Size(rng, 20000),
                  .batch = Size(rng, 8),
                  .operand = rng.Uniform() < 0.5 ? DType::kBf16 : DType::kFp8,
                  .accumulate = rng.Uniform() < 0.3};
    case 1: {
      const auto groups = static_cast<int32_t>(Size(rng, 64));
      const double rows = static_cast<double>(Size(rng, 4000));
      return GroupedGemm{.groups = groups,
                         .rows = rows,
                         .hot_rows = rows * (1 + rng.Uniform()),
                         .active = std::max(1.0, groups * rng.Uniform()),
                         .n = Size(rng, 8000),
                         .k = Size(rng, 8000),
                         .weight_gradient = rng.Uniform() < 0.3};
    }
    case 2: {
      const auto kv_heads = static_cast<int32_t>(Size(rng, 16));
      const int64_t queries = Size(rng, 8000);
      return FusedAttention{
          .batch = Size(rng, 32),
          .query_heads = kv_heads * static_cast<int32_t>(Size(rng, 8)),
          .kv_heads = kv_heads,
          .queries = queries,
          .keys = queries + Size(rng, 8000),
          .head_dimension = 128,
          .value_dimension = 128,
          .mask = rng.Uniform() < 0.5 ? Mask::kCausal : Mask::kFull,
          .backward = rng.Uniform() < 0.3};
    }
    default: {
      constexpr Pointwise::Kind kKinds[] = {
          Pointwise::Kind::kElementwise, Pointwise::Kind::kNorm,
          Pointwise::Kind::kSoftmax, Pointwise::Kind::kQuantize};
      return Pointwise{.kind = kKinds[Size(rng, 4) - 1],
                       .read = Bytes(Size(rng, 1e9)),
                       .written = Bytes(Size(rng, 1e9)),
                       .flops = static_cast<double>(Size(rng, 1e10)),
                       .row = Size(rng, 40000)};
    }
  }
}

// The same work with one size larger; every way of making it so.
std::vector<Work> Larger(const Work& work) {
  std::vector<Work> larger;
  const auto grow = [&](auto changed) { larger.push_back(changed); };
  if (const auto* g = std::get_if<Gemm>(&work)) {
    for (const int64_t by : {int64_t{1}, g->m, g->n + 77}) {
      Gemm x = *g;
      x.m += by;
      grow(x);
      x = *g;
      x.n += by;
      grow(x);
      x = *g;
      x.k += by;
      grow(x);
    }
    Gemm x = *g;
    x.batch += 1;
    grow(x);
  } else if (const auto* e = std::get_if<GroupedGemm>(&work)) {
    GroupedGemm x = *e;
    x.rows += 1;
    x.hot_rows += 1;
    grow(x);
    x = *e;
    x.n += 100;
    grow(x);
    x = *e;
    x.k += 100;
    grow(x);
  } else if (const auto* a = std::get_if<FusedAttention>(&work)) {
    FusedAttention x = *a;
    x.batch += 1;
    grow(x);
    for (const int64_t by : {1, 64, 1000}) {
      x = *a;
      x.keys += by;
      grow(x);
      x.queries += by;
      grow(x);
    }
    x = *a;
    x.query_heads += a->kv_heads;
    grow(x);
  } else if (const auto* p = std::get_if<Pointwise>(&work)) {
    Pointwise x = *p;
    x.read += Bytes(1000);
    grow(x);
    x = *p;
    x.flops *= 2;
    grow(x);
    x = *p;
    x.row *= 2;
    grow(x);
  }
  return larger;
}

class EveryChip : public testing::TestWithParam<std::string> {};

TEST_P(EveryChip, IsNeverFasterThanItsRoofline) {
  const Chip chip = PresetChip(GetParam());
  const KernelTimer timer = TimerOf(chip);
  Rng rng(1, "roofline");
  for (int i = 0; i < 2000; ++i) {
    const Op op = OpOf(RandomWork(rng, i % 4));
    EXPECT_GE(timer.Time(op).time, RooflineBound(op, chip)) << i;
  }
}

TEST_P(EveryChip, TakesNoLessTimeForMoreWork) {
  const KernelTimer timer = TimerOf(PresetChip(GetParam()));
  Rng rng(2, "monotone");
  for (int i = 0; i < 1000; ++i) {
    const Work work = RandomWork(rng, i % 4);
    const Duration time = timer.Time(OpOf(work)).time;
    int way = 0;
    for (const Work& larger : Larger(work)) {
      EXPECT_GE(timer.Time(OpOf(larger)).time, time)
          << "case " << i << ", way " << way;
      ++way;
    }
  }
}

TEST_P(EveryChip, IsNotSlowerWithMoreBandwidthOrMoreUnits) {
  pb::Chip proto = *Catalog().Chip(GetParam());
  const KernelTimer timer = TimerOf(*Chip::FromProto(proto));
  const auto scaled = [&](auto change) {
    pb::Chip faster = proto;
    change(faster);
    return TimerOf(*Chip::FromProto(faster));
  };
  const std::vector<KernelTimer> faster = {
      scaled([](pb::Chip& c) { c.set_memory_bandwidth("50 TB/s"); }),
      scaled([](pb::Chip& c) {
        for (auto& cache : *c.mutable_cache()) cache.set_bandwidth("900 TB/s");
      }),
      scaled([](pb::Chip& c) {
        for (auto& peak : *c.mutable_peak()) peak.set_rate("90 PFLOP/s");
      }),
      scaled([](pb::Chip& c) { c.set_vector_rate("900 TFLOP/s"); }),
      scaled([](pb::Chip& c) { c.set_sfu_rate("900 Top/s"); })};
  Rng rng(3, "faster");
  for (int i = 0; i < 500; ++i) {
    const Op op = OpOf(RandomWork(rng, i % 4));
    const Duration time = timer.Time(op).time;
    for (const KernelTimer& other : faster) {
      EXPECT_LE(other.Time(op).time, time) << i;
    }
  }
}

std::vector<std::string> ChipNames() { return Catalog().Names("chips"); }
INSTANTIATE_TEST_SUITE_P(Catalogue, EveryChip, testing::ValuesIn(ChipNames()));

TEST(KernelTimer, AGraphStartsKernelsFaster) {
  const Chip chip = PresetChip("h100_sxm");
  const Op op = OpOf(Pointwise{.read = Bytes(1000), .written = Bytes(1000)});
  const OpTime host = TimerOf(chip).Time(op);
  const OpTime graph = TimerOf(chip, {.launch = LaunchMode::kGraph}).Time(op);
  const Kernels kernels = PresetKernels("h100_sxm");
  EXPECT_EQ(host.time - graph.time,
            kernels.constants().launch - kernels.constants().graph_launch);
  EXPECT_EQ(host.limit, Limit::kLaunch);
}

TEST(KernelTimer, ALowerClockSlowsMatrixWorkButNotMemory) {
  const Chip chip = PresetChip("h100_sxm");
  const Op product = OpOf(Gemm{.m = 8192, .n = 8192, .k = 8192});
  const Op stream = OpOf(Pointwise{.read = Bytes(int64_t{1} << 30),
                                   .written = Bytes(int64_t{1} << 30)});
  const KernelTimer usual = TimerOf(chip);
  const KernelTimer slow = TimerOf(chip, {.clock = Hertz(0.8e9)});
  EXPECT_GT(ToSeconds(slow.Time(product).time),
            1.5 * ToSeconds(usual.Time(product).time));
  EXPECT_EQ(slow.Time(stream).time, usual.Time(stream).time);
}

// Load, products, pointwise and store in a row can only take longer.
// 32 MiB of weights stay in the 50 MiB of an H100 from call to call, and are
// read faster than memory is; 128 MiB do not.
TEST(KernelTimer, ACacheThatIsWarmHoldsWhatFits) {
  const Chip chip = PresetChip("h100_sxm");
  const KernelTimer cold = TimerOf(chip);
  const KernelTimer warm = TimerOf(chip, {.warm_cache = true});
  const Op fits = OpOf(Gemm{.m = 16, .n = 4096, .k = 4096});
  const Op large = OpOf(Gemm{.m = 16, .n = 8192, .k = 8192});
  EXPECT_LT(warm.Time(fits).time, cold.Time(fits).time);
  EXPECT_EQ(warm.Time(large).time, cold.Time(large).time);
}

TEST(KernelTimer, TheAdditiveFormOfAttentionIsAtLeastTheOverlapped) {
  const Chip chip = PresetChip("h100_sxm");
  const KernelTimer overlapped = TimerOf(chip);
  const KernelTimer additive =
      TimerOf(chip, {.attention = AttentionForm::kAdditive});
  for (const int64_t length : {512, 2048, 16384}) {
    const Op op = OpOf(FusedAttention{.batch = 8,
                                      .query_heads = 32,
                                      .kv_heads = 8,
                                      .queries = length,
                                      .keys = length,
                                      .head_dimension = 128,
                                      .value_dimension = 128,
                                      .mask = Mask::kFull});
    EXPECT_GT(additive.Time(op).time, overlapped.Time(op).time) << length;
  }
}

TEST(KernelTimer, AChipWithoutACacheSaysWhatItLacks) {
  pb::Chip proto = *Catalog().Chip("h100_sxm");
  proto.clear_cache();
  const auto timer =
      KernelTimer::Create(*Chip::FromProto(proto), PresetKernels("h100_sxm"));
  EXPECT_THAT(timer, StatusIs(absl::StatusCode::kInvalidArgument,
                              testing::HasSubstr("cache: not set")));
}

// The H800 is an H100 to a kernel: with the same kernels they take the same
// time, with those of another library another. What was not measured on a chip
// says so.
TEST(KernelTimer, TimesAreThoseOfTheLibrary) {
  const Op op = OpOf(Gemm{.m = 512, .n = 4096, .k = 4096});
  const auto time = [&](const char* chip, const char* kernels_of) {
    return KernelTimer::Create(PresetChip(chip), PresetKernels(kernels_of))
        ->Time(op);
  };
  EXPECT_EQ(time("h800_sxm", "h100_sxm").time,
            time("h100_sxm", "h100_sxm").time);
  EXPECT_NE(time("h800_sxm", "h800_sxm").time,
            time("h800_sxm", "h100_sxm").time);
  EXPECT_EQ(time("h100_sxm", "h100_sxm").provenance, Provenance::kModel);
  EXPECT_EQ(time("h800_sxm", "h100_sxm").provenance, Provenance::kExtrapolated);
  EXPECT_EQ(time("b200_sxm", "b200_sxm").provenance, Provenance::kModel);
  EXPECT_EQ(time("gb200", "gb200").provenance, Provenance::kExtrapolated);
}

TEST(OpTimeCache, RemembersWhatTheTimerSaid) {
  const Chip chip = PresetChip("a100_sxm_80");
  const KernelTimer timer = TimerOf(chip);
  OpTimeCache cache(timer);
  Rng rng(4, "cache");
  std::vector<Op> ops;
  for (int i = 0; i < 100; ++i) ops.push_back(OpOf(RandomWork(rng, i % 4)));
  for (int round = 0; round < 2; ++round) {
    for (const Op& op : ops) {
      EXPECT_EQ(cache.Time(op).time, timer.Time(op).time);
    }
  }
  EXPECT_EQ(cache.size(), ops.size());
}

// A rate that is stated at 2 GHz is half of it at 1 GHz, whatever the clock of
// the other rates.
TEST(KernelChip, ScalesARateFromTheClockItIsStatedAt) {
  pb::Chip proto = *Catalog().Chip("h100_sxm");
  proto.set_vector_rate("60 TFLOP/s");
  proto.set_vector_clock("2 GHz");
  proto.clear_peak();
  for (const auto& [dtype, rate, clock] :
       {std::tuple{pb::FP32, "50 TFLOP/s", "2 GHz"},
        std::tuple{pb::BF16, "900 TFLOP/s", ""}}) {
    pb::Rate& peak = *proto.add_peak();
    peak.set_dtype(dtype);
    peak.set_rate(rate);
    if (*clock != '\0') peak.set_clock(clock);
  }
  proto.set_clock("1.8 GHz");
  const absl::StatusOr<Chip> chip = Chip::FromProto(proto);
  ASSERT_OK(chip.status());
  const Kernels kernels = PresetKernels("h100_sxm");
  ASSERT_OK_AND_ASSIGN(
      const KernelChip at_1_ghz,
      KernelChip::Create(*chip, kernels, {.clock = Hertz(1e9)}));
  EXPECT_DOUBLE_EQ(at_1_ghz.vector_rate, 30e12);
  const double share = kernels.constants().matrix_efficiency;
  EXPECT_NEAR(at_1_ghz.UnitRate(DType::kFp32) * at_1_ghz.units, 25e12 * share,
              1e3);
  EXPECT_NEAR(at_1_ghz.UnitRate(DType::kBf16) * at_1_ghz.units, 500e12 * share,
              1e3);
}

}  // namespace
}  // namespace orrery
