// What repeats in a plan message by message is kept once, and runs as if it
// were written out.
#include <fmt/format.h>

#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/network/stepped_plan.h"
#include "tests/sim/network/networks.h"
#include "tests/sim/sharing/written_out.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;
using Algorithm = CollectiveAlgorithm;

PlanSteps AllTimes(const PlanSteps& plan) {
  StepList all = WrittenOut({plan.steps, plan.orders, plan.loops});
  return {std::move(all.steps), std::move(all.orders)};
}

void ExpectSameLog(const TransferLog& a, const TransferLog& b) {
  ASSERT_EQ(a.spans.size(), b.spans.size());
  for (size_t i = 0; i < a.spans.size(); ++i) {
    const TransferLog::Span& x = a.spans[i];
    const TransferLog::Span& y = b.spans[i];
    ASSERT_EQ(std::tie(x.group, x.place, x.began, x.moved, x.ended),
              std::tie(y.group, y.place, y.began, y.moved, y.ended));
  }
  ASSERT_EQ(a.rates.size(), b.rates.size());
  for (size_t i = 0; i < a.rates.size(); ++i) {
    const TransferLog::Rate& x = a.rates[i];
    const TransferLog::Rate& y = b.rates[i];
    ASSERT_EQ(std::tie(x.group, x.place, x.at, x.rate),
              std::tie(y.group, y.place, y.at, y.rate));
  }
}

// Messages that `schedule` sends, all repetitions and segments counted.
int64_t Sent(const Schedule& schedule) {
  int64_t sent = 0;
  for (const Message& m : schedule.messages) sent += m.times;
  return sent * schedule.segments;
}

// Two calls that share links and start apart, so that their messages meet at
// odd moments; all spans and rates as if written out. Returns the loops seen.
size_t ExpectLoopsAsWrittenOut(const pb::System& system, Kind kind,
                               Algorithm algorithm) {
  SCOPED_TRACE(fmt::format("{} by {}", NameOf(kind), NameOf(algorithm)));
  PlannedNetwork network(
      system, {.fidelity = Fidelity::kStepped, .algorithm = algorithm});
  const int chips = system.nodes() * system.chips_per_node();
  std::vector<StartedPlan> kept;
  std::vector<StartedPlan> written;
  size_t loops = 0;
  for (const int64_t bytes : {100'000'000, 3'000'000}) {
    const absl::StatusOr<PlannedCall> call =
        network.Plan({kind, Bytes(bytes), ChipRange(0, chips)});
    if (!call.ok()) return 0;
    const PlanSteps& plan = call->plan;
    kept.push_back({plan, Time{} + kept.size() * std::chrono::microseconds(7)});
    written.push_back({AllTimes(plan), kept.back().start});
    loops += plan.loops.size();
    EXPECT_EQ(plan.StepCount(),
              static_cast<int32_t>(written.back().plan.steps.size()));
    // Every message once, in each of its repetitions.
    const Schedule& schedule = call->routed->schedule();
    std::set<std::tuple<int32_t, int32_t, int32_t>> sent;
    int64_t segments = 0;
    for (int32_t place = 0; place < plan.StepCount(); ++place) {
      const StepMessage what = plan.MessageOf(place);
      if (what.message < 0) continue;
      EXPECT_TRUE(
          sent.insert({what.message, what.segment, what.repeat}).second);
      segments += what.segments;
      const Message& m = schedule.messages[static_cast<size_t>(what.message)];
      EXPECT_TRUE(what.repeat >= m.first && what.repeat < m.first + m.times);
    }
    EXPECT_EQ(segments, Sent(schedule));
  }
  TransferLog looped;
  TransferLog all;
  const auto& capacities = network.resources().capacities();
  EXPECT_EQ(RunPlans(capacities, kept, &looped),
            RunPlans(capacities, written, &all));
  ExpectSameLog(looped, all);
  return loops;
}

