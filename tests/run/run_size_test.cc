// Predictions of what a run takes, against runs.
#include "run/run_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/format.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// A prediction is worth its refusal if it is right within this factor.
constexpr double kFactor = 2;

TEST(RunSize, IsRefusedWithTheNumbersAboveTheBudget) {
  // 90 B x 10^7 tasks of roles, 8 B x 10^8 of ranks: 1.7 GB.
  const RunSize size = {.role_tasks = 10'000'000,
                        .rank_places = 100'000'000,
                        .rank_tasks = 100'000'000};
  EXPECT_EQ(size.total(), Bytes(1'700'000'000));
  EXPECT_OK(CheckRunSize(size, Bytes(1'700'000'000)));
  const absl::Status refused = CheckRunSize(size, Bytes(1'000'000'000));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("1e+08 tasks"));
  EXPECT_THAT(refused.message(), HasSubstr("1.58 GiB"));
  EXPECT_THAT(refused.message(), HasSubstr("--memory"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

struct Case {
  const char* name;
  std::vector<std::string> words;
};

class Forecasts : public testing::TestWithParam<Case> {};

// "would take about 1.2 GiB": what the program says of a run it refuses.
double Predicted(const std::string& refusal) {
  const std::string before = "would take about ";
  const size_t begin = refusal.find(before);
  EXPECT_NE(begin, std::string::npos) << refusal;
  if (begin == std::string::npos) return 0;
  // Rounded, so not a whole number of bytes.
  char* unit = nullptr;
  const double number =
      std::strtod(refusal.c_str() + begin + before.size(), &unit);
  return number * (std::string(unit).starts_with(" GiB") ? 0x1p30 : 0x1p20);
}

TEST_P(Forecasts, AreRightWithinTheirFactor) {
  std::vector<std::string> words = GetParam().words;
  const int64_t idle = RunOrrery({"show", "quickstart"}).peak_rss_bytes;
  words.insert(words.end(), {"--memory", "64MiB"});
  const ProgramResult refused = RunOrrery(words);
  ASSERT_EQ(refused.exit_code, 2) << refused.err;
  // It took no more to say no.
  EXPECT_LT(refused.peak_rss_bytes, idle + (int64_t{64} << 20));
  words.back() = "3GiB";
  const ProgramResult ran = RunOrrery(words);
  ASSERT_LE(ran.exit_code, 1) << ran.err;
  const double predicted = Predicted(refused.err);
  const auto took = static_cast<double>(ran.peak_rss_bytes - idle);
  EXPECT_LT(took, predicted * kFactor) << refused.err;
  EXPECT_GT(took, predicted / kFactor) << refused.err;
}

// Of GPIPE, whose micro-batches are no loop, and of what is recorded.
INSTANTIATE_TEST_SUITE_P(
    Runs, Forecasts,
    testing::Values(Case{"ManyMicroBatches",
                         {"simulate", "quickstart", "--set",
                          "training.schedule=GPIPE", "--set",
                          "training.global_batch=8192"}},
                    Case{"Recorded",
                         {"explain", "quickstart", "--no-sensitivities",
                          "--set", "training.global_batch=4096"}},
                    Case{"Unfolded",
                         {"simulate", "quickstart", "--fold=off", "--set",
                          "training.schedule=GPIPE", "--set",
                          "training.global_batch=8192"}}),
    [](const auto& one) { return std::string(one.param.name); });

// Of plans for every group of thousands of ranks: rings and trees, experts,
// sharded states on a torus, and message by message.
INSTANTIATE_TEST_SUITE_P(
    Transfers, Forecasts,
    testing::Values(
        Case{"Rings",
             {"simulate", "quickstart", "--fold=off", "--kernels", "merged",
              "--set", "system.nodes=512", "--set",
              "training.global_batch=2048"}},
        Case{"Experts",
             {"simulate", "mixtral_8x7b_128", "--fold=off", "--kernels",
              "merged", "--set", "system.nodes=512", "--set",
              "training.parallel.data=1024", "--set",
              "training.global_batch=4096"}},
        Case{"ShardedOnATorus",
             {"simulate", "quickstart", "--fold=off", "--kernels", "merged",
              "--set", "system.preset=tpu_v5p_pod", "--set", "system.nodes=512",
              "--set", "training.parallel.tensor=4", "--set",
              "training.global_batch=2048", "--set",
              "training.sharding=ZERO_3"}},
        Case{"MessageByMessage",
             {"simulate", "quickstart", "--fidelity", "STEPPED", "--kernels",
              "merged", "--set", "system.nodes=192", "--set",
              "training.global_batch=384", "--set", "model.layers=4", "--set",
              "training.parallel.pipeline=1"}}),
    [](const auto& one) { return std::string(one.param.name); });

// Message by message every group has plans of its own: one of each size is made
// before the answer.
TEST(Memory, OfTransfersIsForeseen) {
  const ProgramResult result =
      RunOrrery({"simulate", "quickstart", "--fidelity", "STEPPED", "--set",
                 "system.nodes=256", "--set", "training.global_batch=2048",
                 "--memory", "100MiB"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("would take about"));
  EXPECT_THAT(result.err, HasSubstr("transfers "));
  EXPECT_LT(result.peak_rss_bytes, int64_t{100} << 20);
}

// The first is refused for what it would take, the others by the plan's rules;
// the last is the most that the field may hold.
TEST(Memory, IsNotTakenBeforeARefusal) {
  for (const char* batch : {"262144", "8388608", "16777216"}) {
    const ProgramResult result = RunOrrery(
        {"simulate", "quickstart", "--set", "training.schedule=GPIPE", "--set",
         fmt::format("training.global_batch={}", batch), "--memory", "1GiB"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_LT(result.peak_rss_bytes, int64_t{256} << 20) << batch;
    EXPECT_THAT(result.err, AnyOf(HasSubstr("more than the 1 GiB it may take"),
                                  HasSubstr("at most 65536 can be simulated")))
        << batch;
  }
}

// A hundred times the micro-batches: a loop has more turns, and no more room.
TEST(Memory, DoesNotGrowWithMicroBatches) {
  const auto peak = [](const char* batch) {
    const ProgramResult result =
        RunOrrery({"simulate", "quickstart", "--set",
                   fmt::format("training.global_batch={}", batch)});
    EXPECT_LE(result.exit_code, 1) << result.err;
    return result.peak_rss_bytes;
  };
  constexpr int64_t kNoise = int64_t{4} << 20;
  EXPECT_LT(peak("25600"), peak("256") + kNoise);
}

// What no prediction foresees meets the limit of the process.
TEST(Memory, BeyondTheBudgetEndsInWords) {
  const ProgramResult result =
      RunOrrery({"collective", "--system", "dgx_h100_ib400", "--nodes", "100",
                 "--op", "all_to_all", "--size", "1MB", "--fidelity", "STEPPED",
                 "--memory", "64MiB"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_LT(result.peak_rss_bytes, int64_t{128} << 20);
  EXPECT_THAT(result.err, HasSubstr("--memory"));
}

#endif

TEST(Memory, IsAQuantity) {
  for (const char* memory : {"1 KB", "lots", "0 GB", "-1 GB"}) {
    const ProgramResult result =
        RunOrrery({"simulate", "quickstart", "--memory", memory});
    EXPECT_EQ(result.exit_code, 2) << memory;
    EXPECT_THAT(result.err, HasSubstr("--memory")) << memory;
  }
}

}  // namespace
}  // namespace orrery
