// Programs with a loop against the same written out: spans of the engine, and
// paths.
#include <gtest/gtest.h>

#include <vector>

#include "base/check.h"
#include "sim/analysis/path_bound.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "workload/program/lengthening.h"
#include "workload/program/program_builder.h"

namespace orrery {
namespace {

struct Shape {
  int lag = 1;                  // a kernel waits for the sum so many before it
  Duration kernel{10};          // of the first rank; the other takes 1 ps more
  Duration latency{3};          // of a sum
  bool waits_far_back = false;  // the end waits for a kernel far back
};

// Two ranks. Each step is a kernel, and a sum of both that waits for it and
// holds a fifth of the chip.
Program Write(int steps, const Shape& shape) {
  ProgramBuilder builder({{"compute", StreamKind::kCompute},
                          {"network", StreamKind::kCommunication},
                          {"side", StreamKind::kCommunication}});
  const GroupRef group = builder.AddGroup("both", 0);
  const GroupRef last = builder.AddGroup("last", 0);
  for (int rank = 0; rank < 2; ++rank) {
    RoleBuilder& role = builder.AddRole(rank == 0 ? "first" : "second");
    const SlotRef slot = role.AddSlot("both", StreamId(1));
    const SlotRef side = role.AddSlot("last", StreamId(2));
    std::vector<TaskRef> kernels, sums;
    for (int i = 0; i < steps; ++i) {
      kernels.push_back(role.AddKernel(
          StreamId(0), "work", {.duration = shape.kernel + Duration(rank)}));
      if (i >= shape.lag) {
        role.AddDependency(sums[static_cast<size_t>(i - shape.lag)],
                           kernels.back());
      }
      sums.push_back(role.AddCollective(
          slot, "sum", {.bytes = Bytes(8), .share = {.compute = 0.2}}));
      role.AddDependency(kernels.back(), sums.back());
    }
    const TaskRef end = role.AddCollective(side, "end", {.bytes = Bytes(16)});
    // Six steps before the last.
    role.AddDependency(kernels[static_cast<size_t>(
                           shape.waits_far_back ? steps - 7 : steps - 1)],
                       end);
    const RankRef ref = builder.AddRank(rank, role);
    builder.Bind(ref, slot, group);
    builder.Bind(ref, side, last);
  }
  auto program = std::move(builder).Build();
  CHECK(program.ok()) << program.status().ToString();
  return *std::move(program);
}

Transfers TransfersOf(const Program& program, Duration latency) {
  Transfers transfers;
  for (const CallId id : program.calls().ids()) {
    const TransferStep step{
        .latency = latency * program.calls()[id].what.bytes.value() / 8};
    transfers.plan_of_call.Add(transfers.plans.AddChain({&step, 1}));
  }
  return transfers;
}

std::vector<TaskSpan> SpansOf(const Program& program,
                              const Transfers& transfers) {
  RecordingSink sink;
  const auto result = Simulate(program, transfers, {}, sink);
  CHECK(result.ok()) << result.status().ToString();
  return sink.Take();
}

TEST(Loop, RunsAsWhatItStandsFor) {
  constexpr int kShort = 24;
  constexpr int kLong = 100;
  for (const int lag : {1, 2, 5, 9}) {
    for (const Duration latency : {Duration(3), Duration(40)}) {
      for (const bool waits_far_back : {false, true}) {
        SCOPED_TRACE(lag);
        const Shape shape{
            .lag = lag, .latency = latency, .waits_far_back = waits_far_back};
        const auto looped = Lengthen(Write(kShort, shape),
                                     Write(kShort + 1, shape), kLong - kShort);
        ASSERT_TRUE(looped);
        const Program written = Write(kLong, shape);
        const Transfers transfers = TransfersOf(written, latency);
        EXPECT_TRUE(SpansOf(*looped, transfers) == SpansOf(written, transfers));
        EXPECT_EQ(LongestPath(*looped, transfers),
                  LongestPath(written, transfers));
        EXPECT_EQ(SlowestPath(*looped, transfers),
                  SlowestPath(written, transfers));
      }
    }
  }
}

// Tasks are called by the number that they have written out.
TEST(Loop, IsDescribedAsWhatItStandsFor) {
  const Shape shape;
  const auto looped = Lengthen(Write(24, shape), Write(25, shape), 76);
  ASSERT_TRUE(looped);
  for (const TaskId task : {TaskId(0), TaskId(50), TaskId(99), TaskId(150)}) {
    EXPECT_EQ(looped->Describe(RankId(1), task),
              Write(100, shape).Describe(RankId(1), task));
  }
}

}  // namespace
}  // namespace orrery
