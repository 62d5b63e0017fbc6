#include "workload/model/pass_purpose.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

constexpr SequenceGroup kPrompt{.queries = 512};
constexpr SequenceGroup kChunk{.queries = 512, .cached = 1024};
constexpr SequenceGroup kOneToken{.queries = 1, .cached = 1000};
constexpr SequenceGroup kDrafts{.queries = 4, .cached = 1000};

TEST(PassPurpose, OnlyTrainingHasGradientsAndOnlyInferenceACache) {
  EXPECT_TRUE(Trains(PassPurpose::kTraining));
  EXPECT_FALSE(WritesCache(PassPurpose::kTraining));
  for (const PassPurpose purpose :
       {PassPurpose::kPrefill, PassPurpose::kDecode, PassPurpose::kMixed}) {
    EXPECT_FALSE(Trains(purpose));
    EXPECT_TRUE(WritesCache(purpose));
  }
}

TEST(PassPurpose, AMixedBatchIsDecidedGroupByGroup) {
  EXPECT_FALSE(Decodes(PassPurpose::kMixed, kPrompt));
  EXPECT_FALSE(Decodes(PassPurpose::kMixed, kChunk));
  EXPECT_TRUE(Decodes(PassPurpose::kMixed, kOneToken));
  EXPECT_TRUE(Decodes(PassPurpose::kMixed, kDrafts));
  // A prompt of one token has nothing to decode from.
  EXPECT_FALSE(Decodes(PassPurpose::kMixed, {.queries = 1}));
}

TEST(PassPurpose, APureBatchIsWhatItIsCalled) {
  EXPECT_FALSE(AbsorbsLatent(PassPurpose::kPrefill, kOneToken));
  EXPECT_TRUE(AbsorbsLatent(PassPurpose::kDecode, kChunk));
  EXPECT_FALSE(AbsorbsLatent(PassPurpose::kTraining, kPrompt));
}

TEST(PassPurpose, LogitsAreForWhatIsLearnedVerifiedOrSampled) {
  EXPECT_EQ(LogitsPerSequence(PassPurpose::kTraining, kPrompt), 512);
  EXPECT_EQ(LogitsPerSequence(PassPurpose::kPrefill, kPrompt), 1);
  EXPECT_EQ(LogitsPerSequence(PassPurpose::kMixed, kChunk), 1);
  EXPECT_EQ(LogitsPerSequence(PassPurpose::kMixed, kDrafts), 4);
  EXPECT_EQ(LogitsPerSequence(PassPurpose::kDecode, kOneToken), 1);
}

}  // namespace
}  // namespace orrery
