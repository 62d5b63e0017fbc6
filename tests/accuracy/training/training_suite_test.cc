// Published training runs: what a row says is honoured or refused, and rows
// become steps.
#include "accuracy/training/training_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "accuracy/training/training_row.h"
#include "base/format.h"
#include "tests/accuracy/table/tables.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using absl::StatusCode::kInvalidArgument;
using testing::AllOf;
using testing::HasSubstr;

using Fields = std::map<std::string, std::string>;

// A small model on one node, as a table of one row with `changes`.
std::string RowWith(const Fields& changes) {
  Fields fields = {{"id", "A"},           {"source_id", "mine"},
                   {"model", "GPT-2B"},   {"framework", "Megatron-LM"},
                   {"date", "2022-05"},   {"hardware", "A100-80GB-SXM"},
                   {"num_gpus", "8"},     {"gpus_per_node", "8"},
                   {"layers", "8"},       {"hidden", "4096"},
                   {"ffn", "16384"},      {"heads", "32"},
                   {"vocab", "51200"},    {"seq_len", "2048"},
                   {"global_batch", "8"}, {"micro_batch", "1"},
                   {"tp", "4"},           {"pp", "1"},
                   {"recompute", "full"}, {"precision", "fp16"},
                   {"step_time_s", "1"}};
  for (const auto& [column, value] : changes) fields[column] = value;
  std::string header;
  std::string row;
  for (const auto& [column, value] : fields) {
    header += (header.empty() ? "" : ",") + column;
    row += (row.empty() ? "" : ",") + value;
  }
  return header + "\n" + row + "\n";
}

absl::StatusOr<TrainingRow> Read(const Fields& changes) {
  const MeasurementTable table = Table(RowWith(changes));
  auto rules = TrainingRules::Open();
  CHECK(rules.ok()) << rules.status().ToString();
  return ReadTrainingRow(table.rows()[0], *rules);
}

TEST(TrainingRow, SaysWhatItRan) {
  ASSERT_OK_AND_ASSIGN(const TrainingRow row,
                       Read({{"dp", "2"}, {"mem_gb", "41.5"}}));
  EXPECT_EQ(row.plan, "TP 4 PP 1 v 1 DP 2 b 1, full");
  EXPECT_EQ(row.memory_gib, 41.5);
  const pb::Scenario& s = row.scenario.proto;
  EXPECT_EQ(s.system().name(), "dgx_a100_hdr200");
  EXPECT_EQ(s.training().sharding(), pb::Training::ZERO_0);
  EXPECT_EQ(s.framework().name(), "megatron_lm_2022");
  EXPECT_EQ(s.training().attention_kernel(), pb::Training::UNFUSED);
  EXPECT_EQ(s.model().attention().kv_heads(), 32);
}

// The attention a framework would rather run, where there is one for the chip.
TEST(TrainingRow, RunsTheAttentionOfItsFramework) {
  const auto attention = [](const Fields& changes) {
    const auto row = Read(changes);
    CHECK(row.ok()) << row.status().ToString();
    return row->scenario.proto.kernels().attention();
  };
  const Fields core = {{"framework", "Megatron-Core"}};
  EXPECT_EQ(attention(core), "fa2");
  Fields hopper = core;
  hopper["hardware"] = "H100-80GB-SXM";
  EXPECT_EQ(attention(hopper), "cudnn");
  hopper["framework"] = "nanotron";
  EXPECT_EQ(attention(hopper), "fa2");
}

TEST(TrainingRow, RecomputesSomeLayers) {
  ASSERT_OK_AND_ASSIGN(
      const TrainingRow row,
      Read({{"recompute", "full on 5 of 8 layers (a recipe)"}}));
  EXPECT_EQ(row.scenario.proto.training().recompute(),
            pb::Training::RECOMPUTE_FULL);
  EXPECT_EQ(row.scenario.proto.training().recompute_layers(), 5);
  EXPECT_THAT(Read({{"recompute", "full on some layers"}}).status().message(),
              HasSubstr("'recompute' must be full on a number of layers"));
}

