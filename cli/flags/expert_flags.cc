#include "cli/flags/expert_flags.h"

#include <absl/algorithm/container.h>

#include <string>

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

absl::StatusOr<std::optional<ExpertExchange>> ReadExpertExchange(
    const Arguments& arguments, int ranks) {
  const std::string op = arguments.Get("op").value_or("all_reduce");
  if (!IsExpertExchange(op)) {
    for (const Flag& flag : ExpertFlags()) {
      if (!arguments.Has(flag.name)) continue;
      return absl::InvalidArgumentError(fmt::format(
          "--{} needs --op moe_dispatch or moe_combine", flag.name));
    }
    return std::optional<ExpertExchange>();
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
  const std::string algorithm =
      arguments.Get("algorithm").value_or("hierarchical");
  if (algorithm != "hierarchical" && algorithm != "direct") {
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
  exchange.traffic.by_island = algorithm == "hierarchical";
  exchange.shape = op == "moe_combine" ? CallShape::kTokensFromExperts
                                       : CallShape::kTokensToExperts;
  return std::optional<ExpertExchange>(std::move(exchange));
}

Seconds ExpertLowerBound(const ExpertTraffic& traffic, Bytes m, int islands,
                         int per_island, BytesPerSecond out_of_island,
                         BytesPerSecond port) {
  const bool crosses = islands > 1;
  const int places = crosses ? islands : per_island;
  const double needed =
      ExpectedPlaces(traffic.experts, traffic.experts_per_token, places) *
      (places - 1) / places;
  const double bytes = static_cast<double>(m.value()) /
                       traffic.experts_per_token * needed *
                       (crosses ? per_island : 1);
  return Seconds(bytes / (crosses ? out_of_island : port).value());
}

}  // namespace orrery
