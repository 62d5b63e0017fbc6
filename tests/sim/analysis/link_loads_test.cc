#include "sim/analysis/link_loads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/sim/engine/programs_for_tests.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::Pair;
using namespace std::chrono_literals;

// One call per step, each on a rank of its own; all start at once.
struct CallsRun {
  Program program;
  Transfers transfers;
  TransferLog log;
  RunResult result;
};

CallsRun RunCalls(const std::vector<TransferStep>& steps,
                  const std::vector<double>& capacities) {
  ProgramBuilder builder = TestBuilder();
  for (int32_t i = 0; i < static_cast<int32_t>(steps.size()); ++i) {
    RoleBuilder& role = builder.AddRole(fmt::format("role {}", i));
    const SlotRef slot = role.AddSlot("tensor", kTensorStream);
    role.AddCollective(slot, "sum", AllReduce(i));
    builder.Bind(builder.AddRank(i, role), slot, builder.AddGroup("tensor", i));
  }
  CallsRun run{.program = BuildOrDie(std::move(builder)),
               .transfers = {},
               .log = {},
               .result = {}};
  for (const double capacity : capacities) {
    run.transfers.capacities.Add(capacity);
  }
  for (const Call& call : run.program.calls()) {
    const auto i = static_cast<size_t>(call.what.bytes.value());
    run.transfers.plan_of_call.Add(
        run.transfers.plans.AddChain(absl::MakeSpan(&steps[i], 1)));
  }
  NullSink sink;
  run.result =
      Simulate(run.program, run.transfers, {.log = &run.log}, sink).value();
  return run;
}

// A link of 100 units a second. One call moves 1 after a latency of 10 ms, at
// 20 a second at most: 60 ms. Another moves 6: at 100 for 10 ms, then at 80.
//   10 ms at 100 = 1, 50 ms at 80 = 4, the last 1 at 100 = 10 ms: 70 ms
TEST(LinkLoads, AreWhatTheEngineGranted) {
  const ResourceId link{0}, idle{1};
  const CallsRun run = RunCalls(
      {{.latency = 10ms, .work = 1, .rate_cap = 20, .uses = {{link, 1}}},
       {.work = 6, .uses = {{link, 1}}}},
      {100, 100});
  EXPECT_EQ(run.result.end, Time(70ms));
  const auto loads = LinkLoads(run.transfers, run.log, {link, idle});
  EXPECT_THAT(loads[0], ElementsAre(Pair(Time(0ms), 1), Pair(Time(70ms), 0)));
  EXPECT_THAT(loads[1], ElementsAre());
  // Alone it takes a fifth of the link; it weighs twice.
  const CallsRun alone = RunCalls(
      {{.latency = 10ms, .work = 1, .rate_cap = 20, .uses = {{link, 2}}}},
      {100});
  EXPECT_THAT(LinkLoads(alone.transfers, alone.log, {link})[0],
              ElementsAre(Pair(Time(10ms), 0.4), Pair(Time(60ms), 0)));
}

// Random calls over random links: never more than a link can carry, and the
// area under its load is what it carried.
TEST(LinkLoads, AddUpToWhatWasCarried) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed, "link loads test");
    std::vector<TransferStep> steps(30);
    for (TransferStep& step : steps) {
      step.latency = Duration(rng.Between(0, 1'000'000'000));
      step.work = static_cast<double>(rng.Between(1, 1000));
      for (int32_t link = 0; link < 5; ++link) {
        if (rng.Between(0, 1) == 0) continue;
        step.uses.push_back({static_cast<ResourceId>(link),
                             static_cast<double>(rng.Between(1, 4))});
      }
      if (step.uses.empty()) step.rate_cap = 1000;
    }
    const CallsRun run = RunCalls(steps, {1e3, 2e3, 3e3, 4e3, 5e3});
    std::vector<ResourceId> links;
    for (const ResourceId id : run.transfers.capacities.ids()) {
      links.push_back(id);
    }
    const auto loads = LinkLoads(run.transfers, run.log, links);
    double busiest = 0;
    for (size_t i = 0; i < links.size(); ++i) {
      double area = 0, share = 0, most = 0;
      Time last{};
      for (const auto& [at, next] : loads[i]) {
        area += share * ToSeconds(at - last);
        last = at;
        share = next;
        most = std::max(most, next);
      }
      EXPECT_EQ(share, 0);
      EXPECT_LE(most, 1);
      busiest = std::max(busiest, most);
      // Times are whole picoseconds, of milliseconds.
      EXPECT_NEAR(area * run.transfers.capacities[links[i]] /
                      run.result.carried[links[i]],
                  1, 1e-8);
    }
    EXPECT_GT(busiest, 0.99);  // thirty calls at once fill some link
  }
}

}  // namespace
}  // namespace orrery