TEST(SteppedLoops, RunAsIfWrittenOut) {
  size_t loops = 0;
  for (const pb::System& system :
       {FlatSystem(8, "switch { planes: 1 links_per_endpoint: 1 }"),
        FlatSystem(11, "ring {}"),
        FlatSystem(13, "fat_tree { tiers: 2 radix: 8 taper: 2 }"),
        FlatSystem(20, "mesh { shape: 4 shape: 5 }"),
        FlatSystem(36, "torus { shape: 6 shape: 6 }"),
        FlatSystem(40, "torus { shape: 2 shape: 20 }"), IslandSystem(3, 4),
        IslandSystem(8, 2)}) {
    SCOPED_TRACE(system.ShortDebugString());
    for (const Kind kind : {Kind::kAllReduce, Kind::kAllGather,
                            Kind::kReduceScatter, Kind::kBroadcast}) {
      for (int i = 0; i <= static_cast<int>(kLastCollectiveAlgorithm); ++i) {
        loops +=
            ExpectLoopsAsWrittenOut(system, kind, static_cast<Algorithm>(i));
      }
    }
  }
  EXPECT_GT(loops, 0u);
}

// A line of three: the first sends and sends, a latency behind it the second
// follows, more slowly, and the third. Nobody waits for who comes after, so the
// first runs ahead by all its times and many latencies pass side by side.
TEST(SteppedLoops, StepsMayRunAheadOfThoseThatFollow) {
  constexpr int32_t kWidth = 4;
  PlanSteps plan;
  plan.steps = {{.latency = Duration(1)}};
  for (int32_t time = 0; time < 4; ++time) {
    const auto first = static_cast<int32_t>(plan.steps.size());
    plan.steps.push_back({.work = 10, .uses = {{ResourceId(0), 1}}});
    plan.steps.push_back({.latency = Duration(1000)});
    plan.steps.push_back({.work = 70, .uses = {{ResourceId(1), 1}}});
    plan.steps.push_back(
        {.latency = Duration(5), .work = 30, .uses = {{ResourceId(1), 1}}});
    plan.orders.push_back({first + 1, first + 2});
    if (time == 0) {
      for (const int32_t after : {0, 1, 3}) {
        plan.orders.push_back({0, first + after});
      }
      continue;
    }
    for (const auto& [before, after] : std::vector<std::pair<int32_t, int32_t>>{
             {0, 0}, {0, 1}, {2, 2}, {2, 3}, {3, 3}}) {
      plan.orders.push_back({first - kWidth + before, first + after});
    }
  }
  plan.loops = {{1 + 2 * kWidth, 1 + 3 * kWidth, 50}};
  EXPECT_EQ(plan.StepCount(), 1 + 53 * kWidth);
  const IdVector<ResourceId, double> capacities(2, 1e12);
  const std::vector<StartedPlan> looped = {{plan, Time{}}};
  const std::vector<StartedPlan> written = {{AllTimes(plan), Time{}}};
  TransferLog a;
  TransferLog b;
  EXPECT_EQ(RunPlans(capacities, looped, &a),
            RunPlans(capacities, written, &b));
  ExpectSameLog(a, b);
  // After the first wait and one of the third, which waits for nothing else at
  // first, the first ends at 1 + 53 * 10, before the second's latency does.
  EXPECT_EQ(a.spans[1 + 1 + 52].ended, Time(Duration(1 + 53 * 10)));
}

// Two passes of p - 1 repetitions of p messages each, and a first wait: of a
// pass four repetitions are listed, whatever p is.
TEST(SteppedLoops, ARingListsFourRepetitionsOfAPass) {
  for (const int p : {16, 200}) {
    PlannedNetwork network(
        FlatSystem(p, "ring {}"),
        {.fidelity = Fidelity::kStepped, .algorithm = Algorithm::kRing});
    ASSERT_OK_AND_ASSIGN(
        const PlannedCall call,
        network.Plan({Kind::kAllReduce, Bytes(1 << 20), ChipRange(0, p)}));
    EXPECT_EQ(call.plan.StepCount(), 1 + 2 * (p - 1) * p);
    EXPECT_EQ(call.plan.steps.size(), static_cast<size_t>(1 + 2 * 4 * p));
  }
}

}  // namespace
}  // namespace orrery
