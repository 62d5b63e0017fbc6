// Requests on paper: the times of an estimate add up, as those of a simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "run/requests/inference_report.h"
#include "tests/run/inference_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

// The first token takes the prefill and what of the transfer nothing hides, and
// a decode step where the prompt gives no token. Every other takes a step:
//   end to end = first token + (output - 1) * time of a token
TEST(EstimateInference, TheFirstTokenAndTheOthersAreAllOfTheRequest) {
  constexpr double kRounding = 1e-9;
  for (const char* name : {"llama3_70b_fp8_serving", "llama3_70b_pools"}) {
    for (const bool by_decode : {false, true}) {
      for (const int output : {1, 2, 100}) {
        SCOPED_TRACE(fmt::format("{}, {} tokens, first by {}", name, output,
                                 by_decode ? "decode" : "prefill"));
        ASSERT_OK_AND_ASSIGN(
            const ResolvedScenario scenario,
            ScenarioWith(
                name, {fmt::format("inference.engine.first_token_by_decode={}",
                                   by_decode),
                       fmt::format("inference.output={}", output)}));
        ASSERT_OK_AND_ASSIGN(const pb::Report report,
                             EstimateInference(scenario));
        const pb::Report::InferenceResult& r = report.inference();
        const double first = r.time_to_first_token_s();
        EXPECT_NEAR(first + (output - 1) * r.time_per_output_token_s(),
                    r.end_to_end_s(), kRounding * r.end_to_end_s());
        const double ready = r.prefill_s() + r.pools().exposed_transfer_s();
        if (by_decode) {
          // A step at the start of the output takes less than one later on.
          EXPECT_GT(first, ready);
          if (output > 1) {
            EXPECT_LE(first, ready + r.time_per_output_token_s());
          }
        } else {
          EXPECT_NEAR(first, ready, kRounding * ready);
        }
      }
    }
  }
}

}  // namespace
}  // namespace orrery