TEST(TrainingRow, HonoursWhatIsSet) {
  ASSERT_OK_AND_ASSIGN(const TrainingRow row,
                       Read({{"kv_heads", "8"},
                             {"cp", "2"},
                             {"framework", "Megatron-Core"},
                             {"sharding", "zero3"},
                             {"seq_parallel", "yes"},
                             {"recompute", "selective (attention core)"},
                             {"precision", "bf16 (fp32 grad accumulation)"}}));
  const pb::Scenario& s = row.scenario.proto;
  EXPECT_EQ(s.model().attention().kind(), pb::Attention::GQA);
  EXPECT_EQ(s.model().attention().kv_heads(), 8);
  EXPECT_EQ(s.training().parallel().context(), 2);
  EXPECT_EQ(s.training().parallel().data(), 1);
  EXPECT_EQ(s.training().attention_kernel(), pb::Training::FLASH);
  EXPECT_EQ(s.training().sharding(), pb::Training::ZERO_3);
  EXPECT_TRUE(s.training().parallel().sequence_parallel());
  EXPECT_EQ(s.training().precision(), pb::BF16);
  EXPECT_TRUE(row.selective);
  EXPECT_EQ(row.plan,
            "TP 4 PP 1 v 1 DP 1 CP 2 b 1, selective (attention core), SP");
}

TEST(TrainingRow, RunsOnTheSystemItNames) {
  ASSERT_OK_AND_ASSIGN(const TrainingRow opa,
                       Read({{"interconnect", "4x Omni-Path per node"}}));
  EXPECT_EQ(opa.scenario.proto.system().name(), "a100_opa100x4");
  // An H100 computes in FP8, an A100 does not.
  ASSERT_OK_AND_ASSIGN(const TrainingRow h100,
                       Read({{"hardware", "H100"},
                             {"system", "dgx_h100_ib400"},
                             {"precision", "fp8"}}));
  EXPECT_EQ(h100.scenario.proto.training().precision(), pb::FP8);
  EXPECT_THAT(Read({{"precision", "fp8"}}),
              StatusIs(kInvalidArgument, HasSubstr("precision")));
}

TEST(TrainingRow, IsRefusedWithTheColumnItCannotHonour) {
  const std::pair<const char*, const char*> wrong[] = {
      {"hardware", "Z80"},
      {"hardware", ""},
      {"framework", "Notepad"},
      {"interconnect", "carrier pigeons"},
      {"model", "Eliza-7B"},
      {"layers", ""},
      {"layers", "8.5"},
      {"heads", "31"},
      {"kv_heads", "5"},
      {"dp", "4"},
      {"vp", "none"},
      {"sharding", "zero9"},
      {"seq_parallel", "maybe"},
      {"recompute", "some"},
      {"precision", "int3"},
      {"gpus_per_node", "4"},
      {"step_time_s", "-1"},
      {"mem_gb", "much"},
      {"mem_counts", "all of it"}};
  for (const auto& [column, value] : wrong) {
    EXPECT_THAT(Read({{column, value}}),
                StatusIs(kInvalidArgument,
                         HasSubstr(fmt::format("column '{}' must", column))))
        << value;
  }
  // 8 chips do not divide into 4 x 3.
  EXPECT_THAT(Read({{"cp", "3"}}),
              StatusIs(kInvalidArgument, AllOf(HasSubstr("column 'num_gpus'"),
                                               HasSubstr("tp x pp x cp"))));
  EXPECT_THAT(std::string(Read({{"system", "nosuch"}}).status().message()),
              HasSubstr("system.preset: there is no system 'nosuch'"));
}

// Names are text, whatever is in them.
TEST(TrainingRow, AnIdMayHoldQuotes) {
  EXPECT_OK(Read({{"id", "\"a \"\"b\"\" } c\""}}));
}

// What software does is its preset's to say: of two runs that differ in the
// date alone, the newer one overlaps.
TEST(TrainingRow, TakesTheFrameworkOfItsTime) {
  ASSERT_OK_AND_ASSIGN(const TrainingRow old, Read({{"date", "2021-04"}}));
  EXPECT_EQ(old.scenario.proto.framework().name(), "megatron_lm_2021");
  EXPECT_FALSE(old.scenario.proto.training().overlap_weight_gradient());
  ASSERT_OK_AND_ASSIGN(const TrainingRow later, Read({{"date", "2022-05"}}));
  EXPECT_TRUE(later.scenario.proto.training().overlap_weight_gradient());
}

