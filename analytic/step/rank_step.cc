#include "analytic/step/rank_step.h"

#include <cstdint>

#include "analytic/step/rank_clock.h"
#include "base/check.h"

namespace orrery {
namespace {

// Beyond, a step would take seconds, or its tapes more than 100 MB.
constexpr int64_t kMostItems = 20'000'000;
constexpr int64_t kMostOnTapes = 4'000'000;
constexpr int kMostRanks = 2048;

// What tapes will have, nearly: ops and exchanges of all passes.
int64_t CountItems(const TapeQuestion& question) {
  int64_t items = 0;
  for (int stage = 0; stage < question.orders.layout.stages(); ++stage) {
    for (const int id : question.units.of_stage(stage)) {
      const PlanUnits::Unit& unit = question.units[id];
      items += unit.forward_tasks + unit.backward_tasks;
    }
  }
  return items * question.orders.micro_batches;
}

}  // namespace

std::optional<double> RunRankByRank(const RankTapes& tapes,
                                    const Placement& placement, bool meet,
                                    const std::optional<ExpertTraffic>& traffic,
                                    PriceList& prices) {
  const int of_stage =
      placement.ranks() / static_cast<int>(tapes.of_rank.size());
  if (placement.ranks() > kMostRanks || tapes.Count(of_stage) > kMostItems) {
    return std::nullopt;
  }
  const auto price = [&](const TapeCall& call, absl::Span<const int> chips) {
    const GroupSpan span = prices.Span(chips);
    if (MovesTokens(call.shape)) {
      CHECK(traffic.has_value());
      return prices.ExpertCall(call.bytes, span, *traffic,
                               call.shape == CallShape::kTokensFromExperts);
    }
    if (call.shape == CallShape::kAroundTheRing) {
      return call.steps * prices.RingStep(call.bytes, span);
    }
    return call.steps * prices.Call(call.kind, call.bytes, span);
  };
  RankClock clock(placement, tapes, price);
  if (clock.groups_are_alike() && !meet) return std::nullopt;
  return clock.Run();
}

std::optional<double> StepRankByRank(
    const TapeQuestion& question, const std::optional<ExpertTraffic>& traffic) {
  if (question.placement.ranks() > kMostRanks ||
      CountItems(question) > kMostOnTapes) {
    return std::nullopt;
  }
  // Both ends of a DualPipe meet in the middle of their passes.
  const bool meet = question.orders.layout.bidirectional() &&
                    question.plan.sharding() >= Sharding::kGradients;
  return RunRankByRank(WriteTapes(question), question.placement, meet, traffic,
                       question.prices);
}

}  // namespace orrery
