#include "workload/program/placed_group.h"

#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <algorithm>

namespace orrery {

IdVector<GroupId, GroupId> FirstAlike(
    const IdVector<GroupId, PlacedGroup>& groups) {
  IdVector<GroupId, GroupId> first;
  absl::flat_hash_map<absl::Span<const int>, std::vector<GroupId>> known;
  for (const GroupId id : groups.ids()) {
    std::vector<GroupId>& same = known[groups[id].members];
    const auto found = std::find_if(same.begin(), same.end(), [&](GroupId g) {
      return groups[g].replicas == groups[id].replicas;
    });
    first.Add(found == same.end() ? id : *found);
    if (found == same.end()) same.push_back(id);
  }
  return first;
}

}  // namespace orrery
