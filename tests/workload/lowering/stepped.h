#pragma once
// Runs lowered steps in tests: simple times for ops, given times for calls.
#include <functional>
#include <utility>

#include "base/check.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/workload/plan/plans.h"
#include "workload/lowering/training/lower_training.h"

namespace orrery {

// One picosecond per megaFLOP and per 64 KiB, so that ops differ and sums stay
// whole.
inline KernelWork SimpleTime(const Op& op) {
  const auto flops = static_cast<int64_t>(MatrixFlops(op).value() / 1e6);
  const int64_t bytes = CompulsoryBytes(op).value() / 65536;
  KernelWork work;
  work.duration = Duration(1 + flops + bytes);
  work.facts.launch = Duration(1);
  work.facts.flops = MatrixFlops(op);
  return work;
}

// How long a call takes, from what it is and how many really take part.
using CallTime = std::function<Duration(const Communication&, size_t members)>;
inline Duration Free(const Communication&, size_t) { return Duration(0); }

inline Transfers GivenTimes(const PlacedProgram& step, const CallTime& time) {
  Transfers transfers;
  for (const CallId id : step.program.calls().ids()) {
    const Call& call = step.program.calls()[id];
    const Duration duration =
        time(call.what, step.groups[call.group].members.size());
    const TransferStep one{.latency = duration};
    transfers.plan_of_call.Add(transfers.plans.AddChain({&one, 1}));
  }
  return transfers;
}

struct StepRun {
  PlacedProgram placed;
  RunResult result;
  std::vector<TaskSpan> spans;
};

inline StepRun RunStep(const TrainingCase& c, const LowerOptions& options,
                       const CallTime& time = Free,
                       OpTimer timer = SimpleTime) {
  auto step = LowerTraining(c.model, c.plan, timer, options);
  CHECK(step.ok()) << step.status().ToString();
  const Transfers transfers = GivenTimes(*step, time);
  RecordingSink sink;
  auto result = Simulate(step->program, transfers, {}, sink);
  CHECK(result.ok()) << result.status().ToString();
  return {*std::move(step), *std::move(result), sink.spans()};
}

}  // namespace orrery
