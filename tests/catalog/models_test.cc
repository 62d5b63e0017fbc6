// Every model of the catalogue: it loads, cites its source, and has as many
// parameters as its authors say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "proto/model.pb.h"
#include "tests/status_matchers.h"
#include "workload/model/kv_cache.h"
#include "workload/model/model.h"
#include "workload/model/parameters.h"

namespace orrery {
namespace {

using testing::IsSupersetOf;
using testing::MatchesRegex;

// Ours against the published count: half a percent, or the rounding of what was
// published if that is coarser. A name of one digit ("8B") is no count: a unit
// above a tenth of the number does not widen the tolerance.
constexpr double kTolerance = 0.005;
constexpr double kCoarsestUnit = 0.1;

bool Agrees(double ours, double published, double unit) {
  const double rounding = unit <= kCoarsestUnit * published ? unit / 2 : 0;
  return std::abs(ours - published) <=
         std::max(kTolerance * published, rounding);
}

TEST(AgreementOfCounts, IsHalfAPercentOrHalfAUnitOfTheLastDigit) {
  EXPECT_TRUE(Agrees(8.030e9, 8.03e9, 1e7));
  EXPECT_TRUE(Agrees(1.652e9, 1.7e9, 1e8)) << "1.652 rounds to 1.7";
  EXPECT_FALSE(Agrees(1.63e9, 1.7e9, 1e8)) << "1.63 rounds to 1.6";
  EXPECT_FALSE(Agrees(8.4e9, 8e9, 1e9)) << "one digit is a name";
  EXPECT_FALSE(Agrees(101e9, 100e9, 1e8));
}

class CatalogModel : public testing::TestWithParam<std::string> {
 protected:
  pb::Model Load() const {
    auto proto = Catalog().Model(GetParam());
    EXPECT_OK(proto);
    return proto.ok() ? *proto : pb::Model();
  }
};

TEST_P(CatalogModel, IsValidAndNamedAfterItsFile) {
  const pb::Model proto = Load();
  EXPECT_EQ(proto.name(), GetParam());
  EXPECT_FALSE(proto.description().empty());
  EXPECT_OK(Model::FromProto(proto));
}

TEST_P(CatalogModel, CitesItsSources) {
  const pb::Model proto = Load();
  ASSERT_GT(proto.source_size(), 0);
  for (const pb::Source& source : proto.source()) {
    EXPECT_FALSE(source.title().empty());
    EXPECT_FALSE(source.covers().empty());
    EXPECT_THAT(source.retrieved(), MatchesRegex("20..-..-.."));
    EXPECT_THAT(source.url(), MatchesRegex("https://.*"));
  }
}

// A note is there exactly when it is needed: a stale excuse is an error too.
TEST_P(CatalogModel, HasThePublishedParametersOrSaysWhyNot) {
  const pb::Model proto = Load();
  ASSERT_OK_AND_ASSIGN(const Model model, Model::FromProto(proto));
  ASSERT_TRUE(proto.has_published_parameters() && proto.has_published_unit());
  const auto total = static_cast<double>(TotalParameters(model).main());
  bool agrees =
      Agrees(total, proto.published_parameters(), proto.published_unit());
  double active = total;
  if (model.moe()) {
    ASSERT_TRUE(proto.has_published_active_parameters() &&
                proto.has_published_active_unit());
    const ParameterCount count = ActiveParameters(model);
    active = static_cast<double>(
        count.main() -
        (proto.published_active_without_embedding() ? count.embedding : 0));
    agrees = agrees && Agrees(active, proto.published_active_parameters(),
                              proto.published_active_unit());
  } else {
    EXPECT_FALSE(proto.has_published_active_parameters());
  }
  EXPECT_EQ(agrees, proto.parameter_note().empty())
      << "total " << total << ", published " << proto.published_parameters()
      << "; active " << active << ", published "
      << proto.published_active_parameters() << "; note '"
      << proto.parameter_note() << "'";
}

INSTANTIATE_TEST_SUITE_P(Presets, CatalogModel,
                         testing::ValuesIn(Catalog().Names("models")),
                         [](const auto& preset) { return preset.param; });

// The models of published training and inference measurements.
TEST(CatalogModels, CoverThePublishedMeasurements) {
  EXPECT_THAT(
      Catalog().Names("models"),
      IsSupersetOf(std::vector<std::string>{
          "gpt_1_7b",      "gpt_3_6b",      "gpt_7_5b",       "gpt_18b",
          "gpt_39b",       "gpt_76b",       "gpt_145b",       "gpt_310b",
          "gpt_530b",      "gpt_1t",        "gpt_22b",        "gpt3_175b",
          "gpt_89b",       "megatron_530b", "gpt_20b",        "gpt_6_7b",
          "gpt_1_3b",      "gpt_350m",      "gpt3_5b",        "gpt3_20b",
          "gpt_h100_1_7b", "gpt_h100_7_1b", "gpt_h100_16b",   "gpt_h100_32b",
          "gpt_h100_70b",  "gpt_h100_119b", "gpt_h100_177b",  "gpt_h100_314b",
          "gpt_h100_462b", "llama2_7b",     "llama2_13b",     "llama2_70b",
          "llama3_8b",     "llama3_70b",    "llama3_405b",    "deepseek_v3",
          "deepseek_v2",   "kimi_k2",       "qwen3_30b_a3b",  "qwen3_235b_a22b",
          "gpt_oss_120b",  "gpt_oss_20b",   "mixtral_8x7b",   "mixtral_8x22b",
          "nemotron_8b",   "nemotron_22b",  "nemotron_340b",  "mpt_125m",
          "mpt_350m",      "mpt_760m",      "mpt_1b",         "mpt_3b",
          "mpt_7b",        "mpt_13b",       "mpt_30b",        "mpt_70b",
          "maxtext_16b",   "maxtext_32b",   "maxtext_64b",    "maxtext_128b",
          "maxtext_256b",  "maxtext_512b",  "maxtext_1024b",  "maxtext_22b",
          "maxtext_52b",   "hf_1_34b",      "hf_3_57b",       "hf_8_86b",
          "hf_80b",        "hf_469b",       "palm_540b",      "palm_62b",
          "opt_175b",      "bloom_176b",    "gpt_j_6b",       "falcon_180b",
          "mistral_7b",    "llama4_scout",  "llama4_maverick"}));
}

// Bytes per token of a 16-bit cache: twice layers * key-value heads * head
// width
// * 2 bytes; for DeepSeek-V3 61 * (512 + 64) * 2.
TEST(CatalogModels, HaveTheKnownCacheSizes) {
  const auto per_token = [](const std::string& name) {
    return KvCacheBytesPerToken(*Model::FromProto(*Catalog().Model(name)), 16);
  };
  EXPECT_EQ(per_token("llama2_7b"), Bytes(524'288));
  EXPECT_EQ(per_token("llama2_70b"), Bytes(327'680));
  EXPECT_EQ(per_token("llama3_70b"), Bytes(327'680));
  EXPECT_EQ(per_token("llama3_8b"), Bytes(131'072));
  EXPECT_EQ(per_token("llama3_405b"), Bytes(516'096));
  EXPECT_EQ(per_token("gpt3_175b"), Bytes(4'718'592));
  EXPECT_EQ(per_token("deepseek_v3"), Bytes(70'272));
}

// A layer with a window keeps the last tokens only; global layers keep all
// 100 000. A token takes 2 * heads * width * 2 bytes in each layer that keeps
// it.
//                 global layers   window   bytes of a token and layer
//   gemma3_27b         10 of 62     1024                         8192
//   gemma3_12b          8 of 48     1024                         8192
//   gemma2_9b          21 of 42     4096                         8192
//   gpt_oss_120b       18 of 36      128                         2048
//   llama4_scout       12 of 48     8192                         4096
//   mistral_7b          0 of 32     4096                         4096
TEST(CatalogModels, WindowsKeepTheKnownPartOfTheCache) {
  constexpr int64_t kTokens = 100'000;
  const auto cache = [](const std::string& name) {
    return KvCacheBytes(*Model::FromProto(*Catalog().Model(name)), kTokens, 16);
  };
  EXPECT_EQ(cache("gemma3_27b"), Bytes((10 * kTokens + 52 * 1024) * 8192));
  EXPECT_EQ(cache("gemma3_12b"), Bytes((8 * kTokens + 40 * 1024) * 8192));
  EXPECT_EQ(cache("gemma2_9b"), Bytes((21 * kTokens + 21 * 4096) * 8192));
  EXPECT_EQ(cache("gpt_oss_120b"), Bytes((18 * kTokens + 18 * 128) * 2048));
  EXPECT_EQ(cache("llama4_scout"), Bytes((12 * kTokens + 36 * 8192) * 4096));
  EXPECT_EQ(cache("mistral_7b"), Bytes(32 * int64_t{4096} * 4096));
}

// DeepSeek-V3's README_WEIGHTS gives 11.5B unique parameters, to a tenth of a
// billion. The block alone has 11.51B; with the projection of 2 * 7168 * 7168 =
// 0.10B that we count it would have to read 11.6B.
TEST(CatalogModels, DeepSeekPredictionModuleHasItsPublishedSize) {
  ASSERT_OK_AND_ASSIGN(const Model model,
                       Model::FromProto(*Catalog().Model("deepseek_v3")));
  const double projection = 2.0 * 7168 * 7168;
  EXPECT_NEAR(static_cast<double>(TotalParameters(model).mtp) - projection,
              11.5e9, 0.05e9);
}

}  // namespace
}  // namespace orrery
