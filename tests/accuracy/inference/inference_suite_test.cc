// Published inference measurements: what a row says is honoured or refused, and
// how far predictions are off.
#include "accuracy/inference/inference_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "accuracy/inference/inference_row.h"
#include "tests/accuracy/table/tables.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::HasSubstr;

constexpr char kHeader[] =
    "id,source_id,hardware,num_gpus,model,weight_precision,framework,tp,"
    "scenario,batch_size,request_rate,input_len,output_len,e2e_latency_ms\n";

absl::StatusOr<InferenceRow> ReadRequest(const std::string& row) {
  const MeasurementTable table = Table(kHeader + row + "\n");
  auto rules = OpenInferenceRules();
  CHECK(rules.ok()) << rules.status().ToString();
  return ReadInferenceRow(table.rows()[0], *rules);
}

TEST(InferenceRows, ARowBecomesAScenario) {
  ASSERT_OK_AND_ASSIGN(
      const InferenceRow row,
      ReadRequest(
          "A,mine,A100-80GB-SXM,4,Llama2-70B,int4,vLLM,4,static batch,8,,100,"
          "50,9000"));
  const InferencePlan& plan = *row.scenario.inference();
  EXPECT_EQ(plan.batch(), 8);
  EXPECT_EQ(plan.decode().degrees.tensor, 4);
  EXPECT_EQ(plan.stored_weight(), DType::kInt4);
  EXPECT_EQ(plan.precision(), DType::kBf16);
  EXPECT_EQ(row.measured_s, 9);
}

// Every model of the catalogue, as people spell it.
TEST(InferenceRows, ModelsAreKnownInAnySpelling) {
  const std::pair<const char*, const char*> names[] = {
      {"GPT-89B", "gpt_89b"},
      {"Megatron-530B", "megatron_530b"},
      {"GPT-3-175B", "gpt3_175b"},
      {"Llama-3.1-70B", "llama3_70b"},
      {"Llama3.3-70B", "llama3_70b"},
      {"Mixtral-8x22B", "mixtral_8x22b"},
      {"Qwen3-235B-A22B", "qwen3_235b_a22b"},
      {"DeepSeek-R1", "deepseek_v3"},
      {"gpt_20b", "gpt_20b"}};
  for (const auto& [name, preset] : names) {
    ASSERT_OK_AND_ASSIGN(
        const InferenceRow row,
        ReadRequest(std::string("A,mine,A100-80GB-SXM,8,") + name +
                    ",fp16,vLLM,8,static batch,8,,100,50,9000"));
    EXPECT_EQ(row.scenario.model.name(), preset) << name;
  }
}

// TensorRT-LLM keeps to no window unless it is told to; vLLM does.
TEST(InferenceRows, AnEngineMayAttendToAllTokens) {
  const auto window = [](const std::string& framework) {
    const absl::StatusOr<InferenceRow> row =
        ReadRequest("A,mine,A100-80GB-SXM,1,Mistral-7B,fp16," + framework +
                    ",1,static batch,8,,100,50,9000");
    CHECK(row.ok()) << row.status().ToString();
    return row->scenario.model.Window(0);
  };
  EXPECT_EQ(window("vLLM"), 4096);
  EXPECT_EQ(window("TensorRT-LLM 0.17"), std::nullopt);
}

// What is known of how rows ran: a release by its year, a server by what its
// source says.
TEST(InferenceRows, EnginesAreThoseOfTheirTime) {
  const auto read = [](const std::string& source, const std::string& date,
                       const std::string& model, const std::string& framework) {
    const MeasurementTable table = Table(
        "id,source_id,date,hardware,num_gpus,model,weight_precision,framework,"
        "tp,scenario,batch_size,input_len,output_len,e2e_latency_ms\nA," +
        source + "," + date + ",A100-80GB-SXM,8," + model + ",fp16," +
        framework + ",8,static batch,8,100,50,9000\n");
    const auto rules = OpenInferenceRules();
    CHECK(rules.ok()) << rules.status().ToString();
    const auto row = ReadInferenceRow(table.rows()[0], *rules);
    CHECK(row.ok()) << row.status().ToString();
    return row->scenario.inference()->engine().name;
  };
  EXPECT_EQ(
      read("fastertransformer", "2022-2023", "GPT-3-175B", "FasterTransformer"),
      "fastertransformer_4");
  EXPECT_EQ(
      read("fastertransformer", "2022-2023", "GPT-20B", "FasterTransformer"),
      "fastertransformer");
  EXPECT_EQ(read("mine", "2022-2023", "GPT-3-175B", "FasterTransformer"),
            "fastertransformer");
  EXPECT_EQ(read("mine", "2024-10", "GPT-20B", "vLLM"), "vllm_2024");
  EXPECT_EQ(read("mine", "2025-06", "GPT-20B", "vLLM"), "vllm");
  EXPECT_EQ(read("mine", "", "GPT-20B", "vLLM"), "vllm");
}

TEST(InferenceRows, WhatCannotBePredictedIsRefusedWithItsColumn) {
  const std::pair<const char*, const char*> rows[] = {
      {"A,m,A100-80GB-SXM,4,Llama2-70B,fp16,vLLM,4,static batch,8,2.5,100,50,9",
       "request_rate"},
      {"A,m,A100-80GB-SXM,4,Llama9-70B,fp16,vLLM,4,static batch,8,,100,50,9",
       "model"},
      {"A,m,Z100,4,Llama2-70B,fp16,vLLM,4,static batch,8,,100,50,9",
       "hardware"},
      {"A,m,A100-80GB-SXM,4,Llama2-70B,fp16,mine,4,static batch,8,,100,50,9",
       "framework"},
      {"A,m,A100-80GB-SXM,5,Llama2-70B,fp16,vLLM,4,static batch,8,,100,50,9",
       "num_gpus"},
      {"A,m,A100-80GB-SXM,4,Llama2-70B,fp16,vLLM,4,dreamt,8,,100,50,9",
       "scenario"}};
  for (const auto& [row, column] : rows) {
    EXPECT_THAT(ReadRequest(row).status().message(), HasSubstr(column)) << row;
  }
}

// What is off by how much is in docs/accuracy.md.
TEST(InferenceSuite, SourcesMeetTheirBars) {
  ASSERT_OK_AND_ASSIGN(const AccuracyTable table,
                       RunInferenceSuite(std::nullopt));
  EXPECT_EQ(table.rows().size(), 513u);
  for (const AccuracyGroup& group : table.groups()) {
    EXPECT_TRUE(group.met()) << group.key.subject << " " << group.errors.median;
    // Chips by themselves as well.
    EXPECT_LE(group.errors.median, 0.12)
        << group.key.subject << " " << group.key.part;
  }
  // The knee: how much longer 32 requests take than one, GPT-3 175B.
  const auto row = [&](const char* id) -> const AccuracyRow& {
    const auto found =
        std::find_if(table.rows().begin(), table.rows().end(),
                     [&](const AccuracyRow& each) { return each.id == id; });
    CHECK(found != table.rows().end()) << id;
    return *found;
  };
  const AccuracyRow& one = row("I00080");
  const AccuracyRow& many = row("I00094");
  EXPECT_NEAR(many.predicted / one.predicted, many.measured / one.measured,
              0.1 * many.measured / one.measured);
}

}  // namespace
}  // namespace orrery
