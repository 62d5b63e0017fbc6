#include "workload/plan/rank_classes.h"

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

namespace orrery {
namespace {

// Numbers in the order of first appearance.
template <class Key>
std::vector<int> Numbered(const std::vector<Key>& keys, int& count) {
  std::map<Key, int> seen;
  std::vector<int> numbers;
  for (const Key& key : keys) {
    numbers.push_back(
        seen.try_emplace(key, static_cast<int>(seen.size())).first->second);
  }
  count = static_cast<int>(seen.size());
  return numbers;
}

// The groups of one family in a stage: which is whose, by place within it.
struct StageGroups {
  std::vector<int> of_rank;
  std::vector<std::vector<int>> members;
};

StageGroups GroupsOf(GroupFamily family, const Placement& placement,
                     int ranks) {
  StageGroups groups;
  groups.of_rank.assign(static_cast<size_t>(ranks), -1);
  for (int i = 0; i < ranks; ++i) {
    if (groups.of_rank[static_cast<size_t>(i)] >= 0) continue;
    auto& members = groups.members.emplace_back();
    for (const int member :
         placement.Members(family, placement.FromStage(i, 0))) {
      members.push_back(placement.WithinStage(member));
      // Of a bidirectional pipeline some are of another stage.
      if (placement.CoordinatesOf(member).pipeline != 0) continue;
      groups.of_rank[static_cast<size_t>(members.back())] =
          static_cast<int>(groups.members.size()) - 1;
    }
  }
  return groups;
}

}  // namespace

RankClasses::RankClasses(const ParallelLayout& layout,
                         const Placement& placement,
                         absl::Span<const RankMark> marks)
    : placement_(placement) {
  const int experts = layout.degrees.expert;
  const ExpertRouting& routing = layout.routing;
  const bool even = routing.balanced() || experts == 1;
  if (even && marks.empty()) return;
  const int ranks = static_cast<int>(layout.degrees.stage_ranks());
  struct Colour {
    std::pair<double, double> load;
    std::vector<std::pair<int, int>> marks;  // stage and mark
    auto operator<=>(const Colour&) const = default;
  };
  std::vector<Colour> first(static_cast<size_t>(ranks));
  for (int i = 0; !even && i < ranks; ++i) {
    const int place = placement.ExpertPlace(placement.FromStage(i, 0));
    first[static_cast<size_t>(i)].load = {routing.LoadOf(place, experts),
                                          routing.PeakOf(place, experts)};
  }
  for (const RankMark& mark : marks) {
    first[static_cast<size_t>(placement.WithinStage(mark.rank))]
        .marks.emplace_back(placement.CoordinatesOf(mark.rank).pipeline,
                            mark.mark);
  }
  for (Colour& colour : first) {
    std::sort(colour.marks.begin(), colour.marks.end());
  }
  class_of_ = Numbered(first, count_);
  std::vector<StageGroups> families;
  for (int f = 0; f < kGroupFamilies; ++f) {
    const auto family = static_cast<GroupFamily>(f);
    // These keep their place from stage to stage.
    if (family == GroupFamily::kModel || family == GroupFamily::kEmbedding) {
      continue;
    }
    families.push_back(GroupsOf(family, placement, ranks));
  }
  for (int before = 0; before != count_;) {
    before = count_;
    std::vector<std::vector<int>> colours;
    for (const int of : class_of_) colours.push_back({of});
    for (const StageGroups& family : families) {
      std::vector<std::vector<int>> seen;  // by group: classes of its members
      for (const std::vector<int>& members : family.members) {
        auto& classes = seen.emplace_back();
        for (const int member : members) {
          classes.push_back(class_of_[static_cast<size_t>(member)]);
        }
        std::sort(classes.begin(), classes.end());
      }
      int kinds = 0;
      const std::vector<int> kind = Numbered(seen, kinds);
      for (size_t i = 0; i < colours.size(); ++i) {
        colours[i].push_back(kind[static_cast<size_t>(family.of_rank[i])]);
      }
    }
    class_of_ = Numbered(colours, count_);
  }
  expert_place_.assign(static_cast<size_t>(count_), 0);
  representative_.assign(static_cast<size_t>(count_), 0);
  for (int i = ranks - 1; i >= 0; --i) {
    const auto of = static_cast<size_t>(class_of_[static_cast<size_t>(i)]);
    representative_[of] = i;
    expert_place_[of] = placement.ExpertPlace(placement.FromStage(i, 0));
  }
}

int RankClasses::LowestIn(GroupFamily family, int rank) const {
  if (count_ == 1) return 0;
  int lowest = count_;
  for (const int member : placement_.Members(family, rank)) {
    lowest = std::min(lowest, ClassOf(member));
  }
  return lowest;
}

int RankClasses::Representative(int of, int pipeline) const {
  return placement_.FromStage(representative_[static_cast<size_t>(of)],
                              pipeline);
}

}  // namespace orrery
