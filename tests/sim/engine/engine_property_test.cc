// What must hold for every program, on random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sim/analysis/path_bound.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/sim/engine/event_queues.h"
#include "tests/sim/engine/random_program.h"
#include "tests/sim/sharing/exact_fair_share.h"

namespace orrery {
namespace {

template <class Queue>
class EngineProperties : public testing::Test {};
TYPED_TEST_SUITE(EngineProperties, EventQueues, EventQueueNames);

constexpr uint64_t kPrograms = 600;

// A run, with its spans by operation and rank.
template <EventQueue Queue>
struct Replayed {
  RandomProgram description;
  AssembledProgram assembled;
  RunResult result;
  std::vector<TaskSpan> spans;
  std::map<std::pair<size_t, size_t>, TaskSpan> by_operation;  // (op, rank)

  explicit Replayed(uint64_t seed)
      : description(MakeRandomProgram(seed)), assembled(Assemble(description)) {
    RecordingSink sink;
    absl::StatusOr<RunResult> run =
        Simulate<Queue>(assembled.program, assembled.transfers, {}, sink);
    CHECK(run.ok()) << run.status().ToString();
    result = *std::move(run);
    spans = sink.spans();
    for (const TaskSpan& span : spans) {
      const std::string& name = assembled.program.name(span.name);
      by_operation[{std::stoul(name.substr(3)), Index(span.rank)}] = span;
    }
  }
};

// Whose spans nobody wants but those of one rank.
struct SinkOfOne {
  RankId rank;
  std::vector<TaskSpan> spans = {};
  bool Wants(RankId of) const { return of == rank; }
  void Add(const TaskSpan& span) { spans.push_back(span); }
};

// Kernels of ranks that nobody looks at are chained: nothing else may change.
TYPED_TEST(EngineProperties, UnseenRanksRunAsTheyWouldIfSeen) {
  int64_t fewer = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram description = MakeRandomProgram(seed);
    // Slow ranks are not chained.
    for (double& slowness : description.slowness) {
      if (seed % 4 != 0) slowness = 1;
    }
    const AssembledProgram assembled = Assemble(description);
    RecordingSink all;
    const auto seen =
        Simulate<TypeParam>(assembled.program, assembled.transfers, {}, all);
    ASSERT_TRUE(seen.ok());
    for (const RankId rank : assembled.program.ranks().ids()) {
      SinkOfOne one{rank};
      const auto unseen =
          Simulate<TypeParam>(assembled.program, assembled.transfers, {}, one);
      ASSERT_TRUE(unseen.ok());
      ASSERT_EQ(unseen->end, seen->end);
      ASSERT_EQ(unseen->events, seen->events);
      ASSERT_EQ(unseen->transfer_steps, seen->transfer_steps);
      ASSERT_EQ(unseen->kernel_rate_changes, seen->kernel_rate_changes);
      for (const RankId other : assembled.program.ranks().ids()) {
        ASSERT_EQ(unseen->ranks[other].finished, seen->ranks[other].finished);
      }
      for (const ResourceId id : assembled.transfers.capacities.ids()) {
        ASSERT_EQ(unseen->carried[id], seen->carried[id]);
      }
      std::vector<TaskSpan> own;
      for (const TaskSpan& span : all.spans()) {
        if (span.rank == rank) own.push_back(span);
      }
      ASSERT_EQ(one.spans.size(), own.size());
      for (size_t i = 0; i < own.size(); ++i) {
        ASSERT_EQ(one.spans[i].task, own[i].task);
        ASSERT_EQ(one.spans[i].ready, own[i].ready);
        ASSERT_EQ(one.spans[i].started, own[i].started);
        ASSERT_EQ(one.spans[i].ended, own[i].ended);
      }
      if (unseen->instants < seen->instants) ++fewer;
    }
  }
  EXPECT_GT(fewer, 500) << "hardly any kernel was chained";
}

double Picos(Duration d) { return static_cast<double>(d.count()); }

// The kernel with the chip to itself, to the engine's nearest picosecond.
Duration Solo(const RandomProgram& p, const RandomOperation& op, size_t rank) {
  // A slow chip does not slow what needs nothing of it.
  const bool needs_chip = op.kernel.demand != ChipShare{};
  const double slowness = needs_chip ? p.slowness[rank] : 1;
  return Duration(std::llround(Picos(op.kernel.duration) * slowness));
}

TYPED_TEST(EngineProperties, EveryTaskRunsOnceAfterWhatItWaitsFor) {
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const Replayed<TypeParam> run(seed);
    size_t expected = 0;
    for (const RandomOperation& op : run.description.operations) {
      expected += op.ranks.size();
    }
    ASSERT_EQ(run.spans.size(), expected);
    ASSERT_EQ(run.by_operation.size(), expected);
    std::map<std::pair<size_t, StreamId>, Time> stream_end;
    for (size_t i = 0; i < run.description.operations.size(); ++i) {
      const RandomOperation& op = run.description.operations[i];
      for (size_t k = 0; k < op.ranks.size(); ++k) {
        const TaskSpan& span = run.by_operation.at({i, op.ranks[k]});
        ASSERT_LE(span.headed, span.ready);
        ASSERT_LE(span.ready, span.started);
        ASSERT_LE(span.started, span.ended);
        Time ready = span.headed;
        for (const size_t before : op.after[k]) {
          ready =
              std::max(ready, run.by_operation.at({before, op.ranks[k]}).ended);
        }
        ASSERT_EQ(span.ready, ready) << "seed " << seed << ", op " << i;
        // First in, first out, one at a time.
        Time& end = stream_end[{op.ranks[k], op.stream}];
        ASSERT_EQ(span.headed, end);
        end = span.ended;
      }
    }
  }
}

