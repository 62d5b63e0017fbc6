#pragma once
// LinkProfiles: how every row (a step of a call, with its replicas) loads every
// resource, and whether all replicas of a row meet the same.
//
// See replica_loads.h for the words and folding.h for the argument.
//
// Cost: O(uses + resources) per search, and of every two profiles as long as
// they are few.
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "sim/sharing/transfer_plan.h"

namespace orrery {

enum class KeptReplicas : uint8_t;

class LinkProfiles {
 public:
  // `capacities` must outlive it.
  explicit LinkProfiles(const IdVector<ResourceId, double>& capacities)
      : capacities_(capacities) {}

  // Rows of one call with so many replicas; the first of them.
  int32_t AddRows(size_t count, size_t replicas);
  // Replica `replica` of `row` uses a resource. Requires: all uses of a replica
  // of a row come one after another, but for those of other rows.
  void Add(ResourceId resource, int32_t row, int32_t replica, double weight,
           KeptReplicas nearness) {
    uses_.push_back({resource, row, replica, nearness, weight});
  }
  size_t size() const { return uses_.size(); }
  size_t rows() const { return replicas_.size(); }

  // A row of which some replica does not meet a profile that another one meets
  // and that no other profile covers; nothing if there is none. `left_out`, if
  // given, tells of each row whether it is as if it were not there.
  std::optional<int32_t> FindUnevenRow(absl::Span<const char> left_out = {});
  // The rows that were left out of the last search and use a resource that one
  // of the others does, in order.
  std::vector<int32_t> FindOthersMet() const;
  // The fewest replicas with which every profile that no other covers is on
  // some resource. Requires: FindUnevenRow has said nothing.
  KeptReplicas Needed() const { return needed_; }

 private:
  struct Use {
    ResourceId resource;
    int32_t row;
    int32_t replica;
    KeptReplicas nearness;
    double weight;
  };
  struct Load {
    int32_t row;
    double load;  // over the capacity
  };
  struct Profile {
    std::vector<Load> loads;
    KeptReplicas needed;  // by the resource that needs the fewest
    // Of its first load among the loads of all profiles.
    size_t first_load;
    bool covered = false;
    size_t same_as = 0;  // a profile that is equal but for rounding, or itself
  };
  static bool Covers(const Profile& a, const Profile& b);
  bool Counts(const Use& use) const {
    return left_out_.empty() || !left_out_[static_cast<size_t>(use.row)];
  }
  // Uses that count, by resource, and of one by row.
  void SortUses();
  void FindProfiles();
  void FindCovered();

  const IdVector<ResourceId, double>& capacities_;
  std::vector<int32_t> replicas_;  // by row
  std::vector<Use> uses_;
  // Of the last search.
  std::vector<char> left_out_;  // by row, or empty
  std::vector<int32_t> sorted_;
  std::vector<int32_t> begin_;  // in `sorted_`, by resource; and the end
  std::vector<Profile> profiles_;
  IdVector<ResourceId, int32_t> profile_of_;
  std::vector<int32_t> load_of_;  // by use, among the loads of all profiles
  KeptReplicas needed_{};
};

}  // namespace orrery
