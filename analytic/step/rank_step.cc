#include "analytic/step/rank_step.h"

#include <cstdint>

#include "analytic/step/rank_clock.h"
#include "base/check.h"

namespace orrery {

std::optional<double> StepRankByRank(
    const TapeQuestion& question, const std::optional<ExpertTraffic>& traffic) {
  // A second or so.
  constexpr int64_t kMostItems = 20'000'000;
  constexpr int kMostRanks = 2048;
  if (question.placement.ranks() > kMostRanks) return std::nullopt;
  const RankTapes tapes = WriteTapes(question);
  const int of_stage =
      question.placement.ranks() / static_cast<int>(tapes.of_rank.size());
  if (tapes.Count(of_stage) > kMostItems) return std::nullopt;
  PriceList& prices = question.prices;
  const auto price = [&](const TapeCall& call, absl::Span<const int> chips) {
    const GroupSpan span = prices.Span(chips);
    if (MovesTokens(call.shape)) {
      CHECK(traffic.has_value());
      return prices.ExpertCall(call.bytes, span, *traffic,
                               call.shape == CallShape::kTokensFromExperts);
    }
    return call.steps * prices.Call(call.kind, call.bytes, span);
  };
  RankClock clock(question.placement, tapes, price);
  // Both ends of a DualPipe meet in the middle of their passes.
  const bool meet = question.orders.layout.bidirectional() &&
                    question.plan.sharding() >= Sharding::kGradients;
  if (clock.groups_are_alike() && !meet) return std::nullopt;
  return clock.Run();
}

}  // namespace orrery
