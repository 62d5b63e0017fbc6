#include "cli/flags/expert_flags.h"

#include <absl/algorithm/container.h>

#include <string>

#include "analytic/collective/collective_bounds.h"
#include "analytic/collective/expert_forms.h"
#include "base/format.h"
#include "base/status.h"
#include "cli/flags/number_flags.h"

namespace orrery {
namespace {

// As in DeepSeek-V3.
constexpr int kExperts = 256;
constexpr int kExpertsPerToken = 8;
constexpr int64_t kMostExperts = 1'000'000;

}  // namespace

std::vector<Flag> ExpertFlags() {
  return {{.name = "experts",
           .value = "N",
           .help = "of moe_dispatch and moe_combine (default 256)"},
          {.name = "experts-per-token",
           .value = "K",
           .help = "experts that a token goes to (default 8)"}};
}

bool IsExpertExchange(absl::string_view op) {
  return absl::c_linear_search(kExpertExchanges, op);
}

absl::StatusOr<std::vector<ExpertExchange>> ReadExpertExchanges(
    const Arguments& arguments, int ranks) {
  const std::string op = arguments.Get("op").value_or("all_reduce");
  if (!IsExpertExchange(op)) {
    for (const Flag& flag : ExpertFlags()) {
      if (!arguments.Has(flag.name)) continue;
      return absl::InvalidArgumentError(fmt::format(
          "--{} needs --op moe_dispatch or moe_combine", flag.name));
    }
    return std::vector<ExpertExchange>();
  }
  ASSIGN_OR_RETURN(const int64_t experts,
                   CountFlag(arguments, "experts", kExperts));
  ASSIGN_OR_RETURN(const int64_t chosen,
                   CountFlag(arguments, "experts-per-token", kExpertsPerToken));
  if (experts > kMostExperts || experts % ranks != 0) {
    return absl::InvalidArgumentError(
        fmt::format("--experts {}: write a multiple of the {} chips, at most "
                    "{}",
                    experts, ranks, kMostExperts));
  }
  if (chosen > experts) {
    return absl::InvalidArgumentError(fmt::format(
        "--experts-per-token {}: there are {} experts", chosen, experts));
  }
  const std::string algorithm = arguments.Get("algorithm").value_or("");
  if (!algorithm.empty() && algorithm != "hierarchical" &&
      algorithm != "direct") {
    return absl::InvalidArgumentError(
        fmt::format("--algorithm '{}': {} takes hierarchical (a token once per "
                    "node and chip) or "
                    "direct (every copy by itself)",
                    algorithm.substr(0, 40), op));
  }
  ExpertExchange exchange;
  exchange.traffic.experts = static_cast<int>(experts);
  exchange.traffic.experts_per_token = static_cast<int>(chosen);
  exchange.traffic.share.assign(static_cast<size_t>(ranks), 1.0 / ranks);
  exchange.shape = op == "moe_combine" ? CallShape::kTokensFromExperts
                                       : CallShape::kTokensToExperts;
  std::vector<ExpertExchange> ways;
  for (const bool by_island : {true, false}) {
    if (algorithm == (by_island ? "direct" : "hierarchical")) continue;
    ways.push_back(exchange);
    ways.back().traffic.by_island = by_island;
  }
  return ways;
}

Seconds ExpertLowerBound(const ExpertTraffic& traffic, Bytes m,
                         const Graph& graph, absl::Span<const VertexId> chips) {
  const IslandEdge edge = EdgeOfIslands(graph, chips);
  const bool crosses = edge.islands > 1;
  const int places = crosses ? edge.islands : static_cast<int>(chips.size());
  const double needed =
      ExpectedPlaces(traffic.experts, traffic.experts_per_token, places) *
      (places - 1) / places;
  const double bytes = static_cast<double>(m.value()) /
                       traffic.experts_per_token * needed *
                       (crosses ? edge.per_island : 1);
  const BytesPerSecond out =
      crosses ? edge.out : PortsOfRanks(graph, chips).mean;
  return Seconds(bytes / out.value());
}

}  // namespace orrery
