#include "sim/folding/node_resources.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <numeric>

#include "sim/folding/marks.h"

namespace orrery {
namespace {

// The lowest vertex of a kind that a link leads to, or -1.
int32_t LowestAt(const Graph& graph, VertexId v, VertexKind kind,
                 bool in_island) {
  int32_t lowest = -1;
  for (LinkId id : graph.leaving(v)) {
    const VertexId to = graph.link(id).to;
    if (graph.kind(to) != kind || graph.island(to).has_value() != in_island) {
      continue;
    }
    if (lowest < 0 || static_cast<int32_t>(to) < lowest) {
      lowest = static_cast<int32_t>(to);
    }
  }
  return lowest;
}

// Of each item the first that is equal.
void AppendFirsts(const std::vector<int32_t>& items,
                  std::vector<int32_t>& firsts) {
  constexpr size_t kFew = 16;
  if (items.size() <= kFew) {
    for (const int32_t item : items) {
      const auto first = std::find(items.begin(), items.end(), item);
      firsts.push_back(static_cast<int32_t>(first - items.begin()));
    }
    return;
  }
  absl::flat_hash_map<int32_t, int32_t> first;
  first.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    firsts.push_back(
        first.try_emplace(items[i], static_cast<int32_t>(i)).first->second);
  }
}

}  // namespace

NodeResources::NodeResources(const System& system, const Network& network)
    : chips_per_node_(system.chips_per_node()) {
  const Graph& graph = network.graph();
  const NetworkResources& resources = network.resources();
  if (!system.faults().empty()) {
    faulty_ = NodesWithFaults(system);
    if (system.scale_up() && system.scale_up()->spans_nodes) {
      faulty_.assign(faulty_.size(), true);
    }
  }
  node_.resize(resources.capacities().size(), -1);
  place_.resize(resources.capacities().size(), -1);
  of_node_.resize(static_cast<size_t>(system.nodes()));
  IdVector<VertexId, int32_t> node_of(graph.vertex_count(), -1);
  for (VertexId v : graph.vertices()) {
    if (graph.kind(v) == VertexKind::kChip) {
      node_of[v] = NodeOf(static_cast<int32_t>(v));
    } else if (graph.island(v)) {
      node_of[v] = *graph.island(v);
    } else if (graph.kind(v) == VertexKind::kNic) {
      const int32_t chip =
          LowestAt(graph, v, VertexKind::kChip,
                   graph.island(static_cast<VertexId>(0)).has_value());
      if (chip >= 0) node_of[v] = NodeOf(chip);
    }
  }
  for (LinkId id : graph.links()) {
    const Link& link = graph.link(id);
    const int32_t from = node_of[link.from];
    const int32_t to = node_of[link.to];
    if (from < 0 && to < 0) continue;
    if (from >= 0 && to >= 0 && from != to) continue;  // between two nodes
    const ResourceId resource = resources.of(id);
    if (place_[resource] >= 0) continue;
    node_[resource] = std::max(from, to);
    auto& own = of_node_[static_cast<size_t>(node_[resource])];
    place_[resource] = static_cast<int32_t>(own.size());
    own.push_back(resource);
  }
  leaves_.resize(static_cast<size_t>(system.chips()));
  pods_.resize(leaves_.size());
  for (size_t chip = 0; chip < leaves_.size(); ++chip) {
    for (LinkId id : graph.leaving(static_cast<VertexId>(chip))) {
      const VertexId nic = graph.link(id).to;
      if (graph.kind(nic) != VertexKind::kNic) continue;
      const int32_t leaf = LowestAt(graph, nic, VertexKind::kSwitch, false);
      leaves_[chip].push_back(leaf);
      pods_[chip].push_back(leaf < 0
                                ? -1
                                : LowestAt(graph, static_cast<VertexId>(leaf),
                                           VertexKind::kSwitch, false));
    }
  }
}

bool NodeResources::OnWholeNodes(const std::vector<int>& chips) const {
  if (faulty_.empty()) return true;
  return std::none_of(chips.begin(), chips.end(), [&](int chip) {
    return faulty_[static_cast<size_t>(NodeOf(chip))] != 0;
  });
}

