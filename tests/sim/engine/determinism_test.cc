// The spans of a run depend on the program's content and on nothing else.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "sim/engine/engine.h"
#include "tests/sim/engine/event_queues.h"
#include "tests/sim/engine/hash_sink.h"
#include "tests/sim/engine/random_program.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

template <class Queue>
class Determinism : public testing::Test {};
TYPED_TEST_SUITE(Determinism, EventQueues, EventQueueNames);

template <EventQueue Queue>
uint64_t HashOf(const AssembledProgram& assembled) {
  HashSink sink;
  const absl::StatusOr<RunResult> result =
      Simulate<Queue>(assembled.program, assembled.transfers, {}, sink);
  CHECK(result.ok()) << result.status().ToString();
  CHECK_EQ(sink.count(), assembled.program.task_count());
  return sink.hash();
}

TYPED_TEST(Determinism, TwoRunsAreAlike) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const AssembledProgram assembled = Assemble(MakeRandomProgram(seed));
    EXPECT_EQ(HashOf<TypeParam>(assembled), HashOf<TypeParam>(assembled))
        << "seed " << seed;
  }
}

TYPED_TEST(Determinism, TheOrderOfBuildingDoesNotMatter) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RandomProgram description = MakeRandomProgram(seed);
    const uint64_t expected = HashOf<TypeParam>(Assemble(description));
    for (uint64_t order = 0; order < 5; ++order) {
      Rng shuffle(seed * 5 + order, "shuffled insertion");
      EXPECT_EQ(HashOf<TypeParam>(Assemble(description, &shuffle)), expected)
          << "seed " << seed << ", order " << order;
    }
  }
}

// One number for every build: debug, release, sanitizers, either compiler,
// either queue.
TYPED_TEST(Determinism, EveryBuildComesToTheSameSpans) {
  uint64_t hash = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    hash = hash * 31 + HashOf<TypeParam>(Assemble(MakeRandomProgram(seed)));
  }
  EXPECT_EQ(hash, 2784897974518002185u);
}

// The engine itself uses one thread and no state of its own; so many runs can
// go side by side.
TYPED_TEST(Determinism, RunsSideBySideDoNotMeet) {
  constexpr uint64_t kSeeds = 40;
  std::vector<uint64_t> alone(kSeeds);
  std::vector<uint64_t> together(kSeeds);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    alone[seed] = HashOf<TypeParam>(Assemble(MakeRandomProgram(seed)));
  }
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t, &together] {
      for (uint64_t seed = t; seed < kSeeds; seed += 4) {
        together[seed] = HashOf<TypeParam>(Assemble(MakeRandomProgram(seed)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
}

TEST(HashSink, SeesEveryField) {
  const TaskSpan span;
  const auto hash = [](const TaskSpan& s) {
    HashSink sink;
    sink.Add(s);
    return sink.hash();
  };
  TaskSpan other = span;
  other.ended += Duration(1);
  EXPECT_NE(hash(other), hash(span));
  other = span;
  other.release.index = 1;
  EXPECT_NE(hash(other), hash(span));
  other = span;
  other.rank = RankId(1);
  EXPECT_NE(hash(other), hash(span));
}

}  // namespace
}  // namespace orrery
