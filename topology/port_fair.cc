#include "topology/port_fair.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/check.h"

namespace orrery {
namespace {

// A flow at a hop of its path.
struct Passage {
  size_t flow;
  size_t hop;
};

// Flows that enter a link by one port: from one link before it, or from the
// chip where they start.
struct Port {
  std::vector<Passage> passages;
  double wanted = 0;
  double granted = 0;
};

using Rates = std::vector<std::vector<double>>;  // by flow and hop

// Equal parts of `capacity` to the ports, none more than it wants.
void Divide(double capacity, std::vector<Port*> ports) {
  std::sort(ports.begin(), ports.end(),
            [](const Port* a, const Port* b) { return a->wanted < b->wanted; });
  for (size_t i = 0; i < ports.size(); ++i) {
    const double part = capacity / static_cast<double>(ports.size() - i);
    ports[i]->granted = std::min(ports[i]->wanted, part);
    capacity -= ports[i]->granted;
  }
}

}  // namespace

std::vector<BytesPerSecond> PortFairRates(
    const Graph& graph, absl::Span<const std::vector<LinkId>> paths) {
  constexpr int kMostSweeps = 1000;
  constexpr double kSettled = 1e-12;
  // Ports of every link in use, by the link before (or -1 for the start).
  std::map<LinkId, std::map<int32_t, Port>> links;
  Rates rates(paths.size());
  for (size_t f = 0; f < paths.size(); ++f) {
    CHECK(!paths[f].empty());
    rates[f].assign(paths[f].size(), 0);
    for (size_t hop = 0; hop < paths[f].size(); ++hop) {
      if (hop > 0) {
        CHECK(graph.link(paths[f][hop - 1]).to ==
              graph.link(paths[f][hop]).from);
      }
      const int32_t before =
          hop == 0 ? -1 : static_cast<int32_t>(paths[f][hop - 1]);
      links[paths[f][hop]][before].passages.push_back({f, hop});
    }
  }
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    const Rates last = rates;
    double change = 0;
    for (auto& [link, ports] : links) {
      const double capacity = graph.link(link).bandwidth.value();
      // At its start a flow wants whatever there is.
      const auto arriving = [&](const Passage& p) {
        return p.hop == 0 ? capacity : last[p.flow][p.hop - 1];
      };
      std::vector<Port*> all;
      for (auto& [before, port] : ports) {
        port.wanted = 0;
        for (const Passage& p : port.passages) port.wanted += arriving(p);
        all.push_back(&port);
      }
      Divide(capacity, all);
      for (auto& [before, port] : ports) {
        for (const Passage& p : port.passages) {
          const double share = port.wanted > 0 ? arriving(p) / port.wanted : 0;
          double& rate = rates[p.flow][p.hop];
          const double next = port.granted * share;
          change = std::max(change, std::abs(next - rate) / capacity);
          rate = next;
        }
      }
    }
    if (change < kSettled) break;
  }
  std::vector<BytesPerSecond> result;
  for (const std::vector<double>& along : rates) {
    result.emplace_back(along.back());
  }
  return result;
}

}  // namespace orrery
