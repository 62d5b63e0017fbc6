#include <algorithm>

#include "base/status.h"
#include "topology/collective_schedules.h"

namespace orrery {
namespace {

// The parent of every rank in a binary tree rooted at 0, in which the number of
// trailing zero bits is the height: odd ranks are leaves.
std::vector<int32_t> Parents(int32_t p) {
  std::vector<int32_t> parents(static_cast<size_t>(p), 0);
  for (int32_t rank = 1; rank < p; ++rank) {
    const int32_t bit = rank & -rank;
    const int32_t above = (rank ^ bit) | (bit << 1);
    parents[static_cast<size_t>(rank)] = above < p ? above : rank ^ bit;
  }
  return parents;
}

std::vector<int32_t> Depths(const std::vector<int32_t>& parents) {
  std::vector<int32_t> depths(parents.size(), 0);
  for (size_t rank = 1; rank < parents.size(); ++rank) {
    for (size_t at = rank; at != 0; at = static_cast<size_t>(parents[at])) {
      ++depths[rank];
    }
  }
  return depths;
}

}  // namespace

absl::StatusOr<Schedule> DoubleBinaryTreeSchedule(
    const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kDoubleBinaryTree, request));
  const int32_t p = request.layout.ranks;
  const std::vector<int32_t> parents = Parents(p);
  const std::vector<int32_t> depths = Depths(parents);
  const int32_t deepest = *std::max_element(depths.begin(), depths.end());
  // The second tree makes leaves of the first one's inner ranks: mirrored for
  // an even p, shifted by one for an odd one.
  const auto rank_in = [&](int32_t tree, int32_t rank) {
    if (tree == 0) return rank;
    return p % 2 == 0 ? p - 1 - rank : (rank + 1) % p;
  };
  ScheduleBuilder builder(request.kind, p, 2, request.segments);
  const auto level = [&](int32_t depth, bool up) {
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t tree = 0; tree < 2; ++tree) {
      const ChunkRange half = {.begin = tree};
      for (int32_t r = 1; r < p; ++r) {
        if (depths[static_cast<size_t>(r)] != depth) continue;
        const int32_t child = rank_in(tree, r);
        const int32_t parent = rank_in(tree, parents[static_cast<size_t>(r)]);
        builder.Send(up ? child : parent, up ? parent : child, {&half, 1}, up);
      }
    }
  };
  for (int32_t depth = deepest; depth >= 1; --depth) level(depth, true);
  for (int32_t depth = 1; depth <= deepest; ++depth) level(depth, false);
  return std::move(builder).Build();
}

}  // namespace orrery
