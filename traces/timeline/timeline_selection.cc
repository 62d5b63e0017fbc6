#include "traces/timeline/timeline_selection.h"

#include <map>

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

std::vector<RankId> RanksOfPath(const std::vector<PathStep>& path,
                                size_t limit) {
  std::map<RankId, Duration> times;
  for (const PathStep& step : path) times[step.span.rank] += step.time();
  std::vector<std::pair<Duration, RankId>> order;
  for (const auto& [rank, time] : times) order.emplace_back(-time, rank);
  std::sort(order.begin(), order.end());
  if (order.size() > limit) order.resize(limit);
  std::vector<RankId> ranks;
  for (const auto& [time, rank] : order) ranks.push_back(rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

TimelineSelection::TimelineSelection(const Program& program,
                                     const TimelineOptions& options, Time end)
    : shown_(program.ranks().size(), false),
      from_(options.from),
      to_(std::max(options.from, std::min(options.to, end))),
      detail_(options.detail) {
  for (const RankId rank : options.ranks) shown_[rank] = true;
}

GroupSizes SimulatedGroupSizes(const Program& program) {
  GroupSizes sizes;
  for (const ProgramGroup& group : program.groups()) {
    sizes.Add(group.member_count);
  }
  return sizes;
}

}  // namespace orrery
