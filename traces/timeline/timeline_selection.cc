#include "traces/timeline/timeline_selection.h"

#include <absl/container/flat_hash_map.h>

namespace orrery {

std::vector<RankId> OneRankPerRole(const Program& program) {
  IdVector<RoleId, bool> seen(program.roles().size(), false);
  std::vector<RankId> ranks;
  for (const RankId rank : program.ranks().ids()) {
    const RoleId role = program.ranks()[rank].role;
    if (seen[role]) continue;
    seen[role] = true;
    ranks.push_back(rank);
  }
  return ranks;
}

TimelineSelection::TimelineSelection(const Program& program,
                                     const TimelineOptions& options)
    : shown_(program.ranks().size(), false),
      from_(options.from),
      to_(options.to),
      detail_(options.detail) {
  for (const RankId rank : options.ranks) shown_[rank] = true;
}

TimelinePlace PlaceOf(const Program& program, const TaskSpan& span) {
  const Mark& mark = program.role_of(span.rank).mark(span.task);
  return {mark.phase, mark.micro_batch, mark.layer};
}

GroupSizes SimulatedGroupSizes(const Program& program) {
  GroupSizes sizes;
  for (const ProgramGroup& group : program.groups()) {
    sizes.Add(group.member_count);
  }
  return sizes;
}

int64_t CountSlices(const Program& program, absl::Span<const TaskSpan> spans,
                    const std::vector<PathStep>& path,
                    const TimelineOptions& options) {
  const TimelineSelection selection(program, options);
  // Each rank has its step.
  auto slices = static_cast<int64_t>(options.ranks.size());
  for (const PathStep& step : path) slices += selection.Shows(step);
  absl::flat_hash_map<std::pair<RankId, StreamId>, TimelinePlace> open;
  for (const TaskSpan& span : spans) {
    if (!selection.Shows(span)) continue;
    const bool op = selection.detail() == TimelineDetail::kOp;
    const bool compute =
        program.streams()[span.stream].kind == StreamKind::kCompute;
    slices += op;
    if (op && compute && span.headed < span.ready) ++slices;
    if (op && !compute && span.ready < span.started) ++slices;
    if (op && !compute) continue;  // not nested
    const TimelinePlace place = PlaceOf(program, span);
    const auto [last, is_first] =
        open.try_emplace({span.rank, span.stream}, place);
    const bool new_pass = is_first || !last->second.SamePass(place);
    // A pass stands on the compute track and on that of steps.
    if (new_pass) slices += compute ? 2 : 1;
    const bool layers = selection.detail() != TimelineDetail::kStep;
    if (layers && place.layer && (new_pass || !last->second.SameLayer(place)))
      ++slices;
    last->second = place;
  }
  return slices;
}

}  // namespace orrery
