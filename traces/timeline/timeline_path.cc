#include "traces/timeline/timeline_path.h"

#include <absl/strings/str_join.h>

#include <algorithm>

#include "base/format.h"
#include "traces/timeline/timeline_names.h"

namespace orrery {
namespace {

std::string TaskName(const TimelineSource& source, const TaskSpan& span) {
  const std::string& name = source.program.name(span.name);
  if (span.kind != SpanKind::kKernel) return name;
  const Role& role = source.program.role_of(span.rank);
  return KernelLabel(
      name, role.mark(span.task).phase,
      IsProduct(role.kernel(role.task(span.task)).facts, source.ops));
}

// What a rank does of one pass, or of two that run beside each other, is one
// where ops are not shown.
class PathMerger {
 public:
  PathMerger(const TimelineSource& source, const TimelineSelection& selection,
             const PassTable& passes)
      : source_(source), selection_(selection), passes_(passes) {}

  void Add(const PathStep& step) {
    std::string label = PassLabel(passes_.MarkOf(step.span));
    if (label.empty()) label = TaskName(source_, step.span);
    const bool beside = passes_.IsInterleaved(step.span);
    const bool known =
        std::find(labels_.begin(), labels_.end(), label) != labels_.end();
    const bool joins = first_ != nullptr &&
                       first_->span.rank == step.span.rank &&
                       (known || (beside && beside_ && labels_.size() < 2));
    if (!joins) Close();
    if (first_ == nullptr) {
      first_ = &step;
      beside_ = beside;
      from_ = selection_.Clip(step.span.started);
    }
    if (labels_.empty() || !known) labels_.push_back(std::move(label));
    to_ = selection_.Clip(step.span.ended);
  }

  std::vector<PathSlice> Take() {
    Close();
    return std::move(slices_);
  }

 private:
  void Close() {
    if (first_ == nullptr) return;
    slices_.push_back(
        {fmt::format("rank {} {}",
                     source_.program.ranks()[first_->span.rank].number,
                     absl::StrJoin(labels_, " + ")),
         first_, from_, to_});
    first_ = nullptr;
    labels_.clear();
  }

  const TimelineSource& source_;
  const TimelineSelection& selection_;
  const PassTable& passes_;
  std::vector<PathSlice> slices_;
  const PathStep* first_ = nullptr;
  bool beside_ = false;
  std::vector<std::string> labels_;
  Time from_{}, to_{};
};

}  // namespace

std::vector<PathSlice> PathSlices(const TimelineSource& source,
                                  const TimelineSelection& selection,
                                  const PassTable& passes) {
  if (selection.detail() != TimelineDetail::kOp) {
    PathMerger merger(source, selection, passes);
    for (const PathStep& step : source.path) {
      if (selection.Shows(step)) merger.Add(step);
    }
    return merger.Take();
  }
  std::vector<PathSlice> slices;
  for (const PathStep& step : source.path) {
    if (!selection.Shows(step)) continue;
    const std::string pass = PassLabel(passes.MarkOf(step.span));
    slices.push_back({fmt::format("rank {}{}{}: {}",
                                  source.program.ranks()[step.span.rank].number,
                                  pass.empty() ? "" : " ", pass,
                                  TaskName(source, step.span)),
                      &step, selection.Clip(step.span.started),
                      selection.Clip(step.span.ended)});
  }
  return slices;
}

void WritePath(const TimelineSelection& selection,
               const std::vector<PathSlice>& slices, TrackId parent,
               TimelineArguments& arguments, PerfettoWriter& writer) {
  const TrackId track = writer.AddTrack(
      {.name = "critical path",
       .parent = parent,
       .description = "The chain of tasks that made the run as long as it is: "
                      "each made the next one start."});
  const bool ops = selection.detail() == TimelineDetail::kOp;
  for (const PathSlice& slice : slices) {
    const EventCategory category = arguments.categories().path;
    writer.Slice(track, slice.from, slice.to, writer.Name(slice.name),
                 ops ? arguments.Of(slice.step->span, category)
                     : EventDetails{.category = category});
  }
}

}  // namespace orrery
