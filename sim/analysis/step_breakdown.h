#pragma once
// StepBreakdown: where the time of one rank went, from the spans of a run.
//
//   BreakdownSink sink(program, rank);
//   ... Simulate(program, transfers, options, sink) ...
//   const StepBreakdown b = sink.Finish(result.end);   // sums to result.end
//
// A rank's compute stream is either running a kernel or standing still. While
// it stands still, the chain of its own communication that the next kernel
// waits for is followed back over the whole wait, and each part of it is
//   exposed    something of the chain was being transferred, by stream
//   bubble     the chain itself waited for a rank with other work to do: the
//              pipeline
//   straggler  it waited for a rank with the same work to do that was late
// What kernels take longer than by themselves, because communication holds part
// of the chip or the chip is slow, is `slowed`.
#include <cstdint>
#include <deque>
#include <vector>

#include "base/units.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

struct StepBreakdown {
  Duration compute{};
  Duration memory_bound{};
  Duration launch{};
  Duration optimizer{};
  Duration slowed{};
  Duration bubble{};
  Duration straggler{};
  // By stream; zero for the compute stream.
  std::vector<Duration> exposed;

  Duration total() const;
};

// A part of the run in which a rank's compute stream waited for other ranks.
struct Bubble {
  Time from{};
  Time to{};
};

class BreakdownSink {
 public:
  // Requires: stream 0 is the compute stream.
  BreakdownSink(const Program& program, RankId rank);

  bool Wants(RankId rank) const { return rank == rank_; }
  void Add(const TaskSpan& span) {
    if (Wants(span.rank)) AddOwn(span);
  }
  // The parts of [0, end).
  StepBreakdown Finish(Time end);
  // What makes up `bubble`, disjoint and in the order of time. Valid after
  // Finish.
  const std::vector<Bubble>& bubbles() const { return bubbles_; }

 private:
  void AddOwn(const TaskSpan& span);
  void AddGap(const TaskSpan& span);
  void AddKernel(const TaskSpan& span);
  void AddExposed(StreamId stream, Time from, Time to);
  // The chain's link `span` waited for its partners.
  void AddPartnerWait(const TaskSpan& span, Time from, Time to);
  void AddBubble(Time from, Time to);
  // Communication of this rank that ended lately; null if it is not kept.
  const TaskSpan* Recent(StreamId stream, TaskId task) const;
  // What `span` waited for last before its partners.
  const TaskSpan* Before(const TaskSpan& span) const;

  const Program& program_;
  RankId rank_;
  StepBreakdown breakdown_;
  // By stream, consecutive tasks: what a kernel may have waited for.
  std::vector<std::deque<TaskSpan>> recent_;
  std::vector<Bubble> bubbles_;
  Time compute_end_{};
};

}  // namespace orrery
