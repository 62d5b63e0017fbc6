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

// Nobody looks at any rank, which lets the engine go through kernels at once
// where it can (kernel_chains.h).
struct UnseenSink {
  static bool Wants(RankId) { return false; }
  void Add(const TaskSpan&) {}
};

// A part of a run that is recorded: what runs or waits in it, and of each rank
// what follows until its compute stream has what it waits for in the window.
struct RecordingWindow {
  Time from{};
  Time to = Time::max();
};

// Every span, in the order in which they ended; or those of a window, and of
// what ended before it how it changed the memory of each rank.
class RecordingSink {
 public:
  explicit RecordingSink(Bytes limit = Bytes(int64_t{8} << 30),
                         std::optional<RecordingWindow> window = std::nullopt)
      : limit_(limit), window_(std::move(window)) {}
  // Refuses a program whose spans would exceed the limit. How many those of a
  // window are is not known before. The program outlives this.
  absl::Status Expect(const Program& program);
  void Add(const TaskSpan& span) {
    if (!window_) {
      spans_.push_back(span);
    } else {
      AddToWindow(span);
    }
  }

  const std::vector<TaskSpan>& spans() const { return spans_; }
  // The same for whoever keeps them; none are left here.
  std::vector<TaskSpan> Take() { return std::move(spans_); }
  // What tasks that ended before the window added to the memory of each rank;
  // empty without a window.
  IdVector<RankId, MemoryByKind> TakeForgotten() {
    return std::move(forgotten_);
  }

 private:
  void AddToWindow(const TaskSpan& span) {
    if (span.ended <= window_->from) {
      Forget(span);
    } else if (span.headed < window_->to || !is_past_[span.rank]) {
      spans_.push_back(span);
      if (span.stream == kComputeStream && span.ended >= window_->to) {
        is_past_[span.rank] = true;
      }
    }
  }
  void Forget(const TaskSpan& span) {
    const Role& role = program_->role_of(span.rank);
    if (!role.task(span.task).has_memory_effects) return;
    for (const MemoryEffect& effect : role.memory_effects(span.task)) {
      forgotten_[span.rank][static_cast<size_t>(effect.kind)] += effect.change;
    }
  }

  Bytes limit_;
  std::optional<RecordingWindow> window_;
  std::vector<TaskSpan> spans_;
  const Program* program_ = nullptr;
  IdVector<RankId, MemoryByKind> forgotten_;
  // Its compute stream needs nothing more.
  IdVector<RankId, bool> is_past_;
};

}  // namespace orrery
