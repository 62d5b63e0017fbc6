#pragma once
// StepBreakdown: where the time of one rank went, from the spans of a run.
//
//   BreakdownSink sink(program, rank);
//   ... Simulate(program, transfers, options, sink) ...
//   const StepBreakdown b = sink.Finish(result.end);   // sums to result.end
//
// A rank's compute stream is either running a kernel (kernel_parts.h) or
// standing still; what it stands still for is followed back (wait_chain.h):
//   exposed    communication of its own was being transferred, by stream
//   bubble     it waited for a rank with other work to do: the pipeline
//   late peer  it waited for a rank with the same work to do that was late: its
//              calls take longer, or its chip is slow
//   host       it waited for the host to start the kernel
#include <array>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "sim/analysis/kernel_parts.h"
#include "sim/analysis/wait_chain.h"
#include "topology/traffic/communication_kind.h"
#include "topology/traffic/dimension.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

struct StepBreakdown {
  KernelParts kernels;
  Duration bubble{};
  Duration late_peer{};
  // It waited for its host.
  Duration host{};
  // By stream, with the dimension it communicates for; zero for the compute
  // stream.
  struct Exposed {
    std::optional<Dimension> dimension;
    Duration time{};
    // Of it, what calls took longer than they do alone; nothing where that is
    // not known.
    Duration congestion{};
  };
  IdVector<StreamId, Exposed> exposed;

  Duration total() const;
  // Of all streams of a dimension.
  double ExposedSeconds(Dimension dimension) const;
};

// A part of the run in which a rank's compute stream waited for other ranks.
struct Bubble {
  Time from{};
  Time to{};
};

// A part of the run in which a rank's compute stream stood still, and for what.
struct RankWait {
  enum class Kind : uint8_t { kExposed, kBubble, kLatePeer, kHost };
  Kind kind = Kind::kBubble;
  Time from{};
  Time to{};
  // The rank's own communication (or its host's work) that was under way, or
  // that waited for a partner; nothing where none explains it.
  std::optional<TaskSpan> link = std::nullopt;
  // What could not start; nothing after the rank's last kernel.
  std::optional<TaskId> waiter = std::nullopt;
  Duration time() const { return to - from; }
};
std::string_view NameOf(RankWait::Kind kind);

// How long each call of a program takes with the network to itself.
using CallTimes = IdVector<CallId, Duration>;

// What of `span`'s time communication beside it added: what it took longer than
// alone. Requires: communication.
Duration CongestionOf(const Program& program, const TaskSpan& span,
                      const CallTimes& alone);

class BreakdownSink {
 public:
  // Without `keeps_waits` there are sums only: no bubbles() and no waits(), and
  // a step of any length takes the same memory. Requires: stream 0 is the
  // compute stream; `alone`, if given, outlives this.
  BreakdownSink(const Program& program, RankId rank,
                const CallTimes* alone = nullptr, bool keeps_waits = true);

  bool Wants(RankId rank) const { return rank == rank_; }
  void Add(const TaskSpan& span) {
    if (Wants(span.rank)) AddOwn(span);
  }
  // The parts of [0, end).
  StepBreakdown Finish(Time end);
  // What makes up `bubble`, disjoint and in the order of time. Valid after
  // Finish.
  const std::vector<Bubble>& bubbles() const { return bubbles_; }
  // Every moment in which no kernel ran, in the order of time: what all parts
  // but `kernels` are the sums of. Valid after Finish.
  const std::vector<RankWait>& waits() const { return waits_; }
  // What makes up `exposed`, by kind of communication as well: time in which
  // the rank had nothing else to do. Valid after Finish.
  Duration exposed(StreamId stream, CommunicationKind kind) const {
    return by_kind_[stream][static_cast<size_t>(kind)];
  }

 private:
  void AddOwn(const TaskSpan& span);
  void AddWait(const WaitPart& part, std::optional<TaskId> waiter);
  // Without a pipeline there is none: who has no work left waits for peers.
  void AddBubble(const WaitPart& part, std::optional<TaskId> waiter);
  void Keep(RankWait::Kind kind, const WaitPart& part,
            std::optional<TaskId> waiter);
  // Communication of this rank that ended lately; null if it is not kept.
  const TaskSpan* Recent(StreamId stream, TaskId task) const;

  const Program& program_;
  RankId rank_;
  const CallTimes* alone_;
  bool keeps_waits_;
  bool pipelined_;
  StepBreakdown breakdown_;
  IdVector<StreamId, std::array<Duration, kCommunicationKinds>> by_kind_;
  // By stream, consecutive tasks: what a kernel may have waited for.
  std::vector<std::deque<TaskSpan>> recent_;
  std::vector<Bubble> bubbles_;
  std::vector<RankWait> waits_;
  Time compute_end_{};
};

}  // namespace orrery