TYPED_TEST(EngineProperties, MembersRunTogetherFromTheLastArrival) {
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const Replayed<TypeParam> run(seed);
    for (size_t i = 0; i < run.description.operations.size(); ++i) {
      const RandomOperation& op = run.description.operations[i];
      const TaskSpan& first = run.by_operation.at({i, op.ranks.front()});
      Time last_ready{};
      for (const size_t rank : op.ranks) {
        const TaskSpan& span = run.by_operation.at({i, rank});
        ASSERT_EQ(span.started, first.started);
        ASSERT_EQ(span.ended, first.ended);
        last_ready = std::max(last_ready, span.ready);
        if (span.release.by == Release::By::kPartner) {
          const TaskSpan& releaser =
              run.by_operation.at({i, static_cast<size_t>(span.release.index)});
          ASSERT_EQ(releaser.ready, span.started);
        }
      }
      ASSERT_EQ(first.started, last_ready);
    }
  }
}

// A lower bound on the time of a call: its longest path with every link free.
Duration ShortestTime(const RandomProgram& p, const RandomProgram::Plan& plan) {
  std::vector<Duration> end(plan.steps.size());
  Duration all{0};
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    Duration start{0};
    if (plan.is_chain && i > 0) start = end[i - 1];
    for (const StepOrder& order : plan.orders) {
      if (!plan.is_chain && order.after == static_cast<int32_t>(i)) {
        start = std::max(start, end[static_cast<size_t>(order.before)]);
      }
    }
    const TransferStep& step = plan.steps[i];
    double rate = step.rate_cap;
    for (const ResourceUse& use : step.uses) {
      rate = std::min(rate, p.capacities[Index(use.resource)] / use.weight);
    }
    end[i] = start + step.latency;
    if (step.work > 0) {
      end[i] += Duration(static_cast<int64_t>(step.work / rate * 1e12 - 1));
    }
    all = std::max(all, end[i]);
  }
  return all;
}

// The bounds that every run carries, as the analysis computes them.
TYPED_TEST(EngineProperties, TheMakespanIsBetweenItsPaths) {
  int64_t bounded = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const Replayed<TypeParam> run(seed);
    const Duration end = run.result.end.time_since_epoch();
    // A picosecond of rounding at every change of a rate.
    const Duration rounding(run.result.events);
    ASSERT_GE(end + rounding,
              LongestPath(run.assembled.program, run.assembled.transfers))
        << "seed " << seed;
    const std::optional<Duration> slowest =
        SlowestPath(run.assembled.program, run.assembled.transfers);
    if (!slowest) continue;
    ++bounded;
    ASSERT_LE(end, *slowest + rounding) << "seed " << seed;
  }
  EXPECT_GT(bounded, 100);
}

TYPED_TEST(EngineProperties, TheMakespanIsAtLeastTheCriticalPath) {
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const Replayed<TypeParam> run(seed);
    const RandomProgram& p = run.description;
    // Longest path over streams, dependencies and calls, in the global order.
    std::map<std::pair<size_t, StreamId>, Duration> stream_end;
    std::map<std::pair<size_t, size_t>, Duration> op_end;
    Duration longest{0};
    for (size_t i = 0; i < p.operations.size(); ++i) {
      const RandomOperation& op = p.operations[i];
      Duration start{0};
      for (size_t k = 0; k < op.ranks.size(); ++k) {
        start = std::max(start, stream_end[{op.ranks[k], op.stream}]);
        for (const size_t before : op.after[k]) {
          start = std::max(start, op_end[{before, op.ranks[k]}]);
        }
      }
      const Duration takes = op.group.has_value()
                                 ? ShortestTime(p, p.plans[op.plan])
                                 : Solo(p, op, op.ranks.front());
      for (const size_t rank : op.ranks) {
        stream_end[{rank, op.stream}] = start + takes;
        op_end[{i, rank}] = start + takes;
      }
      longest = std::max(longest, start + takes);
    }
    ASSERT_GE(run.result.end, Time(longest)) << "seed " << seed;
  }
}

