// Communication in orrery explain: the text agrees with the JSON, and calls
// take their share of the memory bandwidth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/format.h"
#include "base/json.h"
#include "base/units_text.h"
#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using testing::HasSubstr;

JsonValue ExplanationOf(std::vector<std::string> words) {
  words.insert(words.begin(), "explain");
  words.insert(words.end(), {"--no-sensitivities", "--json", "-"});
  const ProgramResult run = RunOrrery(words);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return ParseJson(run.out).value();
}

// The columns of the table of communication are the count, the total and its
// hidden and exposed parts, as the JSON has them.
TEST(ExplainCommunication, PrintsTheHiddenAndTheExposedPart) {
  const ProgramResult text =
      RunOrrery({"explain", "quickstart", "--no-sensitivities"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  const JsonValue json = ExplanationOf({"quickstart"});
  int unlike = 0;
  for (const JsonValue& c : *json.Find("communication")->array()) {
    const auto number = [&](const char* field) {
      return c.Find(field)->number()->value;
    };
    const auto seconds = [&](const char* field) {
      return SecondsText(number(field));
    };
    unlike += seconds("hidden_s") != seconds("exposed_s");
    EXPECT_THAT(text.out, HasSubstr(fmt::format(
                              "{:>6} {:>10} {:>10} {:>10} ", number("count"),
                              seconds("total_s"), seconds("hidden_s"),
                              seconds("exposed_s"))));
  }
  EXPECT_GT(unlike, 0);
}

// Calls take a share of the memory bandwidth while they run, and kernels move
// the same bytes whatever that share is. Where all chips do the same:
//   use * step = seconds of the kernels' bytes + share * seconds of all calls
TEST(ExplainCommunication, TakesItsShareOfTheMemoryBandwidth) {
  struct Use {
    double seconds = 0;  // use of the memory * step
    double calls = 0;
  };
  const auto use_with = [](double share) {
    const JsonValue json = ExplanationOf(
        {"quickstart", "--set", "training.parallel.pipeline=1", "--set",
         "training.virtual_stages=1", "--set", "training.schedule=ONE_F_ONE_B",
         "--set", fmt::format("system.collectives.memory_share={}", share)});
    Use use;
    for (const JsonValue& u : *json.Find("utilisation")->array()) {
      if (*u.Find("resource")->string() != "HBM bandwidth") continue;
      use.seconds = u.Find("mean")->number()->value *
                    json.Find("step_time_s")->number()->value;
    }
    for (const JsonValue& c : *json.Find("communication")->array()) {
      use.calls += c.Find("total_s")->number()->value;
    }
    return use;
  };
  const Use none = use_with(0);
  EXPECT_GT(none.seconds, 0);
  for (const double share : {0.1, 0.3}) {
    const Use use = use_with(share);
    EXPECT_NEAR((use.seconds - none.seconds) / (share * use.calls), 1, 1e-6)
        << share;
  }
}

}  // namespace
}  // namespace orrery
