// Forms of trees and of islands: collective_forms.h.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "analytic/collective/collective_forms.h"
#include "analytic/collective/form_builder.h"
#include "analytic/collective/ring_lanes.h"

namespace orrery {
namespace {

using Algorithm = CollectiveAlgorithm;
using Kind = CommunicationKind;

// Around rings of g, each member with a g-th of the data.
void AddRingsInside(FormBuilder& form, int ranks, int g) {
  form.BeginWave();
  form.BeginRound(g - 1);
  for (int r = 0; r < ranks; ++r) {
    form.Send(r, r - r % g + (r % g + 1) % g, 1.0 / g);
  }
}

// Everyone to everyone of the same g, each pair a g-th of the data over a link
// of its own.
void AddLinksInside(FormBuilder& form, int ranks, int g) {
  form.BeginWave();
  form.BeginRound();
  for (int r = 0; r < ranks; ++r) {
    for (int to = r - r % g; to < r - r % g + g; ++to) {
      if (to != r) form.Send(r, to, 1.0 / g);
    }
  }
}

// Up to the switch of the island, and down.
MessageTerm ToSwitch(const GroupNetwork& group) {
  return {Tier::kScaleUp, group.ports().island_link, 2};
}

// Two trees over n nodes, rooted at the first and the last, or the second, of
// them; inner nodes of one are leaves of the other.
class TwoTrees {
 public:
  explicit TwoTrees(int nodes) : nodes_(nodes), depths_{0} {
    for (int node = 1; node < nodes; ++node) {
      int depth = 0;
      for (int at = node; at != 0; at = ParentOf(at)) ++depth;
      depths_.push_back(depth);
    }
  }

  int height() const {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(nodes_ - 1)));
  }
  // Calls visit(second, child, parent) for every edge at a depth of either
  // tree.
  template <class Visit>
  void ForEachEdge(int depth, Visit visit) const {
    for (int node = 1; node < nodes_; ++node) {
      if (depths_[static_cast<size_t>(node)] != depth) continue;
      const int parent = ParentOf(node);
      visit(false, node, parent);
      visit(true, Other(node), Other(parent));
    }
  }

  // What the nodes at and below each weigh, if node n weighs weights[n]: in the
  // tree of the first edges of ForEachEdge and, if `second`, in the other one.
  std::vector<int> Below(const std::vector<int>& weights, bool second) const {
    std::vector<int> below(weights.size(), 0);
    for (int node = 0; node < nodes_; ++node) {
      const int named = second ? Other(node) : node;
      for (int at = node;; at = ParentOf(at)) {
        below[static_cast<size_t>(second ? Other(at) : at)] +=
            weights[static_cast<size_t>(named)];
        if (at == 0) break;
      }
    }
    return below;
  }

 private:
  // The lowest set bit is a node's height above the leaves.
  int ParentOf(int node) const {
    const int bit = node & -node;
    const int above = (node ^ bit) | (bit << 1);
    return above < nodes_ ? above : node ^ bit;
  }
  int Other(int node) const {
    return nodes_ % 2 == 0 ? nodes_ - 1 - node : (node + 1) % nodes_;
  }

  int nodes_;
  std::vector<int> depths_;
};

// What trees of switches put on a line, one for each of g places: a leaf sends
// on once for every tree that has members elsewhere, whatever it adds up.
WaveTerm ReductionTreeLoads(const GroupNetwork& group, int g) {
  const double nic = static_cast<double>(group.most_on_nic()) / g;
  WaveTerm loads{.network = nic, .crowded = group.most_crowded_on_nic() / g};
  std::vector<int> trees(static_cast<size_t>(group.leaf_count()));
  if (trees.empty()) return loads;
  for (int place = 0; place < g; ++place) {
    std::vector<int> leaves;
    for (int r = place; r < group.ranks(); r += g) {
      leaves.push_back(group.leaf(r, 0));
    }
    std::sort(leaves.begin(), leaves.end());
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
    if (leaves.size() == 1) continue;
    for (const int leaf : leaves) ++trees[static_cast<size_t>(leaf)];
  }
  for (int leaf = 0; leaf < group.leaf_count(); ++leaf) {
    const double up = trees[static_cast<size_t>(leaf)] / group.leaf_up() / g;
    loads.network = std::max(loads.network, up);
    loads.crowded = std::max(loads.crowded, up * group.leaf_crowd(leaf));
  }
  return loads;
}