// Each flow's end is rounded to the nearest picosecond: what it carries is
// right to half a picosecond of its rate, and so is the bound.
TYPED_TEST(EngineProperties,
           LinksCarryWhatTheProgramSendsAndNoFasterThanTheyCan) {
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const Replayed<TypeParam> run(seed);
    const RandomProgram& p = run.description;
    std::vector<double> sent(p.capacities.size(), 0);
    std::vector<double> flows(p.capacities.size(), 0);
    for (const RandomOperation& op : p.operations) {
      if (!op.group.has_value()) continue;
      for (const TransferStep& step : p.plans[op.plan].steps) {
        if (step.work == 0) continue;
        for (const ResourceUse& use : step.uses) {
          sent[Index(use.resource)] += use.weight * step.work;
          flows[Index(use.resource)] += 1;
        }
      }
    }
    const double makespan = Picos(run.result.end.time_since_epoch()) * 1e-12;
    for (size_t r = 0; r < sent.size(); ++r) {
      const double rounding = flows[r] * p.capacities[r] * 1e-12;
      ASSERT_NEAR(run.result.carried[static_cast<ResourceId>(r)], sent[r],
                  rounding + 1e-9 * sent[r])
          << "seed " << seed << ", resource " << r;
      ASSERT_LE(sent[r], p.capacities[r] * makespan + rounding);
    }
  }
}

// Every chip's timeline again, from the spans alone: between any two changes,
// the exact shares of the kernels that ran; integrated, they must give each
// kernel's work. A kernel's end is rounded to a picosecond at every change.
TYPED_TEST(EngineProperties, KernelsDoTheirWorkAtTheirFairShare) {
  int64_t shared = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const Replayed<TypeParam> run(seed);
    const RandomProgram& p = run.description;
    for (size_t rank = 0; rank < p.ranks; ++rank) {
      std::vector<Time> changes;
      std::vector<std::pair<const RandomOperation*, TaskSpan>> here;
      for (const auto& [key, span] : run.by_operation) {
        if (key.second != rank) continue;
        here.push_back({&p.operations[key.first], span});
        changes.push_back(span.ready);
        changes.push_back(span.started);
        changes.push_back(span.ended);
      }
      std::sort(changes.begin(), changes.end());
      std::vector<double> done(here.size(), 0);
      for (size_t c = 0; c + 1 < changes.size(); ++c) {
        if (changes[c] == changes[c + 1]) continue;
        double compute = 1;
        double memory = 1;
        double spinning = 0;
        std::vector<size_t> kernels;
        for (size_t i = 0; i < here.size(); ++i) {
          const auto& [op, span] = here[i];
          if (span.ready > changes[c] || span.ended <= changes[c]) continue;
          if (span.started > changes[c]) {
            // A collective that waits spins.
            if (op->group.has_value()) spinning += op->what.share.compute;
          } else if (op->group.has_value()) {
            compute -= op->what.share.compute;
            memory -= op->what.share.memory;
          } else {
            kernels.push_back(i);
          }
        }
        compute -= std::min(spinning, kMostSpinning);
        ASSERT_GT(compute, 0);
        ASSERT_GT(memory, 0);
        FairShareProblem problem;
        problem.AddResource(compute);
        problem.AddResource(memory);
        for (const size_t i : kernels) {
          problem.AddActivity(1);
          const ChipShare& demand = here[i].first->kernel.demand;
          if (demand.compute > 0) problem.AddUse(0, demand.compute);
          if (demand.memory > 0) problem.AddUse(1, demand.memory);
        }
        const std::vector<long double> rates = ExactFairShare(problem);
        for (size_t k = 0; k < kernels.size(); ++k) {
          // A launch takes as long as it takes.
          const KernelWork& kernel = here[kernels[k]].first->kernel;
          const double launch =
              kernel.duration > Duration(0)
                  ? Picos(kernel.facts.launch) / Picos(kernel.duration)
                  : 0;
          const double rate =
              1 / (launch + (1 - launch) / static_cast<double>(rates[k]));
          done[kernels[k]] += rate * Picos(changes[c + 1] - changes[c]);
          if (rates[k] < 0.999L) ++shared;
        }
      }
      for (size_t i = 0; i < here.size(); ++i) {
        if (here[i].first->group.has_value()) continue;
        ASSERT_NEAR(done[i], Picos(Solo(p, *here[i].first, rank)), 1.0)
            << "seed " << seed << ", rank " << rank;
      }
    }
  }
  EXPECT_GT(shared, 1000) << "the programs must overlap for this to mean much";
}

}  // namespace
}  // namespace orrery
