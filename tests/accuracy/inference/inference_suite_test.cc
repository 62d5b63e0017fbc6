// Published inference measurements: what a row says is honoured or refused, and
// how far predictions are off.
#include "accuracy/inference/inference_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accuracy/inference/inference_row.h"
#include "tests/accuracy/table/tables.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::HasSubstr;

constexpr char kHeader[] =
    "id,source_id,hardware,num_gpus,model,weight_precision,framework,tp,"
    "scenario,batch_size,request_rate,input_len,output_len,e2e_latency_ms\n";

absl::StatusOr<InferenceRow> Read(const std::string& row) {
  const MeasurementTable table = Table(kHeader + row + "\n");
  auto systems = OpenInferenceSystems();
  CHECK(systems.ok()) << systems.status().ToString();
  return ReadInferenceRow(table.rows()[0], *systems);
}

TEST(InferenceRows, ARowBecomesAScenario) {
  ASSERT_OK_AND_ASSIGN(
      const InferenceRow row,
      Read("A,mine,A100-80GB-SXM,4,Llama2-70B,int4,vLLM,4,static batch,8,,100,"
           "50,9000"));
  const InferencePlan& plan = *row.scenario.inference();
  EXPECT_EQ(plan.batch(), 8);
  EXPECT_EQ(plan.decode().degrees.tensor, 4);
  EXPECT_EQ(plan.stored_weight(), DType::kInt4);
  EXPECT_EQ(plan.precision(), DType::kBf16);
  EXPECT_EQ(row.measured_s, 9);
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
    EXPECT_THAT(Read(row).status().message(), HasSubstr(column)) << row;
  }
}

// Every source meets its bar but DeepSeek's profile, of whose two rows one is
// 14 % too fast and the other 13 % too slow, and the Llama 2 figures, of which
// one row is 12.8 % off where 12 % are the bar (docs/accuracy.md).
TEST(InferenceSuite, SourcesMeetTheirBars) {
  ASSERT_OK_AND_ASSIGN(const AccuracyTable table,
                       RunInferenceSuite(std::nullopt));
  EXPECT_EQ(table.rows().size(), 421u);
  for (const AccuracyGroup& group : table.groups()) {
    const bool misses = group.key.subject == "deepseek_profile" ||
                        group.key.subject == "nemo_llama2";
    EXPECT_EQ(group.met(), !misses || !group.key.part.empty())
        << group.key.subject << " " << group.errors.median;
  }
}

}  // namespace
}  // namespace orrery
