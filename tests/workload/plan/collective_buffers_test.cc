#include "workload/plan/collective_buffers.h"

#include <gtest/gtest.h>

#include "tests/workload/plan/plans.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

using namespace std::chrono_literals;

constexpr UnitCalls kCalls{.forward_launches = 100,
                           .backward_launches = 200,
                           .forward_scattered = Bytes(1000),
                           .backward_scattered = Bytes(5000),
                           .largest_gathered = Bytes(70)};

Bytes BuffersOf(const char* changes, const Framework& framework, int rank = 0) {
  const TrainingCase c = MakeCase(changes, 2, kCaseModel, framework);
  return CollectiveBufferBytes(c.plan, rank, kCalls);
}

TEST(CollectiveBuffers, AreNoneUnlessTheFrameworkSaysSo) {
  EXPECT_EQ(BuffersOf("", {}), Bytes(0));
  EXPECT_EQ(BuffersOf("", {.gather_buffers = 2}), Bytes(140));
  EXPECT_EQ(BuffersOf("", {.blocking_launches = true, .launch_queue = 1024}),
            Bytes(0));
}

// As far as the queue reaches back from the end of a forward pass: into it, and
// through backward and forward passes before it.
TEST(CollectiveBuffers, GoAsFarAsTheHostIsAhead) {
  const auto held = [](int queue) {
    return BuffersOf("global_batch: 64 parallel { tensor: 8 }",
                     {.launch_queue = queue});
  };
  EXPECT_EQ(held(50), Bytes(500));
  EXPECT_EQ(held(100), Bytes(1000));
  EXPECT_EQ(held(400), Bytes(1000 + 6000));
  // One micro-batch on every rank: a single forward pass since the step began.
  EXPECT_EQ(BuffersOf("global_batch: 2 micro_batch: 1 parallel { tensor: 8 }",
                      {.launch_queue = 1024}),
            Bytes(1000));
}

TEST(CollectiveBuffers, OfStagesAreThoseOfForwardPassesInARow) {
  constexpr const char* kPlan = "global_batch: 64 parallel { pipeline: 8 }";
  Framework ahead{.launch_queue = 100000};
  EXPECT_EQ(BuffersOf(kPlan, ahead), Bytes(8000));
  EXPECT_EQ(BuffersOf(kPlan, ahead, 6), Bytes(2000));
  ahead.host_waits_for_receive = true;
  EXPECT_EQ(BuffersOf(kPlan, ahead), Bytes(8000));
  EXPECT_EQ(BuffersOf(kPlan, ahead, 6), Bytes(1000));
  // Hosts that compare calls are ahead only where the chip waits in a send.
  ahead.collective_check = 1us;
  EXPECT_EQ(BuffersOf(kPlan, ahead), Bytes(6000));
  EXPECT_EQ(BuffersOf(kPlan, ahead, 6), Bytes(0));
  EXPECT_EQ(BuffersOf("global_batch: 64 parallel { tensor: 8 }", ahead),
            Bytes(0));
  ahead.launch_queue = 150;
  EXPECT_EQ(BuffersOf(kPlan, ahead), Bytes(1500));
}

// A dense layer reduces all tokens after either block, and their gradients
// before either; each is tokens x hidden x 2 bytes.
TEST(CollectiveBuffers, CountsWhatALayerReduces) {
  const TrainingCase c =
      MakeCase("parallel { tensor: 8 sequence_parallel: true }");
  const LayerShape shape = ShapeOf(c.plan);
  const UnitCalls calls = CallsOf(BuildLayer(c.model, 0, shape), c.plan);
  const Bytes tokens(shape.tokens() * c.model.hidden() * 2);
  EXPECT_EQ(calls.forward_scattered, tokens * 2);
  EXPECT_EQ(calls.backward_scattered, tokens * 2);
  EXPECT_EQ(calls.largest_gathered, tokens);
  EXPECT_GT(calls.forward_launches, 10);
  const TrainingCase plain = MakeCase("parallel { tensor: 8 }");
  const UnitCalls none =
      CallsOf(BuildLayer(plain.model, 0, ShapeOf(plain.plan)), plain.plan);
  EXPECT_EQ(none.forward_scattered, Bytes(0));
  EXPECT_EQ(none.largest_gathered, Bytes(0));
}

}  // namespace
}  // namespace orrery
