#pragma once
// RankClasses: which ranks of a pipeline stage do the same, at the same time.
//
// Ranks whose experts get different loads differ, ranks that are marked
// otherwise do (their chips are told apart by the machine), and so do ranks
// that communicate with ranks that differ: starting from the load of its
// experts and its marks, classes are refined until the ranks of a class see the
// same classes in each of their groups. Then one rank can stand for its class,
// and a group of representatives for all groups alike. All stages have the same
// classes: what marks a rank marks its place in every stage. With balanced
// experts and no marks there is one.
//
// Cost: O(ranks of a stage) for each round, of which there are few.
#include <absl/types/span.h>

#include <vector>

#include "workload/plan/parallel_layout.h"
#include "workload/plan/placement.h"

namespace orrery {

// Ranks of different marks are told apart, and so are marked ones from others.
struct RankMark {
  int rank = 0;
  int mark = 0;
};

class RankClasses {
 public:
  RankClasses(const ParallelLayout& layout, const Placement& placement,
              absl::Span<const RankMark> marks = {});

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
