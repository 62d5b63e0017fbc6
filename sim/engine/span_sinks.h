#pragma once
// Sinks for spans: nothing, everything.
//
// A sink has Add(const TaskSpan&); one that needs room may have
// absl::Status Expect(const Program&), called before the run, which may refuse;
// one that looks at some ranks only may have bool Wants(RankId), and the engine
// then spares it the others.
#include <absl/status/status.h>

#include <utility>
#include <vector>

#include "base/units.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

struct NullSink {
  void Add(const TaskSpan&) {}
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
  // The same for whoever keeps them; none are left here.
  std::vector<TaskSpan> Take() { return std::move(spans_); }

 private:
  Bytes limit_;
  std::vector<TaskSpan> spans_;
};

}  // namespace orrery
