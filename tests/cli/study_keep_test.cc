// What a study keeps while it searches plans to serve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using testing::HasSubstr;

TEST(StudyKeep, AStudyOfRequestsKeepsWhatTheirSearchHas) {
  const auto study = [](const std::string& kept, const std::string& tensor) {
    const std::string file = TestFile("keep_serving.textproto");
    std::ofstream(file) << "scenario: \"llama3_70b_fp8_serving\" keep: \""
                        << kept
                        << "\" set: \"inference.parallel.tensor=" << tensor
                        << "\" set: \"inference.parallel.data=4\""
                        << R"~(
      axis { path: "inference.prompt" value: "512" }
      objective { expression: "chips" }
      column { name: "per_chip" expression: "inference.decode_tokens_per_s_per_chip" }
      method: TUNE)~";
    return RunOrrery({"sweep", file, "--csv", "-"});
  };
  // What is kept is not searched: two plans apart in it have other answers.
  const auto two = study("tensor", "2");
  ASSERT_EQ(two.exit_code, 0) << two.err;
  EXPECT_NE(two.out, study("batch", "2").out);
  const auto wrong = study("schedule", "2");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("keep: 'schedule' is nothing"));
}

}  // namespace
}  // namespace orrery
