#pragma once
// StepBreakdown: where the time of one rank went, from the spans of a run.
//
//   BreakdownSink sink(program, rank);
//   ... Simulate(program, transfers, options, sink) ...
//   const StepBreakdown b = sink.Finish(result.end);   // sums to result.end
//
// A rank's compute stream is either running a kernel or waiting for something:
// communication that runs (exposed, by stream), or other ranks (bubble). What
// kernels take longer than by themselves, because communication holds part of
// the chip, is `slowed`.
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/units.h"
#include "traces/span.h"
#include "workload/program.h"

namespace orrery {

struct StepBreakdown {
  Duration compute{};
  Duration memory_bound{};
  Duration launch{};
  Duration optimizer{};
  Duration slowed{};
  Duration bubble{};
  // By stream; zero for the compute stream.
  std::vector<Duration> exposed;

  Duration total() const;
};

class BreakdownSink {
 public:
  // Requires: stream 0 is the compute stream.
  BreakdownSink(const Program& program, RankId rank);

  void Add(const TaskSpan& span) {
    if (span.rank == rank_) AddOwn(span);
  }
  // The parts of [0, end).
  StepBreakdown Finish(Time end);

 private:
  void AddOwn(const TaskSpan& span);
  void AddGap(const TaskSpan& span);
  void AddKernel(const TaskSpan& span);

  const Program& program_;
  RankId rank_;
  StepBreakdown breakdown_;
  // Communication that ended lately, by stream: what a kernel waited for last.
  std::vector<std::deque<TaskSpan>> recent_;
  Time compute_end_{};
};

}  // namespace orrery
