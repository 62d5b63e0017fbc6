#include "analytic/step/pipeline_estimate.h"

#include <algorithm>

#include "base/check.h"

namespace orrery {
namespace {

// Rank r runs no more than p - r micro-batches ahead, which are on their way to
// the last rank and back at once. If that takes longer than as many turns of
// the busiest rank, it waits, once in every such round after the first. Rounds
// of the rank that delays most come first; what is left of the micro-batches
// may hold rounds of another.
double RoundTripWait(int micro_batches, absl::Span<const RankTime> ranks,
                     int busiest, double hop) {
  const int p = static_cast<int>(ranks.size());
  const double pace = ranks[static_cast<size_t>(busiest)].total();
  const auto rounds_of = [&](auto visit) {
    double lap = -2 * hop;
    for (int turns = 1; turns <= p; ++turns) {
      lap += ranks[static_cast<size_t>(p - turns)].total() + 2 * hop;
      visit(turns, lap - turns * pace);
    }
  };
  int longest = 1;
  double delay = 0;
  rounds_of([&](int turns, double late) {
    if (late * longest > delay * turns) {
      longest = turns;
      delay = late;
    }
  });
  if (delay <= 0) return 0;
  const int left = (micro_batches - 1) % longest;
  double rest = 0;
  rounds_of([&](int turns, double late) {
    rest = std::max(rest, late * (left / turns));
  });
  return delay * ((micro_batches - 1) / longest) + rest;
}

}  // namespace

PipelineEstimate EstimatePipeline(const TrainingPlan& plan,
                                  absl::Span<const RankTime> ranks, int busiest,
                                  double hop) {
  PipelineEstimate out;
  const int p = plan.degrees().pipeline;
  if (p == 1) return out;
  const double v = plan.virtual_stages();
  const auto others = [&](auto part) {
    double sum = 0;
    for (int rank = 0; rank < p; ++rank) {
      if (rank != busiest) sum += part(ranks[static_cast<size_t>(rank)]);
    }
    return sum;
  };
  // A micro-batch crosses p - 1 boundaries and comes back.
  const double round_trip = 2.0 * (p - 1) * hop;
  const double behind =
      RoundTripWait(plan.micro_batches(), ranks, busiest, hop);
  switch (plan.schedule()) {
    case PipelineSchedule::kGPipe:
      out.bubble_s = others([](const RankTime& r) { return r.total(); });
      out.exposed_s = round_trip;
      return out;
    case PipelineSchedule::kOneForwardOneBackward:
      out.bubble_s = others([](const RankTime& r) { return r.total(); });
      out.exposed_s = round_trip + behind;
      return out;
    case PipelineSchedule::kInterleaved:
      out.bubble_s = others([v](const RankTime& r) { return r.total() / v; });
      // The warm-up goes around v times before the first backward pass.
      out.exposed_s = round_trip + 2 * (v - 1) * p * hop;
      return out;
    case PipelineSchedule::kZeroBubbleH1:
      out.bubble_s = others([](const RankTime& r) {
        return std::max(0.0, r.forward + r.input_gradient - r.weight_gradient);
      });
      out.exposed_s = round_trip + behind;
      return out;
    case PipelineSchedule::kZeroBubbleV:
      out.bubble_s = others([](const RankTime& r) { return r.forward / 2; });
      out.exposed_s = 2 * round_trip;
      return out;
    case PipelineSchedule::kDualPipe: {
      // (p/2 - 1)(FB + B - 3W) with FB the time of a pair.
      const RankTime& r = ranks[static_cast<size_t>(busiest)];
      out.bubble_s =
          (p / 2.0 - 1) * (r.total() + r.backward() - 3 * r.weight_gradient);
      out.exposed_s = round_trip;
      return out;
    }
  }
  CHECK(false) << "unknown schedule";
  return out;
}

double BackwardLead(const TrainingPlan& plan, absl::Span<const RankTime> ranks,
                    int rank, double hop) {
  switch (plan.schedule()) {
    case PipelineSchedule::kGPipe:
    case PipelineSchedule::kOneForwardOneBackward:
    case PipelineSchedule::kInterleaved:
      break;
    case PipelineSchedule::kZeroBubbleH1:
    case PipelineSchedule::kZeroBubbleV:
    case PipelineSchedule::kDualPipe:
      // Weight gradients fill the time.
      return 0;
  }
  double lead = rank * hop;
  for (int i = 0; i < rank; ++i) {
    lead += ranks[static_cast<size_t>(i)].backward() / plan.virtual_stages();
  }
  return lead;
}

double PiecesInFlight(const TrainingPlan& plan, int rank, int piece) {
  const int p = plan.degrees().pipeline;
  const int m = plan.micro_batches();
  const int v = plan.virtual_stages();
  switch (plan.schedule()) {
    case PipelineSchedule::kGPipe:
      return m;
    case PipelineSchedule::kOneForwardOneBackward:
      return std::min(m, p - rank);
    case PipelineSchedule::kInterleaved: {
      // Forward passes go piece by piece, p micro-batches at a time.
      const int all = std::min(m * v, 2 * (p - rank - 1) + (v - 1) * p + 1);
      const int rest = all % (p * v);
      return all / (p * v) * p + std::clamp(rest - piece * p, 0, p);
    }
    case PipelineSchedule::kZeroBubbleH1:
    case PipelineSchedule::kZeroBubbleV:
      return std::min(m, p);
    case PipelineSchedule::kDualPipe:
      // p + 1 together: a stage holds as many as it is far from the end of its
      // direction.
      return piece == 0 ? p - rank : rank + 1;
  }
  CHECK(false) << "unknown schedule";
  return 0;
}

// Backward passes go piece by piece, p micro-batches at a time. If those are
// all of them, a piece is reduced before the next one starts; otherwise every
// piece has had its turn before the first one is complete.
int PiecesUnreduced(const TrainingPlan& plan) {
  const bool piecewise = plan.schedule() == PipelineSchedule::kInterleaved &&
                         plan.micro_batches() <= plan.degrees().pipeline;
  return piecewise ? 1 : plan.virtual_stages();
}

}  // namespace orrery
