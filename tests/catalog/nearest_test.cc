#include "catalog/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("tensor", "tensor"), 0);
  EXPECT_EQ(EditDistance("tensor", "Tensor"), 0);
  EXPECT_EQ(EditDistance("tesnor", "tensor"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(NearestNames, AreThoseThatWereMeantAndNoOthers) {
  const std::vector<std::string> names = {
      "llama3_8b",    "llama3_70b", "llama4_maverick",
      "llama4_scout", "gpt_1t",     "inference.time_per_output_token_s"};
  EXPECT_THAT(NearestNames("lama3_8b", names), ElementsAre("llama3_8b"));
  EXPECT_THAT(NearestNames("GPT_1T", names), ElementsAre("gpt_1t"));
  EXPECT_THAT(NearestNames("gpt-1t", names), ElementsAre("gpt_1t"));
  // As near as each other.
  EXPECT_THAT(NearestNames("llama3_7b", names),
              ElementsAre("llama3_8b", "llama3_70b"));
  EXPECT_THAT(NearestNames("Llama-4", names),
              ElementsAre("llama4_scout", "llama4_maverick"));
  EXPECT_THAT(NearestNames("scout", names), ElementsAre("llama4_scout"));
  // The beginning of a name is nearer than a name with two other letters.
  const std::vector<std::string> systems = {"dgx_b200", "dgx_h100_ib400"};
  EXPECT_THAT(NearestNames("dgx_h100", systems), ElementsAre("dgx_h100_ib400"));
  EXPECT_THAT(NearestNames("dgx_b20", systems), ElementsAre("dgx_b200"));
  // The last name of a path.
  EXPECT_THAT(NearestNames("time_per_output_tokens", names),
              ElementsAre("inference.time_per_output_token_s"));
  for (const std::string& typed : {std::string("zebra"), std::string(),
                                   std::string("-"), std::string(10000, 'a')}) {
    EXPECT_THAT(NearestNames(typed, names), IsEmpty());
  }
  EXPECT_THAT(NearestNames("x", {}), IsEmpty());
}

TEST(DidYouMean, IsASentenceOrNothing) {
  EXPECT_EQ(DidYouMean("tensr", {"tensor", "context"}),
            "; did you mean 'tensor'?");
  EXPECT_EQ(DidYouMean("a", {"b", "c", "d", "e"}),
            "; did you mean 'b', 'c' or 'd'?");
  EXPECT_EQ(DidYouMean("zebra", {"tensor", "context"}), "");
}

}  // namespace
}  // namespace orrery
