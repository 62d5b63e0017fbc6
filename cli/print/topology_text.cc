#include "cli/print/topology_text.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/units_text.h"
#include "cli/print/json.h"
#include "topology/graph/link_tiers.h"
#include "topology/graph/metrics.h"

namespace orrery {
namespace {

// Rows of a picture, from the chips up, and what stands in them.
class Levels {
 public:
  explicit Levels(const Graph& graph) {
    const IdVector<VertexId, int32_t> hops =
        HopsFrom(graph, VertexKind::kNic, [&](VertexId id) {
          return graph.kind(id) == VertexKind::kSwitch &&
                 !graph.island(id).has_value();
        });
    for (const VertexId id : graph.vertices()) {
      std::string name;
      switch (graph.kind(id)) {
        case VertexKind::kChip:
          name = "chips";
          break;
        case VertexKind::kNic:
          name = "NICs";
          break;
        case VertexKind::kSwitch:
          name = graph.island(id).has_value()
                     ? "switches inside nodes"
                     : fmt::format("switches, tier {}", std::max(1, hops[id]));
          break;
      }
      auto found =
          std::find_if(rows_.begin(), rows_.end(),
                       [&](const Row& row) { return row.name == name; });
      if (found == rows_.end()) {
        rows_.push_back({name, {}});
        found = std::prev(rows_.end());
      }
      found->vertices.push_back(id);
    }
  }