// What recipes set and tables do not print: of two releases of one framework
// the older sends tokens all to all, and only it on this chip.
TEST(TrainingRow, TakesTheRecipesOfItsRelease) {
  const auto dispatch = [](const char* date, const char* hardware,
                           const char* interconnect) {
    const auto row = Read({{"framework", "Megatron-Bridge"},
                           {"date", date},
                           {"hardware", hardware},
                           {"interconnect", interconnect},
                           {"model", "Qwen3-30B-A3B"},
                           {"layers", "48"},
                           {"hidden", "2048"},
                           {"ffn", "6144"},
                           {"heads", "32"},
                           {"vocab", "151936"},
                           {"tp", "1"},
                           {"ep", "8"},
                           {"precision", "fp8-mx"}});
    CHECK(row.ok()) << row.status().ToString();
    return row->scenario.proto.training().dispatch_method();
  };
  EXPECT_EQ(dispatch("2025-09", "GB200-NVL72", "NVL72 NVLink5 domain"),
            pb::Training::DISPATCH_DIRECT);
  EXPECT_EQ(dispatch("2025-11", "GB200-NVL72", "NVL72 NVLink5 domain"),
            pb::Training::DISPATCH_BY_NODE);
}

// Its 61 layers lie as the recipe says for so many stages: 15 x 4 + 1, or with
// the head by itself 1 + 30 x 2.
TEST(TrainingRow, SpreadsLayersAsTheRecipeDoes) {
  const auto layers = [](const char* pp, const char* vp) {
    const auto row = Read({{"framework", "Megatron-Bridge"},
                           {"date", "2025-09"},
                           {"hardware", "H100-80GB-SXM"},
                           {"model", "DeepSeek-V3"},
                           {"layers", "61"},
                           {"hidden", "7168"},
                           {"ffn", "18432"},
                           {"heads", "128"},
                           {"vocab", "129280"},
                           {"num_gpus", "128"},
                           {"global_batch", "128"},
                           {"tp", "1"},
                           {"pp", pp},
                           {"vp", vp},
                           {"ep", "8"},
                           {"recompute", "none"},
                           {"precision", "bf16"}});
    CHECK(row.ok()) << row.status().ToString();
    return row->scenario.training()->layout().layers_per_stage;
  };
  std::vector<int> four(16, 4);
  four.back() = 1;
  EXPECT_EQ(layers("16", "1"), four);
  EXPECT_EQ(layers("4", "4"), four);
  std::vector<int> two(32, 2);
  two.front() = 1;
  two.back() = 0;
  EXPECT_EQ(layers("8", "4"), two);
}

// The scripts for this chip name no attention, and the product of queries and
// keys was the default of their time.
TEST(TrainingRow, RunsTheAttentionOfItsRecipe) {
  const auto attention = [](const char* hardware) {
    const auto row = Read({{"framework", "MaxText/JAX"},
                           {"date", "2023-2024"},
                           {"hardware", hardware},
                           {"gpus_per_node", "4"},
                           {"interconnect", "ICI within slice"},
                           {"model", "MaxText-22B"},
                           {"layers", "48"},
                           {"hidden", "6144"},
                           {"ffn", "24576"},
                           {"heads", "24"},
                           {"vocab", "32000"},
                           {"num_gpus", "64"},
                           {"global_batch", "64"},
                           {"tp", "1"},
                           {"precision", "bf16"}});
    CHECK(row.ok()) << row.status().ToString();
    return row->scenario.proto.training().attention_kernel();
  };
  EXPECT_EQ(attention("TPUv4"), pb::Training::UNFUSED);
  EXPECT_EQ(attention("TPUv5p"), pb::Training::FLASH);
}

TEST(TrainingRow, ReadsWhatRecipesCallTheirRecomputation) {
  const auto modules = [](const char* text) {
    const auto row = Read({{"recompute", text}, {"framework", "MaxText"}});
    CHECK(row.ok()) << row.status().ToString();
    std::vector<int> read;
    for (const int module : row->scenario.proto.training().recompute_module()) {
      read.push_back(module);
    }
    return read;
  };
  EXPECT_THAT(modules("none/selective (recipe)"), testing::IsEmpty());
  EXPECT_THAT(
      modules("\"selective: layernorm, moe_act\""),
      testing::ElementsAre(pb::Training::NORM, pb::Training::MLP_ACTIVATION));
  EXPECT_THAT(
      modules("minimal"),
      testing::ElementsAre(pb::Training::ATTENTION_CORE, pb::Training::NORM,
                           pb::Training::MLP_ACTIVATION));
}

// 96 layers over 16 stages, 1536 sequences over 8 replicas: a size that does
// not divide or does not fit is not taken.
TEST(TrainingRow, SearchesForAnUnpublishedMicroBatch) {
  ASSERT_OK_AND_ASSIGN(const TrainingRow row, Read({{"micro_batch", ""}}));
  const int size = row.scenario.training()->micro_batch();
  EXPECT_TRUE(size == 1 || size == 2 || size == 4) << size;
}

