#include "analytic/pipeline_estimate.h"

#include <algorithm>

#include "base/check.h"

namespace orrery {

PipelineEstimate EstimatePipeline(const Plan& plan,
                                  absl::Span<const RankTime> ranks, int busiest,
                                  double hop) {
  PipelineEstimate out;
  const int p = plan.degrees().pipeline;
  if (p == 1) return out;
  const double m = plan.micro_batches();
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
  // p micro-batches are on their way through all ranks and back at once; if
  // that takes longer than p turns of the busiest rank, it waits.
  const double pace = ranks[static_cast<size_t>(busiest)].total();
  const double all = pace + others([](const RankTime& r) { return r.total(); });
  const double behind = std::max(0.0, (all + round_trip) / p - pace);
  switch (plan.schedule()) {
    case PipelineSchedule::kGPipe:
      out.bubble_s = others([](const RankTime& r) { return r.total(); });
      out.exposed_s = round_trip;
      return out;
    case PipelineSchedule::kOneForwardOneBackward:
      out.bubble_s = others([](const RankTime& r) { return r.total(); });
      out.exposed_s = round_trip + (m < p ? 0 : (m - 1) * behind);
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
      out.exposed_s = round_trip + (m < p ? 0 : (m - 1) * behind);
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

double PiecesInFlight(const Plan& plan, int rank, int piece) {
  const int p = plan.degrees().pipeline;
  const int m = plan.micro_batches();
  const int v = plan.virtual_stages();
  switch (plan.schedule()) {
    case PipelineSchedule::kGPipe:
      return m;
    case PipelineSchedule::kOneForwardOneBackward:
      return std::min(m, p - rank);
    case PipelineSchedule::kInterleaved: {
      const int all = std::min(m * v, 2 * (p - rank - 1) + (v - 1) * p + 1);
      return static_cast<double>(all) / v;
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
int PiecesUnreduced(const Plan& plan) {
  const bool piecewise = plan.schedule() == PipelineSchedule::kInterleaved &&
                         plan.micro_batches() <= plan.degrees().pipeline;
  return piecewise ? 1 : plan.virtual_stages();
}

}  // namespace orrery
