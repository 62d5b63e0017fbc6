#include "workload/plan/rank_classes.h"

#include <algorithm>
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

}  // namespace

RankClasses::RankClasses(const ParallelLayout& layout,
                         const Placement& placement)
    : placement_(placement) {
  const int experts = layout.degrees.expert;
  const ExpertRouting& routing = layout.routing;
  if (routing.balanced() || experts == 1) return;
  const int ranks = static_cast<int>(layout.degrees.stage_ranks());
  std::vector<std::pair<double, double>> loads;
  for (int i = 0; i < ranks; ++i) {
    const int place = placement.ExpertPlace(placement.FromStage(i, 0));
    loads.emplace_back(routing.LoadOf(place, experts),
                       routing.PeakOf(place, experts));
  }
  class_of_ = Numbered(loads, count_);
  // Members of every group, as places within the stage.
  std::vector<std::vector<std::vector<int>>> groups;  // by rank, by family
  for (int i = 0; i < ranks; ++i) {
    auto& of_rank = groups.emplace_back();
    for (int f = 0; f < kGroupFamilies; ++f) {
      const auto family = static_cast<GroupFamily>(f);
      // These keep their place from stage to stage.
      if (family == GroupFamily::kModel || family == GroupFamily::kEmbedding) {
        continue;
      }
      auto& members = of_rank.emplace_back();
      for (const int member :
           placement.Members(family, placement.FromStage(i, 0))) {
        members.push_back(placement.WithinStage(member));
      }
    }
  }
  for (int before = 0; before != count_;) {
    before = count_;
    std::vector<std::vector<int>> colours;
    for (int i = 0; i < ranks; ++i) {
      std::vector<int> colour = {class_of_[static_cast<size_t>(i)]};
      for (const auto& members : groups[static_cast<size_t>(i)]) {
        std::vector<int> classes;
        for (const int member : members) {
          classes.push_back(class_of_[static_cast<size_t>(member)]);
        }
        std::sort(classes.begin(), classes.end());
        colour.insert(colour.end(), classes.begin(), classes.end());
      }
      colours.push_back(std::move(colour));
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
