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
  for (const PlanUnits* units : question.units) {
    for (int stage = 0; stage < question.orders.layout.stages(); ++stage) {
      for (const int id : units->of_stage(stage)) {
        const PlanUnits::Unit& unit = (*units)[id];
        items += unit.forward_tasks + unit.backward_tasks;
      }
    }
  }
  return items * question.orders.micro_batches;
}

}  // namespace

std::optional<double> RunRankByRank(const TapeRun& run, PriceList& prices) {
  const auto price = [&](const TapeCall& call, absl::Span<const int> chips) {
    const GroupSpan span = prices.Span(chips);
    if (MovesTokens(call.shape)) {
      CHECK(run.traffic.has_value());
      return prices
          .ExpertCall(call.bytes, span, *run.traffic,
                      call.shape == CallShape::kTokensFromExperts)
          .seconds;
    }
    if (call.shape == CallShape::kAroundTheRing) {
      return call.steps * prices.RingStep(call.bytes, span).seconds;
    }
    return call.steps * prices.Call(call.kind, call.bytes, span);
  };
  const auto clock_of = [&](RankClock::Ranks ranks) {
    return RankClock(run.placement, run.classes, run.tapes, run.slow, price,
                     ranks);
  };
  bool alike = run.placed_alike;
  std::optional<RankClock> every;
  if (run.placement.ranks() <= kMostRanks) {
    every.emplace(clock_of(RankClock::kEvery));
    alike = every->groups_are_alike();
    if (every->CountItems() > kMostItems) every.reset();
  }
  if (alike) {
    if (run.passes_tell) return std::nullopt;
    RankClock one_of_each = clock_of(RankClock::kOneOfEach);
    if (one_of_each.stands_for_all()) {
      if (one_of_each.CountItems() > kMostItems) return std::nullopt;
      return one_of_each.Run();
    }
  }
  if (!every) return std::nullopt;
  return every->Run();
}

std::optional<double> StepRankByRank(
    const TapeQuestion& question, const std::optional<ExpertTraffic>& traffic,
    absl::Span<const SlowRank> slow, bool placed_alike) {
  const Framework& framework = question.plan.framework();
  const bool has_host = framework.dispatch && !framework.blocking_launches;
  // Both ends of a DualPipe meet in the middle of their passes.
  const bool meet = question.orders.layout.bidirectional() &&
                    question.plan.sharding() >= Sharding::kGradients;
  const bool passes_tell =
      !has_host && !meet && slow.empty() && question.classes.count() == 1;
  const bool many = question.placement.ranks() > kMostRanks;
  if ((many && (passes_tell || !placed_alike)) ||
      CountItems(question) > kMostOnTapes) {
    return std::nullopt;
  }
  const RankTapes tapes = WriteTapes(question);
  return RunRankByRank({.tapes = tapes,
                        .placement = question.placement,
                        .classes = question.classes,
                        .traffic = traffic,
                        .slow = slow,
                        .passes_tell = passes_tell,
                        .placed_alike = placed_alike},
                       question.prices);
}

}  // namespace orrery