// A time may follow from the rate: 8 x 2048 tokens at 1024 per second and chip
// of 8 take 2 s.
TEST(TrainingRow, DerivesTheTimeFromTheRate) {
  ASSERT_OK_AND_ASSIGN(
      const TrainingRow row,
      Read({{"step_time_s", ""}, {"tokens_per_s_per_gpu", "1024"}}));
  EXPECT_DOUBLE_EQ(*row.measured_s, 2);
}

// Korthikanti et al., arXiv 2205.05198, count layers: 18 bytes of 12 L h^2 / t
// parameters, and L s b h (10 + 24 / t + 5 a s / (h t)) of activations. Biases
// and norms are 13 / (12 h) of the parameters. What is counted by default has
// the embedding besides, V h / t parameters, and the positions, s h.
TEST(TrainingSuite, CountsOfMemoryWhatTheRowCounts) {
  auto rules = TrainingRules::Open();
  CHECK(rules.ok()) << rules.status().ToString();
  const auto gib = [&](const char* counts, bool closed_form) {
    std::vector<MeasurementTable> tables;
    tables.push_back(Table(RowWith(
        {{"recompute", "none"}, {"mem_gb", "10"}, {"mem_counts", counts}})));
    const AccuracyTable table =
        PredictTraining(tables, *rules, {.closed_form = closed_form});
    CHECK(table.rows().size() == 1);
    return std::get<MeasuredStep>(table.rows()[0].facts).predicted_gib;
  };
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  const double l = 8, h = 4096, t = 4, s = 2048, a = 32, v = 51200;
  const double layers = (18 * 12 * l * h * h / t +
                         l * s * h * (10 + 24 / t + 5 * a * s / (h * t))) /
                        kGiB;
  const double ends = 18 * (v * h / t + s * h) / kGiB;
  for (const bool closed_form : {false, true}) {
    EXPECT_NEAR(gib("layers", closed_form) / layers, 1, 1e-3);
    EXPECT_GE(gib("tensors", closed_form), layers + ends);
    EXPECT_GT(gib("device", closed_form), gib("tensors", closed_form));
  }
}

// Rows of one scenario are run once, and rows on one machine plan with what is
// known of it: each has what it has by itself.
TEST(TrainingSuite, RowsDoNotDependOnOneAnother) {
  auto rules = TrainingRules::Open();
  CHECK(rules.ok()) << rules.status().ToString();
  const auto predicted = [&](const std::vector<Fields>& rows) {
    std::vector<MeasurementTable> tables;
    for (const Fields& row : rows) tables.push_back(Table(RowWith(row)));
    std::vector<double> times;
    const AccuracyTable table = PredictTraining(tables, *rules);
    for (const AccuracyRow& row : table.rows()) times.push_back(row.predicted);
    return times;
  };
  const std::vector<Fields> rows = {{},
                                    {{"id", "B"}, {"step_time_s", "2"}},
                                    {{"id", "C"}, {"tp", "8"}},
                                    {{"id", "D"}, {"global_batch", "16"}},
                                    {{"id", "E"}, {"num_gpus", "16"}}};
  std::vector<double> alone;
  for (const Fields& row : rows) alone.push_back(predicted({row}).at(0));
  EXPECT_EQ(predicted(rows), alone);
  EXPECT_EQ(alone[0], alone[1]);
  EXPECT_NE(alone[0], alone[2]);
}

TEST(TrainingSuite, PredictsRowsAndCountsWhatItRefuses) {
  ASSERT_OK_AND_ASSIGN(const TrainingRules rules, TrainingRules::Open());
  std::string text = RowWith({});
  const std::string other = RowWith({{"id", "B"}, {"layers", ""}});
  text += other.substr(other.find('\n') + 1);
  std::vector<MeasurementTable> tables;
  tables.push_back(Table(text));
  const AccuracyTable table = PredictTraining(tables, rules);
  ASSERT_EQ(table.rows().size(), 1u);
  EXPECT_EQ(table.rows()[0].measured, 1);
  EXPECT_GT(table.rows()[0].predicted, 0);
  EXPECT_GT(std::get<MeasuredStep>(table.rows()[0].facts).predicted_gib, 0);
  ASSERT_EQ(table.groups().size(), 2u);
  EXPECT_EQ(table.groups()[0].key.subject, "dense models");
  EXPECT_EQ(table.groups()[1].key.subject, "mine");
  EXPECT_EQ(table.groups()[1].refused, 1);
  EXPECT_THAT(table.refused()[0].ToString(),
              HasSubstr("line 3 (B): column 'layers' must be"));
  // No bar is set for a source of one's own.
  EXPECT_TRUE(table.met());
}

}  // namespace
}  // namespace orrery
