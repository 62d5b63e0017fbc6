#include "topology/graph/max_flow.h"

#include <algorithm>
#include <limits>

namespace orrery {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

class Dinic {
 public:
  explicit Dinic(size_t vertices) : first_(vertices, -1) {}

  void AddArc(size_t from, size_t to, double capacity) {
    arcs_.push_back({to, first_[from], capacity});
    first_[from] = static_cast<int>(arcs_.size()) - 1;
    arcs_.push_back({from, first_[to], 0});
    first_[to] = static_cast<int>(arcs_.size()) - 1;
    if (capacity != kUnlimited) largest_ = std::max(largest_, capacity);
  }

  double Run(size_t source, size_t sink) {
    double flow = 0;
    while (Level(source, sink)) {
      next_ = first_;
      while (const double pushed = Push(source, sink)) flow += pushed;
    }
    return flow;
  }

 private:
  struct Arc {
    size_t to;
    int next;
    double capacity;
  };

  // What is left below this share of the largest arc is rounding.
  bool Open(const Arc& arc) const { return arc.capacity > 1e-9 * largest_; }

  bool Level(size_t source, size_t sink) {
    level_.assign(first_.size(), -1);
    level_[source] = 0;
    queue_.assign(1, source);
    for (size_t head = 0; head < queue_.size(); ++head) {
      const size_t at = queue_[head];
      for (int a = first_[at]; a >= 0; a = arcs_[static_cast<size_t>(a)].next) {
        const Arc& arc = arcs_[static_cast<size_t>(a)];
        if (!Open(arc) || level_[arc.to] >= 0) continue;
        level_[arc.to] = level_[at] + 1;
        queue_.push_back(arc.to);
      }
    }
    return level_[sink] >= 0;
  }

  // One augmenting path along rising levels, found without recursion.
  double Push(size_t source, size_t sink) {
    path_.clear();
    size_t at = source;
    while (at != sink) {
      int& a = next_[at];
      while (a >= 0) {
        const Arc& arc = arcs_[static_cast<size_t>(a)];
        if (Open(arc) && level_[arc.to] == level_[at] + 1) break;
        a = arc.next;
      }
      if (a >= 0) {
        path_.push_back(static_cast<size_t>(a));
        at = arcs_[static_cast<size_t>(a)].to;
        continue;
      }
      if (at == source) return 0;
      level_[at] = -1;  // a dead end
      at = arcs_[path_.back() ^ 1].to;
      path_.pop_back();
    }
    double amount = kUnlimited;
    for (size_t a : path_) amount = std::min(amount, arcs_[a].capacity);
    for (size_t a : path_) {
      arcs_[a].capacity -= amount;
      arcs_[a ^ 1].capacity += amount;
    }
    return amount;
  }

  std::vector<Arc> arcs_;
  std::vector<int> first_;
  std::vector<int> next_;
  std::vector<int> level_;
  std::vector<size_t> queue_;
  std::vector<size_t> path_;
  double largest_ = 0;
};

}  // namespace

BytesPerSecond MaxFlow(const Graph& graph, absl::Span<const VertexId> sources,
                       absl::Span<const VertexId> sinks) {
  CHECK(!sources.empty() && !sinks.empty());
  const size_t source = graph.vertex_count();
  const size_t sink = source + 1;
  Dinic dinic(graph.vertex_count() + 2);
  for (LinkId id : graph.links()) {
    const Link& link = graph.link(id);
    if (link.bandwidth.value() <= 0) continue;
    dinic.AddArc(Index(link.from), Index(link.to), link.bandwidth.value());
  }
  for (VertexId id : sources) dinic.AddArc(source, Index(id), kUnlimited);
  for (VertexId id : sinks) dinic.AddArc(Index(id), sink, kUnlimited);
  return BytesPerSecond(dinic.Run(source, sink));
}

}  // namespace orrery
