#include "topology/routing/shortest_paths.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>

#include "topology/routing/same_bandwidth.h"

namespace orrery {
namespace {

bool BandwidthsDiffer(const Graph& graph) {
  absl::flat_hash_map<LinkClassId, double> first;
  for (LinkId id : graph.links()) {
    const double bandwidth = graph.link(id).bandwidth.value();
    const auto [found, is_new] =
        first.try_emplace(graph.link(id).link_class, bandwidth);
    if (BandwidthDiffers(found->second, bandwidth)) return true;
  }
  return false;
}

}  // namespace

ShortestPaths::ShortestPaths(const Graph& graph)
    : graph_(graph), bandwidths_differ_(BandwidthsDiffer(graph)) {
  for (Side* side : {&forward_, &backward_}) {
    side->stamp.assign(graph.vertex_count(), 0);
    side->depth.assign(graph.vertex_count(), 0);
    side->paths.assign(graph.vertex_count(), 0);
  }
  flow_.assign(graph.vertex_count(), 0);
}

void ShortestPaths::Start(Side& side, VertexId at) {
  side.order.assign(1, at);
  side.level_begin = 0;
  side.stamp[Index(at)] = search_;
  side.depth[Index(at)] = 0;
  side.paths[Index(at)] = 1;
}

bool ShortestPaths::Allows(const Domain& domain, VertexId v) const {
  if (domain.island && graph_.island(v) != domain.island) return false;
  return !domain.groups || graph_.group(v) < 0 ||
         graph_.group(v) == domain.groups->first ||
         graph_.group(v) == domain.groups->second;
}

// Reaches everything one link beyond the deepest level.
template <Direction kDirection>
void ShortestPaths::Advance(Side& side, VertexId origin, const Domain& domain) {
  const size_t level_end = side.order.size();
  const int32_t next_depth = side.depth[Index(side.order.back())] + 1;
  for (size_t i = side.level_begin; i < level_end; ++i) {
    const VertexId at = side.order[i];
    if (at != origin && !graph_.forwards(at)) continue;
    for (LinkId id : graph_.links_at(at, kDirection)) {
      const VertexId next = graph_.far_end(id, kDirection);
      if (!Allows(domain, next)) continue;
      const size_t n = Index(next);
      if (side.stamp[n] != search_) {
        side.stamp[n] = search_;
        side.depth[n] = next_depth;
        side.paths[n] = 0;
        side.order.push_back(next);
      }
      if (side.depth[n] == next_depth) {
        side.paths[n] += side.paths[Index(at)];
      }
    }
  }
  side.level_begin = level_end;
}

bool ShortestPaths::Search(VertexId from, VertexId to, const Domain& domain) {
  ++search_;
  Start(forward_, from);
  Start(backward_, to);
  // Every shortest path has exactly one vertex on the deepest forward level,
  // and that vertex is on the deepest backward level when the two first meet.
  while (true) {
    meeting_.clear();
    for (size_t i = forward_.level_begin; i < forward_.order.size(); ++i) {
      const VertexId v = forward_.order[i];
      if (!Reached(backward_, v)) continue;
      if (v != from && v != to && !graph_.forwards(v)) continue;
      meeting_.push_back(v);
    }
    if (!meeting_.empty()) return true;
    const size_t ahead = forward_.order.size() - forward_.level_begin;
    const size_t behind = backward_.order.size() - backward_.level_begin;
    if (ahead == 0 || behind == 0) return false;
    if (ahead <= behind) {
      Advance<Direction::kLeaving>(forward_, from, domain);
    } else {
      Advance<Direction::kEntering>(backward_, to, domain);
    }
  }
}

// Where the level that ends at `last` begins.
size_t ShortestPaths::LevelBegin(const Side& side, size_t last) const {
  const int32_t depth = side.depth[Index(side.order[last])];
  while (last > 0 && side.depth[Index(side.order[last - 1])] == depth) --last;
  return last;
}

// The links to `at` from the level before it, which is [begin, end) of the
// order; in the order of their ids. A switch of thousands of ports is reached
// over few of them, so the shorter of the two lists is looked through.
absl::Span<const LinkId> ShortestPaths::LinksBack(const Side& side,
                                                  bool is_forward, VertexId at,
                                                  size_t begin, size_t end) {
  const Direction back =
      is_forward ? Direction::kEntering : Direction::kLeaving;
  const Direction ahead =
      is_forward ? Direction::kLeaving : Direction::kEntering;
  const absl::Span<const LinkId> links = graph_.links_at(at, back);
  back_.clear();
  size_t ahead_links = 0;
  for (size_t i = begin; i < end && ahead_links < links.size(); ++i) {
    ahead_links += 1 + graph_.links_at(side.order[i], ahead).size();
  }
  if (ahead_links < links.size()) {
    for (size_t i = begin; i < end; ++i) {
      for (LinkId id : graph_.links_at(side.order[i], ahead)) {
        if (graph_.far_end(id, ahead) == at) back_.push_back(id);
      }
    }
    std::sort(back_.begin(), back_.end());
    return back_;
  }
  const int32_t depth = side.depth[Index(at)];
  for (LinkId id : links) {
    const size_t before = Index(graph_.far_end(id, back));
    if (side.stamp[before] == search_ && side.depth[before] + 1 == depth) {
      back_.push_back(id);
    }
  }
  return back_;
}

// Sends one unit through the meeting vertices in proportion to the number of
// paths through each, and follows it to both ends.
void ShortestPaths::Collect() {
  result_.clear();
  double total = 0;
  for (VertexId v : meeting_) {
    total += forward_.paths[Index(v)] * backward_.paths[Index(v)];
  }
  const auto spread = [&](const Side& side, bool is_forward) {
    for (VertexId v : meeting_) {
      flow_[Index(v)] =
          forward_.paths[Index(v)] * backward_.paths[Index(v)] / total;
    }
    const size_t begin = result_.size();
    // Deepest first: what reaches a vertex is known before it is passed on.
    // [level, end) is the level of `at` in the order, [before, level) the one
    // before it.
    size_t end = side.order.size(), level = end, before = end;
    for (size_t i = end; i-- > 0;) {
      if (i < level) {
        end = level;
        level = LevelBegin(side, i);
        before = level > 0 ? LevelBegin(side, level - 1) : 0;
      }
      const VertexId at = side.order[i];
      const double flow = flow_[Index(at)];
      flow_[Index(at)] = 0;
      if (flow == 0 || side.depth[Index(at)] == 0) continue;
      for (LinkId id : LinksBack(side, is_forward, at, before, level)) {
        const VertexId from =
            is_forward ? graph_.link(id).from : graph_.link(id).to;
        if (side.depth[Index(from)] > 0 && !graph_.forwards(from)) continue;
        const double share =
            flow * side.paths[Index(from)] / side.paths[Index(at)];
        flow_[Index(from)] += share;
        result_.push_back({id, share});
      }
    }
    if (is_forward) {
      std::reverse(result_.begin() + static_cast<std::ptrdiff_t>(begin),
                   result_.end());
    }
  };
  spread(forward_, true);
  forward_links_ = result_.size();
  spread(backward_, false);
}

// The sum over all paths of the least bandwidth on each, link by link: layer
// after layer of bandwidth, the paths whose links all reach up to it.
void ShortestPaths::WeighByBandwidth(VertexId from, VertexId to) {
  const size_t count = result_.size();
  // Distance of each link's start, which is also the order of the links.
  std::vector<size_t> levels(count);
  const int32_t length =
      forward_.depth[Index(meeting_[0])] + backward_.depth[Index(meeting_[0])];
  std::vector<double> narrowest;
  std::vector<double> widest;
  const auto bandwidth = [&](size_t i) {
    return graph_.link(result_[i].link).bandwidth.value();
  };
  for (size_t i = 0; i < count; ++i) {
    const Link& link = graph_.link(result_[i].link);
    levels[i] = static_cast<size_t>(
        i < forward_links_ ? forward_.depth[Index(link.from)]
                           : length - backward_.depth[Index(link.from)]);
    if (levels[i] >= widest.size()) {
      narrowest.push_back(bandwidth(i));
      widest.push_back(bandwidth(i));
    }
    narrowest[levels[i]] = std::min(narrowest[levels[i]], bandwidth(i));
    widest[levels[i]] = std::max(widest[levels[i]], bandwidth(i));
  }
  // Links of a level where all are equal set no limit.
  const auto limits = [&](size_t i) {
    return BandwidthDiffers(narrowest[levels[i]], widest[levels[i]]);
  };
  std::vector<double> layers;
  for (size_t i = 0; i < count; ++i) {
    if (limits(i)) layers.push_back(bandwidth(i));
  }
  if (layers.empty()) return;
  std::sort(layers.begin(), layers.end());
  layers.erase(
      std::unique(layers.begin(), layers.end(),
                  [](double a, double b) { return !BandwidthDiffers(a, b); }),
      layers.end());
  std::vector<double> shares(count, 0);
  double total = 0;
  double below = 0;
  for (const double layer : layers) {
    const auto reaches = [&](size_t i) {
      return !limits(i) || bandwidth(i) >= layer * (1 - kBandwidthRounding);
    };
    absl::flat_hash_map<VertexId, double> before = {{from, 1}};
    absl::flat_hash_map<VertexId, double> after = {{to, 1}};
    for (size_t i = 0; i < count; ++i) {
      const Link& link = graph_.link(result_[i].link);
      if (reaches(i)) before[link.to] += before[link.from];
    }
    for (size_t i = count; i-- > 0;) {
      const Link& link = graph_.link(result_[i].link);
      if (reaches(i)) after[link.from] += after[link.to];
    }
    for (size_t i = 0; i < count; ++i) {
      const Link& link = graph_.link(result_[i].link);
      if (!reaches(i)) continue;
      shares[i] += (layer - below) * before[link.from] * after[link.to];
    }
    total += (layer - below) * before[to];
    below = layer;
  }
  for (size_t i = 0; i < count; ++i) result_[i].share = shares[i] / total;
}

absl::Span<const LinkShare> ShortestPaths::Between(VertexId from, VertexId to) {
  CHECK(from != to);
  result_.clear();
  Domain domain;
  if (graph_.island(from) && graph_.island(from) == graph_.island(to)) {
    domain.island = graph_.island(from);
  } else if (graph_.group(from) >= 0 && graph_.group(to) >= 0) {
    domain.groups = {graph_.group(from), graph_.group(to)};
  }
  const bool narrowed = domain.island || domain.groups;
  if ((narrowed && Search(from, to, domain)) || Search(from, to, {})) {
    Collect();
    if (bandwidths_differ_) WeighByBandwidth(from, to);
  }
  return result_;
}

}  // namespace orrery
