#pragma once
// RankClasses: which ranks of a pipeline stage do the same, at the same time.
//
// Ranks whose experts get different loads differ, and so do ranks that
// communicate with ranks that differ: starting from the load of its experts,
// classes are refined until the ranks of a class see the same classes in each
// of their groups. Then one rank can stand for its class, and a group of
// representatives for all groups alike. All stages have the same classes. With
// balanced experts there is one.
#include <vector>

#include "workload/plan/parallel_layout.h"
#include "workload/plan/placement.h"

namespace orrery {

class RankClasses {
 public:
  RankClasses(const ParallelLayout& layout, const Placement& placement);

  int count() const { return count_; }
  int ClassOf(int rank) const {
    return count_ == 1
               ? 0
               : class_of_[static_cast<size_t>(placement_.WithinStage(rank))];
  }
  // Where the experts of a class stand in their group.
  int ExpertPlaceOf(int of) const {
    return expert_place_[static_cast<size_t>(of)];
  }
  // The lowest class among the members of `rank`'s group: the same for every
  // group like it.
  int LowestIn(GroupFamily family, int rank) const;
  // The first rank of a class in a stage.
  int Representative(int of, int pipeline) const;

 private:
  const Placement& placement_;
  int count_ = 1;
  std::vector<int> class_of_;  // by place within the stage
  std::vector<int> expert_place_ = {0};
  std::vector<int> representative_ = {0};  // by class, place within the stage
};

}  // namespace orrery
