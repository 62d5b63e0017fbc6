// The steps that trtllm-bench chooses.
#include "accuracy/inference/trtllm_bench.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

void ExpectSizes(const StepSizes& sizes, int64_t batch, int64_t tokens) {
  EXPECT_EQ(sizes.batch, batch);
  EXPECT_EQ(sizes.tokens, tokens);
}

TEST(TrtllmBench, SizesFollowTheCache) {
  // 13 x 256; 2 x 3300 up to 13 x 512.
  ExpectSizes(TrtllmBenchSizes(3300, 128, 128, 1), 3328, 6656);
  // 4 x 128; 2048 at the least.
  ExpectSizes(TrtllmBenchSizes(385, 128, 2048, 1), 512, 2048);
  // 64 at the least; a prompt beside them.
  ExpectSizes(TrtllmBenchSizes(40, 20000, 2000, 1), 64, 20064);
  // 4096 and 32768 at the most.
  ExpectSizes(TrtllmBenchSizes(9000, 2048, 128, 1), 4096, 32768);
  // Of a stage.
  ExpectSizes(TrtllmBenchSizes(400, 1000, 1000, 2), 224, 2048);
}

}  // namespace
}  // namespace orrery
