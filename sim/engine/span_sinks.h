#pragma once
// Sinks for spans: nothing, everything.
//
// A sink has Add(const TaskSpan&); one that needs room may have
// absl::Status Expect(const Program&), called before the run, which may refuse;
// one that looks at some ranks only may have bool Wants(RankId), and the engine
// then spares it the others.
#include <absl/status/status.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

struct NullSink {
  void Add(const TaskSpan&) {}
};

// A part of a run that is recorded: all of some ranks, and of the others what
// runs or waits in the window.
struct RecordingWindow {
  Time from{};
  Time to = Time::max();
  IdVector<RankId, bool> whole;
};

// Every span, in the order in which they ended; or those of a window.
class RecordingSink {
 public:
  explicit RecordingSink(Bytes limit = Bytes(int64_t{8} << 30),
                         std::optional<RecordingWindow> window = std::nullopt)
      : limit_(limit), window_(std::move(window)) {}
  // Refuses a program whose spans would exceed the limit. How many those of a
  // window are is not known before.
  absl::Status Expect(const Program& program);
  void Add(const TaskSpan& span) {
    if (!window_ || Wants(span)) spans_.push_back(span);
  }

  const std::vector<TaskSpan>& spans() const { return spans_; }
  // The same for whoever keeps them; none are left here.
  std::vector<TaskSpan> Take() { return std::move(spans_); }

 private:
  bool Wants(const TaskSpan& span) const {
    return window_->whole[span.rank] ||
           (span.headed < window_->to && span.ended > window_->from);
  }

  Bytes limit_;
  std::optional<RecordingWindow> window_;
  std::vector<TaskSpan> spans_;
};

}  // namespace orrery