// The share of what ranks have that takes an edge: all of it for sums; of
// shards, those of the ranks below it one way and the others the other way.
double OnEdge(Kind kind, const GroupNetwork& group, int below, bool up) {
  if (kind == Kind::kAllReduce) return 1;
  const double theirs = static_cast<double>(below) / group.ranks();
  return up == (kind == Kind::kAllGather) ? theirs : 1 - theirs;
}

// Up both trees and down again, a pair for each lane.
void AddTrees(FormBuilder& form, Kind kind, const GroupNetwork& group,
              const RingLanes& lanes) {
  const TwoTrees trees(lanes.islands());
  std::vector<int> members;
  for (int island = 0; island < lanes.islands(); ++island) {
    members.push_back(lanes.members(island));
  }
  const std::vector<int> below[] = {trees.Below(members, false),
                                    trees.Below(members, true)};
  const auto level = [&](int depth, bool up) {
    form.BeginWave();
    form.BeginRound();
    trees.ForEachEdge(depth, [&](bool second, int child, int parent) {
      const double share =
          OnEdge(kind, group, below[second][static_cast<size_t>(child)], up);
      for (int lane = 0; lane < lanes.count(); ++lane) {
        form.Send(lanes.Behind(lane, up ? child : parent, 0),
                  lanes.Behind(lane, up ? parent : child, 0),
                  0.5 * share / lanes.count());
      }
    });
  };
  for (int depth = trees.height(); depth >= 1; --depth) level(depth, true);
  for (int depth = 1; depth <= trees.height(); ++depth) level(depth, false);
}

}  // namespace

CollectiveForm DoubleBinaryTreeForm(Kind kind, const GroupNetwork& group) {
  const RingLanes lanes(group);
  FormBuilder form(group, Algorithm::kDoubleBinaryTree, ProtocolUse::kTree);
  int longest = 1;
  for (int island = 0; island < lanes.islands(); ++island) {
    longest = std::max(longest, lanes.members(island));
  }
  // Every lane has a chain through each island, as long as that is.
  const auto chain = [&](int link, bool up) {
    form.BeginWave();
    form.BeginRound();
    for (int island = 0; island < lanes.islands(); ++island) {
      const int behind = lanes.members(island) - 1 - link;
      if (behind < 1) continue;
      const double share = OnEdge(kind, group, behind, up);
      for (int lane = 0; lane < lanes.count(); ++lane) {
        const int near = lanes.Behind(lane, island, link);
        const int far = lanes.Behind(lane, island, link + 1);
        form.Send(up ? far : near, up ? near : far, share / lanes.count());
      }
    }
  };
  for (int link = longest - 2; link >= 0; --link) chain(link, true);
  AddTrees(form, kind, group, lanes);
  for (int link = 0; link <= longest - 2; ++link) chain(link, false);
  return std::move(form).BuildStreaming();
}

CollectiveForm HierarchicalForm(Kind kind, const GroupNetwork& group) {
  const int p = group.ranks();
  const int g = group.per_island();
  const int islands = group.islands();
  FormBuilder form(group, Algorithm::kHierarchical);
  for (int pass = 0; pass < PassesOf(kind); ++pass) {
    if (group.meshed()) {
      AddLinksInside(form, p, g);
    } else {
      AddRingsInside(form, p, g);
    }
    form.BeginWave();
    form.BeginRound(islands - 1);
    for (int r = 0; r < p; ++r) form.Send(r, (r + g) % p, 1.0 / islands / g);
  }
  return std::move(form).BuildStreaming();
}

