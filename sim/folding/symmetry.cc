#include "sim/folding/symmetry.h"

#include <algorithm>
#include <vector>

#include "base/format.h"

namespace orrery {
namespace {

// Chips of a group on each node it touches, fewest first.
std::vector<int> Spread(const std::vector<int>& members, int chips_per_node) {
  std::vector<int> nodes;
  for (const int chip : members) nodes.push_back(chip / chips_per_node);
  std::sort(nodes.begin(), nodes.end());
  std::vector<int> counts;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i == 0 || nodes[i] != nodes[i - 1]) counts.push_back(0);
    ++counts.back();
  }
  std::sort(counts.begin(), counts.end());
  return counts;
}

// Whether groups of a family in the same stage lie alike.
bool GroupsLieAlike(GroupFamily family, const Placement& placement,
                    int pipeline, int chips_per_node) {
  std::vector<std::vector<int>> first(static_cast<size_t>(pipeline));
  std::vector<bool> seen(static_cast<size_t>(placement.ranks()));
  for (int rank = 0; rank < placement.ranks(); ++rank) {
    if (seen[static_cast<size_t>(rank)]) continue;
    const std::vector<int> members = placement.Members(family, rank);
    for (const int member : members) seen[static_cast<size_t>(member)] = true;
    std::vector<int> spread = Spread(members, chips_per_node);
    auto& expected =
        first[static_cast<size_t>(placement.CoordinatesOf(rank).pipeline)];
    if (expected.empty()) expected = spread;
    if (spread != expected) return false;
  }
  return true;
}

bool ChannelsLieAlike(const Placement& placement, int pipeline,
                      int chips_per_node) {
  // By pipeline rank: whether the first rank and its peer share a node.
  std::vector<int> first(static_cast<size_t>(pipeline), -1);
  for (int rank = 0; rank < placement.ranks(); ++rank) {
    const int stage = placement.CoordinatesOf(rank).pipeline;
    const int peer = placement.PeerOf(rank, (stage + 1) % pipeline);
    const int inside = rank / chips_per_node == peer / chips_per_node ? 1 : 0;
    int& expected = first[static_cast<size_t>(stage)];
    if (expected < 0) expected = inside;
    if (inside != expected) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> Asymmetry(const ParallelLayout& layout,
                                     const Placement& placement,
                                     int chips_per_node) {
  if (!layout.rank_map.empty()) {
    return "ranks lie on chips by a map of their own";
  }
  const int pipeline = layout.degrees.pipeline;
  for (int f = 0; f < kGroupFamilies; ++f) {
    const auto family = static_cast<GroupFamily>(f);
    if (family == GroupFamily::kModel || family == GroupFamily::kEmbedding) {
      continue;
    }
    if (placement.Size(family) == 1) continue;
    if (!GroupsLieAlike(family, placement, pipeline, chips_per_node)) {
      return fmt::format("{} groups of {} do not lie alike on nodes of {}",
                         Name(family), placement.Size(family), chips_per_node);
    }
  }
  if (pipeline > 1 && !ChannelsLieAlike(placement, pipeline, chips_per_node)) {
    return "some pipeline transfers of a stage cross nodes and some do not";
  }
  return std::nullopt;
}

}  // namespace orrery
