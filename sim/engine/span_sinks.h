#pragma once
// Sinks for spans: nothing, totals, everything, a hash.
//
// A sink has Add(const TaskSpan&); one that needs room may have
// absl::Status Expect(const Program&), called before the run, which may refuse;
// one that looks at some ranks only may have bool Wants(RankId), and the engine
// then spares it the others.
#include <absl/status/status.h>
#include <absl/types/span.h>

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

struct NullSink {
  void Add(const TaskSpan&) {}
};

// Where the time of a stream went.
struct StreamTotals {
  int64_t tasks = 0;
  Duration running{0};
  Duration waiting_for_dependencies{0};
  Duration waiting_for_partners{0};
};

// Totals per stream and rank, and running time per kind of task.
class TotalsSink {
 public:
  absl::Status Expect(const Program& program);
  void Add(const TaskSpan& span) {
    StreamTotals& totals =
        totals_[Index(span.rank) * streams_ + Index(span.stream)];
    ++totals.tasks;
    totals.running += span.running();
    totals.waiting_for_dependencies += span.waiting_for_dependencies();
    totals.waiting_for_partners += span.waiting_for_partners();
    by_kind_[static_cast<size_t>(span.kind)] += span.running();
  }

  const StreamTotals& of(RankId rank, StreamId stream) const {
    return totals_[Index(rank) * streams_ + Index(stream)];
  }
  // Over all ranks.
  StreamTotals of(StreamId stream) const;
  Duration of(SpanKind kind) const {
    return by_kind_[static_cast<size_t>(kind)];
  }

 private:
  size_t streams_ = 0;
  std::vector<StreamTotals> totals_;
  std::array<Duration, kTaskKinds> by_kind_{};
};

// Every span, in the order in which they ended.
class RecordingSink {
 public:
  explicit RecordingSink(Bytes limit = Bytes(int64_t{8} << 30))
      : limit_(limit) {}
  // Refuses a program whose spans would exceed the limit.
  absl::Status Expect(const Program& program);
  void Add(const TaskSpan& span) { spans_.push_back(span); }

  const std::vector<TaskSpan>& spans() const { return spans_; }

 private:
  Bytes limit_;
  std::vector<TaskSpan> spans_;
};

// A hash of the spans and of their order: equal runs have equal hashes.
class HashSink {
 public:
  void Add(const TaskSpan& span);
  uint64_t hash() const { return hash_; }
  int64_t count() const { return count_; }

 private:
  uint64_t hash_ = 0;
  int64_t count_ = 0;
};

// Since when each recorded task could have run but for its stream: its
// dependencies were met, yet tasks before it in the stream were not done. The
// difference to `headed`, where positive, is the time it was queued. One entry
// per span.
std::vector<Time> EligibleTimes(const Program& program,
                                absl::Span<const TaskSpan> spans);

}  // namespace orrery