  struct Row {
    std::string name;
    std::vector<VertexId> vertices;
  };
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
};

int Number(VertexId id) { return static_cast<int>(id); }

// "0 .. 31, 40": ids are given out in runs.
std::string Ranges(const std::vector<VertexId>& ids) {
  constexpr int kMostRuns = 3;
  std::string text;
  int runs = 0;
  for (size_t i = 0; i < ids.size();) {
    size_t last = i;
    while (last + 1 < ids.size() &&
           Number(ids[last + 1]) == Number(ids[last]) + 1) {
      ++last;
    }
    if (runs++ == kMostRuns) return text + ", ...";
    text += text.empty() ? "" : ", ";
    text += last == i
                ? fmt::format("{}", Number(ids[i]))
                : fmt::format("{} .. {}", Number(ids[i]), Number(ids[last]));
    i = last + 1;
  }
  return text;
}

struct TierSum {
  int64_t links = 0;
  int64_t cables = 0;
  BytesPerSecond each{};
  BytesPerSecond together{};
  LinkId first{};
};

// A bisection of more chips than these takes too long.
constexpr size_t kMostForBisection = 4096;

// The halves of a machine of several nodes lie apart: what crosses between them
// is held against what their NICs can send, not against the links inside nodes.
std::string BisectionText(const System& system, const Graph& graph) {
  const BytesPerSecond out = NicInjection(graph);
  const bool apart = system.nodes() > 1 && out.value() > 0;
  const BytesPerSecond injection = Injection(graph);
  std::string text;
  const auto add = [&](absl::string_view what, BytesPerSecond rate,
                       const std::string& of) {
    text += fmt::format("  {:<40} {:>12}{}\n", what, ToText(rate, 4), of);
  };
  if (out.value() > 0) {
    const BytesPerSecond in(injection.value() - out.value());
    if (in.value() > 0) add("injection inside nodes, one way", in, "");
    add("injection between nodes, one way", out, "");
  } else {
    add("injection, all chips, one way", injection, "");
  }
  const std::vector<VertexId> chips = Chips(graph);
  if (chips.size() < 2) return text;
  if (chips.size() > kMostForBisection) {
    return text + fmt::format("  bisection: not computed above {} chips\n",
                              kMostForBisection);
  }
  if (!apart) {
    const BytesPerSecond half = Bisection(graph);
    add("bisection, one way", half,
        fmt::format(", {:.0f} % of half the injection",
                    100 * (half / (injection * 0.5))));
    return text;
  }
  const BytesPerSecond half = BisectionOfNodes(graph, system.chips_per_node());
  const int nodes = system.nodes() / 2;
  add("bisection between nodes, one way", half,
      fmt::format(", {:.0f} % of what {} of the {} nodes can send",
                  100 * (half / (out * (1.0 * nodes / system.nodes()))), nodes,
                  system.nodes()));
  return text;
}

// Islands have link classes of their own; people see one.
using TierSums = std::map<std::pair<LinkTier::End, std::string>, TierSum>;

TierSums SumTiers(const Graph& graph) {
  const LinkTiers tiers(graph);
  TierSums sums;
  for (const LinkId id : graph.links()) {
    const Link& link = graph.link(id);
    const LinkTier tier = tiers.of(id);
    auto [found, added] = sums.try_emplace({tier.low, tiers.Name(tier)});
    TierSum& sum = found->second;
    if (added) {
      sum.first = id;
      sum.each = link.bandwidth * (1.0 / link.cables);
    }
    ++sum.links;
    sum.cables += link.cables;
    sum.together += link.bandwidth;
  }
  return sums;
}

}  // namespace

std::string TopologyText(const System& system, const Graph& graph) {
  std::string text = fmt::format("{}: {} node{} of {} chips\n\n", system.name(),
                                 system.nodes(), system.nodes() == 1 ? "" : "s",
                                 system.chips_per_node());
  text += fmt::format("{:<42} {:>8}   {}\n", "vertices", "count", "ids");
  const Levels levels(graph);
  for (const Levels::Row& row : levels.rows()) {
    text += fmt::format("  {:<40} {:>8}   {}\n", row.name, row.vertices.size(),
                        Ranges(row.vertices));
  }
  const auto sums = SumTiers(graph);
  text += fmt::format("\n{:<48} {:>8} {:>8} {:>12} {:>12}\n",
                      "links, both ways counted once", "links", "cables",
                      "a cable", "together");
  for (const auto& [key, sum] : sums) {
    text += fmt::format("  {:<46} {:>8} {:>8} {:>12} {:>12}\n", key.second,
                        sum.links / 2, sum.cables / 2, ToText(sum.each, 4),
                        ToText(sum.together * 0.5, 4));
  }
  text += "\n" + BisectionText(system, graph);
  text += "\nto cut or slow a link of a chip in a scenario, for example\n";
  for (const auto& [key, sum] : sums) {
    const Link& link = graph.link(sum.first);
    const bool from_chip = graph.kind(link.from) == VertexKind::kChip;
    if (!from_chip && graph.kind(link.to) != VertexKind::kChip) continue;
    text += fmt::format(
        "  system {{ fault {{ from: {} to: {} remaining: 0.5 }} }}   # {}\n",
        Number(from_chip ? link.from : link.to),
        Number(from_chip ? link.to : link.from), key.second);
  }
  return text;
}

std::string TopologyJson(const Graph& graph) {
  std::vector<std::string> rows;
  const Levels levels(graph);
  for (const Levels::Row& row : levels.rows()) {
    rows.push_back(
        fmt::format("  {{\"kind\": \"vertices\", \"name\": {}, \"count\": {}, "
                    "\"ids\": {}}}",
                    JsonString(row.name), row.vertices.size(),
                    JsonString(Ranges(row.vertices))));
  }
  for (const auto& [key, sum] : SumTiers(graph)) {
    rows.push_back(fmt::format(
        "  {{\"kind\": \"links\", \"name\": {}, \"count\": {}, \"cables\": {}, "
        "\"cable_bytes_per_s\": {}, \"bytes_per_s\": {}}}",
        JsonString(key.second), sum.links / 2, sum.cables / 2,
        JsonNumberText(sum.each.value()),
        JsonNumberText(sum.together.value() / 2)));
  }
  return fmt::format("[\n{}\n]\n", absl::StrJoin(rows, ",\n"));
}

std::string TopologyDot(const System& system, const Graph& graph) {
  std::string text = fmt::format(
      "graph \"{}\" {{\n  node [shape=box, fontsize=10];\n", system.name());
  std::map<int32_t, std::vector<VertexId>> islands;
  for (const VertexId id : graph.vertices()) {
    text += fmt::format(
        "  v{} [label=\"{}\"{}];\n", Number(id), VertexName(graph, id),
        graph.kind(id) == VertexKind::kSwitch ? ", shape=ellipse" : "");
    if (graph.island(id)) islands[*graph.island(id)].push_back(id);
  }
  for (const auto& [island, members] : islands) {
    text += fmt::format("  subgraph cluster_{} {{ label=\"node {}\";", island,
                        island);
    for (const VertexId id : members) text += fmt::format(" v{};", Number(id));
    text += " }\n";
  }
  for (const LinkId id : graph.links()) {
    const Link& link = graph.link(id);
    if (Number(link.from) > Number(link.to)) continue;
    text += fmt::format(
        "  v{} -- v{} [label=\"{}{}\"];\n", Number(link.from), Number(link.to),
        ToText(link.bandwidth, 3),
        link.cables > 1 ? fmt::format(", {} cables", link.cables) : "");
  }
  return text + "}\n";
}

absl::StatusOr<std::string> TopologySvg(const System& system,
                                        const Graph& graph) {
  constexpr size_t kMost = 600;
  if (graph.vertex_count() > kMost) {
    return absl::InvalidArgumentError(fmt::format(
        "a picture of {} vertices cannot be read; at most {} are drawn: take "
        "fewer nodes with --nodes",
        graph.vertex_count(), kMost));
  }
  constexpr double kMargin = 30, kRowHeight = 90, kWidth = 1200;
  struct Place {
    double x, y;
  };
  std::vector<Place> places(graph.vertex_count());
  const Levels levels(graph);
  double height = kMargin;
  std::string labels;
  for (auto row = levels.rows().rbegin(); row != levels.rows().rend(); ++row) {
    // A grid of chips is drawn as one, planes side by side.
    const Grid* grid = nullptr;
    for (const Grid& g : graph.grids()) {
      if (g.vertices.size() == row->vertices.size() &&
          graph.kind(g.vertices.front()) == VertexKind::kChip) {
        grid = &g;
      }
    }
    labels +=
        fmt::format("<text x=\"4\" y=\"{:.0f}\" font-size=\"11\">{}</text>\n",
                    height - 12, row->name);
    if (grid != nullptr && grid->shape.size() > 1) {
      const int x_side = grid->shape[0];
      const int y_side = grid->shape[1];
      const int planes =
          static_cast<int>(grid->vertices.size()) / (x_side * y_side);
      const double step =
          std::min(40.0, (kWidth - 2 * kMargin) / ((x_side + 1) * planes));
      for (size_t i = 0; i < grid->vertices.size(); ++i) {
        const int p = static_cast<int>(i);
        const int plane = p / (x_side * y_side);
        places[Index(grid->vertices[i])] = {
            kMargin + step * (p % x_side + plane * (x_side + 1) + 0.5) +
                4.0 * (p / x_side % y_side),
            height + step * (p / x_side % y_side) + 10};
      }
      height += step * y_side + kMargin;
      continue;
    }
    const double step =
        (kWidth - 2 * kMargin) / static_cast<double>(row->vertices.size());
    for (size_t i = 0; i < row->vertices.size(); ++i) {
      places[Index(row->vertices[i])] = {
          kMargin + step * (static_cast<double>(i) + 0.5), height};
    }
    height += kRowHeight;
  }
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "font-family=\"sans-serif\">\n<title>{}</title>\n<rect width=\"100%\" "
      "height=\"100%\" fill=\"white\"/>\n",
      kWidth, height, system.name());
  for (const LinkId id : graph.links()) {
    const Link& link = graph.link(id);
    if (Number(link.from) > Number(link.to)) continue;
    const Place a = places[Index(link.from)];
    const Place b = places[Index(link.to)];
    text += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" "
        "stroke=\"#888\" stroke-width=\"{:.1f}\"><title>{} - {}: {}</title>"
        "</line>\n",
        a.x, a.y, b.x, b.y, 0.5 + 0.5 * std::log2(1.0 + link.cables),
        VertexName(graph, link.from), VertexName(graph, link.to),
        ToText(link.bandwidth, 3));
  }
  for (const VertexId id : graph.vertices()) {
    const char* fill = graph.kind(id) == VertexKind::kChip  ? "#4a7"
                       : graph.kind(id) == VertexKind::kNic ? "#c93"
                                                            : "#36c";
    text += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"><title>{}"
        "</title></circle>\n",
        places[Index(id)].x, places[Index(id)].y, fill, VertexName(graph, id));
  }
  return text + labels + "</svg>\n";
}

}  // namespace orrery
