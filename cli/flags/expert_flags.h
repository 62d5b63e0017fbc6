#pragma once
// An exchange of tokens with experts as `orrery collective` is asked for it:
// --op moe_dispatch or moe_combine, --experts, --experts-per-token.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <vector>

#include "analytic/collective/alpha_beta.h"
#include "cli/flags/command.h"
#include "topology/graph/graph.h"
#include "topology/traffic/call_shape.h"
#include "topology/traffic/expert_traffic.h"

namespace orrery {

struct ExpertExchange {
  ExpertTraffic traffic;
  CallShape shape = CallShape::kTokensToExperts;
};

std::vector<Flag> ExpertFlags();

// The operations that are one.
inline constexpr absl::string_view kExpertExchanges[] = {"moe_dispatch",
                                                         "moe_combine"};
bool IsExpertExchange(absl::string_view op);

// The ways to run it, of which the cheapest is to be taken; none for other
// operations. Experts are spread evenly over `ranks`, and tokens over experts.
// --algorithm hierarchical sends a token to each node once, direct sends every
// copy by itself; without it there are both.
absl::StatusOr<std::vector<ExpertExchange>> ReadExpertExchanges(
    const Arguments& arguments, int ranks);

// What no such exchange can beat: each of m / k bytes crosses once to every
// island that needs it, where there is one island once to every rank.
Seconds ExpertLowerBound(const ExpertTraffic& traffic, Bytes m,
                         const Graph& graph, absl::Span<const VertexId> chips);

}  // namespace orrery
