#pragma once
// PassTable: the passes of ranks through their layers, each whole.
//
// A pass is what a rank does for one micro-batch in one direction, from its
// first kernel to its last. Where two run beside each other (DualPipe), their
// kernels alternate on the compute stream; each pass is one all the same. What
// belongs to no micro-batch (the optimizer) ends where the rank waits, so that
// it covers its own work only. Of a window, a pass is what lies in it: it is
// cut there, and its kernels are those that run in it.
//
//   const MarkTable marks(program);
//   const PassTable passes(program, marks, spans, ranks, from, to);
//   for (const TimelinePass& pass : passes.of(rank)) ...
#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "base/units.h"
#include "traces/format/span.h"
#include "traces/timeline/timeline_marks.h"
#include "workload/program/program.h"

namespace orrery {

struct TimelinePass {
  // Of its first kernel, but for the layer: recomputation counts as backward.
  Mark mark;
  Time from{};
  Time to{};
  Duration busy{};  // in which its kernels ran
  int64_t kernels = 0;
  // Kernels of another pass run between its own.
  bool interleaved = false;
};

class PassTable {
 private:
  struct RankPasses;

 public:
  // Of `ranks`, in a window; spans in the order in which they ended, at least
  // those that touch it. Program and marks outlive this.
  PassTable(const Program& program, const MarkTable& marks,
            absl::Span<const TaskSpan> spans, absl::Span<const RankId> ranks,
            Time from, Time to);

  // In the order in which they start; none of other ranks.
  absl::Span<const TimelinePass> of(RankId rank) const;
  // The pass a kernel of the compute stream belongs to. Requires: a kernel of
  // one of the ranks, no marker.
  const TimelinePass& pass_of(const TaskSpan& span) const;

  // The same for the kernels of a rank in their order, without a search.
  class Cursor {
   public:
    const TimelinePass& pass_of(const TaskSpan& span);

   private:
    friend class PassTable;
    const RankPasses* of_ = nullptr;
    size_t next_ = 0;  // the first run that begins behind the last kernel
  };
  // Requires: one of the ranks.
  Cursor Follow(RankId rank) const;

  // The pass a task belongs to, as a mark: a weight gradient is part of a
  // backward pass where it runs with one.
  Mark MarkOf(const TaskSpan& span) const;
  // Whether it belongs to a pass that runs beside another.
  bool IsInterleaved(const TaskSpan& span) const;

 private:
  struct RankPasses {
    std::vector<TimelinePass> passes;
    // The pass of each kernel that starts one or follows on from another, by
    // its task; those between belong to the one before.
    std::vector<std::pair<TaskId, int32_t>> runs;
    absl::flat_hash_map<int32_t, int32_t> by_number;  // Mark::pass
    TaskId last{};                                    // kernel
  };
  // The first and the last kernel of each numbered pass of a role.
  using KernelRange = std::pair<TaskId, TaskId>;
  using RoleRanges = absl::btree_map<int32_t, KernelRange>;
  RoleRanges RangesOf(RankId rank) const;

  void Add(const TaskSpan& span, RankPasses& of);
  // Passes that were under way before the window, or will be after it.
  void Extend(RankId rank, const RoleRanges& ranges, RankPasses& of) const;
  // Cuts them to the window, puts them into order and finds which overlap.
  void Finish(RankPasses& of) const;
  // Null if its passes are not here.
  const RankPasses* Find(RankId rank) const {
    const int32_t place = places_[rank];
    return place < 0 ? nullptr : &ranks_[static_cast<size_t>(place)];
  }
  // By Mark::pass; null if it has none.
  const TimelinePass* Numbered(const TaskSpan& span) const;

  const Program& program_;
  const MarkTable& marks_;
  Time from_;
  Time to_;
  IdVector<RankId, int32_t> places_;  // in ranks_; -1: not there
  std::vector<RankPasses> ranks_;
};

}  // namespace orrery
