#include "catalog/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery {
namespace {

using testing::Optional;

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("tensor", "tensor"), 0);
  EXPECT_EQ(EditDistance("tensor", "Tensor"), 0);
  EXPECT_EQ(EditDistance("tesnor", "tensor"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(NearestName, FindsWhatWasMeantAndNothingElse) {
  const std::vector<std::string> names = {"llama3_8b", "llama3_70b", "gpt_1t"};
  EXPECT_THAT(NearestName("lama3_8b", names),
              Optional(std::string("llama3_8b")));
  EXPECT_THAT(NearestName("GPT_1T", names), Optional(std::string("gpt_1t")));
  EXPECT_EQ(NearestName("zebra", names), std::nullopt);
  EXPECT_EQ(NearestName(std::string(10000, 'a'), names), std::nullopt);
  EXPECT_EQ(NearestName("x", {}), std::nullopt);
}

TEST(DidYouMean, IsASentenceOrNothing) {
  EXPECT_EQ(DidYouMean("tensr", {"tensor", "context"}),
            "; did you mean 'tensor'?");
  EXPECT_EQ(DidYouMean("zebra", {"tensor", "context"}), "");
}

}  // namespace
}  // namespace orrery