bool NodeResources::OnOneNode(const std::vector<int>& chips) const {
  return std::all_of(chips.begin(), chips.end(), [&](int chip) {
    return NodeOf(chip) == NodeOf(chips.front());
  });
}

std::vector<int32_t> OrderOf(const std::vector<int>& chips) {
  std::vector<int32_t> order(chips.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return chips[static_cast<size_t>(a)] < chips[static_cast<size_t>(b)];
  });
  return order;
}

std::vector<int32_t> NodeResources::ShapeOf(
    const std::vector<int>& chips) const {
  std::vector<int32_t> shape;
  for (const int chip : chips) shape.push_back(chip % chips_per_node_);
  if (OnOneNode(chips)) return shape;
  const std::vector<int32_t> shared = SharedPlaces(chips);
  shape.insert(shape.end(), shared.begin(), shared.end());
  return shape;
}

std::vector<int32_t> NodeResources::SharedPlaces(
    const std::vector<int>& chips) const {
  std::vector<int32_t> shape;
  shape.reserve(chips.size() * 4);
  // Of each member, and of each of its NICs, the first that shares its node,
  // its leaf, its pod.
  std::vector<int32_t> nodes, leaves, pods;
  for (const int chip : chips) {
    const auto& own_leaves = leaves_[static_cast<size_t>(chip)];
    const auto& own_pods = pods_[static_cast<size_t>(chip)];
    nodes.push_back(NodeOf(chip));
    leaves.insert(leaves.end(), own_leaves.begin(), own_leaves.end());
    pods.insert(pods.end(), own_pods.begin(), own_pods.end());
  }
  for (const std::vector<int32_t>* places : {&nodes, &leaves, &pods}) {
    AppendFirsts(*places, shape);
  }
  // Algorithms take members in the order of chips.
  const std::vector<int32_t> order = OrderOf(chips);
  shape.insert(shape.end(), order.begin(), order.end());
  return shape;
}

bool NodeResources::NodesKeepToLeaves() const {
  for (const auto* places : {&leaves_, &pods_}) {
    // A node whose chips are at two switches may share neither.
    absl::flat_hash_map<int32_t, int32_t> node_at;
    absl::flat_hash_map<int32_t, int32_t> place_of_node;
    std::vector<char> split(of_node_.size(), false);
    for (size_t chip = 0; chip < places->size(); ++chip) {
      const int32_t node = NodeOf(static_cast<int>(chip));
      for (const int32_t at : (*places)[chip]) {
        const auto [found, is_new] = place_of_node.try_emplace(node, at);
        if (found->second != at) split[static_cast<size_t>(node)] = true;
      }
    }
    for (size_t chip = 0; chip < places->size(); ++chip) {
      const int32_t node = NodeOf(static_cast<int>(chip));
      for (const int32_t at : (*places)[chip]) {
        const auto [found, is_new] = node_at.try_emplace(at, node);
        if (found->second != node &&
            (split[static_cast<size_t>(node)] ||
             split[static_cast<size_t>(found->second)])) {
          return false;
        }
      }
    }
  }
  return true;
}

bool NodeResources::Holds(const PlanSteps& plan) const {
  for (const TransferStep& step : plan.steps) {
    for (const ResourceUse& use : step.uses) {
      if (!Holds(use.resource)) return false;
    }
  }
  return true;
}

std::optional<std::vector<LinkPlace>> NodeResources::PlacesOf(
    absl::Span<const ResourceId> resources,
    const std::vector<int>& members) const {
  absl::flat_hash_map<int32_t, int32_t> first;  // of each node
  for (size_t i = 0; i < members.size(); ++i) {
    first.try_emplace(NodeOf(members[i]), static_cast<int32_t>(i));
  }
  std::vector<LinkPlace> places;
  places.reserve(resources.size());
  for (const ResourceId resource : resources) {
    const auto found = first.find(node_[resource]);
    if (found == first.end()) return std::nullopt;
    places.push_back({found->second, place_[resource]});
  }
  return places;
}

}  // namespace orrery