CollectiveForm HierarchicalDirectForm(Kind kind, const GroupNetwork& group) {
  const int p = group.ranks();
  const int g = group.per_island();
  FormBuilder form(group, Algorithm::kHierarchicalDirect);
  for (int pass = 0; pass < PassesOf(kind); ++pass) {
    AddLinksInside(form, p, g);
    form.BeginWave();
    form.BeginRound();
    for (int r = 0; r < p; ++r) {
      for (int to = r % g; to < p; to += g) {
        if (to != r) form.Send(r, to, 1.0 / p);
      }
    }
  }
  return std::move(form).BuildStreaming();
}

CollectiveForm PxnForm(const GroupNetwork& group) {
  const int p = group.ranks();
  const int g = group.per_island();
  FormBuilder form(group, Algorithm::kPxn, ProtocolUse::kPointToPoint);
  form.BeginWave();
  form.BeginRound();
  for (int r = 0; r < p; ++r) {
    for (int to = r - r % g; to < r - r % g + g; ++to) {
      if (to != r) form.Send(r, to, 1.0 / g);
    }
  }
  form.BeginWave(/*streams=*/true);
  form.BeginRound();
  for (int r = 0; r < p; ++r) {
    for (int to = r % g; to < p; to += g) {
      if (to != r) form.Send(r, to, static_cast<double>(g) / p);
    }
  }
  return std::move(form).Build();
}

CollectiveForm SwitchMulticastForm(Kind kind, const GroupNetwork& group) {
  FormBuilder form(group, Algorithm::kSwitchMulticast, ProtocolUse::kInSwitch);
  const double own = 1.0 / group.ranks();
  const double port = group.slowest_port();
  // All of it one way while owners take their part the other way.
  for (int pass = 0; pass < PassesOf(kind); ++pass) {
    form.AddWave({{ToSwitch(group)}}, {.island = port});
  }
  CollectiveForm made = std::move(form).BuildStreaming();
  if (kind == Kind::kAllReduce) made.all.island = (1 + own) * port;
  return made;
}

CollectiveForm SwitchTreeForm(const GroupNetwork& group) {
  FormBuilder form(group, Algorithm::kSwitchTree, ProtocolUse::kSwitchTree);
  const int g = group.per_island();
  const double port = group.slowest_port();
  // All of it one way while owners take their part the other way, and back.
  form.AddWave({{ToSwitch(group)}}, {.island = port});
  AddTrees(form, Kind::kAllReduce, group, RingLanes(group));
  form.AddWave({{ToSwitch(group)}}, {.island = port});
  CollectiveForm made = std::move(form).BuildStreaming();
  made.all.island = (1 + 1.0 / g) * port;
  return made;
}

CollectiveForm ReductionTreeForm(const GroupNetwork& group) {
  FormBuilder form(group, Algorithm::kReductionTree, ProtocolUse::kInSwitch);
  if (!group.crosses()) {
    form.AddWave({{ToSwitch(group)}}, {.island = group.slowest_port()});
    return std::move(form).Build();
  }
  const int p = group.ranks();
  const int g = group.hierarchical() ? group.per_island() : 1;
  // Up to the switch that joins the farthest two of a tree.
  int depth = 1;
  for (int r = g; r < p; ++r) {
    depth = std::max(
        depth, group.ports().NetworkHops(group.chip(r % g), group.chip(r)) / 2);
  }
  if (g > 1) AddRingsInside(form, p, g);
  const MachinePorts& ports = group.ports();
  form.AddWave(
      {{{Tier::kScaleOut, ports.nic_latency / 2 + ports.network_link, 2},
        {Tier::kScaleOut, ports.network_link, 2.0 * (depth - 1)}}},
      ReductionTreeLoads(group, g));
  if (g > 1) AddRingsInside(form, p, g);
  CollectiveForm made =
      g > 1 ? std::move(form).BuildStreaming() : std::move(form).Build();
  made.rings_inside = true;
  return made;
}

}  // namespace orrery
