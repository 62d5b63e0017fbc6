#include "workload/plan/schedule.h"

#include <algorithm>

#include "base/check.h"

namespace orrery {
namespace {

constexpr auto kForward = PipelinePass::kForward;
constexpr auto kBackward = PipelinePass::kBackward;
constexpr auto kWeightGradient = PipelinePass::kWeightGradient;

RankOrders OrdersOf(PipelineSchedule schedule, const StageLayout& layout,
                    int virtual_stages, int micro_batches,
                    const PassProfile& profile) {
  const int ranks = layout.ranks();
  switch (schedule) {
    case PipelineSchedule::kGPipe:
      return GPipeOrders(ranks, micro_batches);
    case PipelineSchedule::kOneForwardOneBackward:
      return OneForwardOneBackwardOrders(ranks, micro_batches);
    case PipelineSchedule::kInterleaved:
      return InterleavedOrders(ranks, virtual_stages, micro_batches);
    case PipelineSchedule::kZeroBubbleH1:
    case PipelineSchedule::kZeroBubbleV:
      return ZeroBubbleOrders(layout, micro_batches, profile);
    case PipelineSchedule::kDualPipe:
      return DualPipeOrders(ranks, micro_batches);
  }
  CHECK(false) << "unknown schedule";
  return {};
}

}  // namespace

PipelineOrders MakeOrders(PipelineSchedule schedule, int pipeline,
                          int virtual_stages, int micro_batches,
                          const PassProfile& profile) {
  CHECK(micro_batches >= 1);
  const StageLayout layout(schedule, pipeline, virtual_stages);
  return {.layout = layout,
          .micro_batches = micro_batches,
          .of_rank = OrdersOf(schedule, layout, virtual_stages, micro_batches,
                              profile)};
}

int PeakInFlight(const std::vector<PipelineAction>& order) {
  int held = 0;
  int peak = 0;
  for (const PipelineAction& action : order) {
    if (action.pass == kForward) peak = std::max(peak, ++held);
    if (action.pass == kBackward || action.pass == kWeightGradient) --held;
  }
  return peak;
}

RankOrders GPipeOrders(int ranks, int micro_batches) {
  std::vector<PipelineAction> order;
  for (int i = 0; i < micro_batches; ++i) {
    order.push_back({kForward, 0, i});
  }
  for (int i = 0; i < micro_batches; ++i) {
    order.push_back({kBackward, 0, i});
  }
  return RankOrders(static_cast<size_t>(ranks), order);
}

// Warm-up forwards fill the pipeline behind the rank; then one forward, one
// backward; then the backwards that are left.
RankOrders OneForwardOneBackwardOrders(int ranks, int micro_batches) {
  RankOrders orders(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    auto& order = orders[static_cast<size_t>(rank)];
    order.reserve(2 * static_cast<size_t>(micro_batches));
    const int warm_up = std::min(ranks - 1 - rank, micro_batches);
    for (int i = 0; i < warm_up; ++i) order.push_back({kForward, 0, i});
    for (int i = 0; i < micro_batches; ++i) {
      if (i + warm_up < micro_batches) {
        order.push_back({kForward, 0, i + warm_up});
      }
      order.push_back({kBackward, 0, i});
    }
  }
  return orders;
}

// Micro-batches go through the pieces in rounds of `ranks`: so many forwards of
// piece 0, so many of piece 1, and so on; backwards from the last piece down.
RankOrders InterleavedOrders(int ranks, int pieces, int micro_batches) {
  CHECK(micro_batches % ranks == 0);
  const int total = micro_batches * pieces;
  const auto action = [&](PipelinePass pass, int i) -> PipelineAction {
    const int round = i / (ranks * pieces);
    const int within = i % (ranks * pieces);
    const int turn = within / ranks;
    const int piece = pass == kForward ? turn : pieces - 1 - turn;
    return {pass, static_cast<int16_t>(piece), round * ranks + within % ranks};
  };
  RankOrders orders(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    auto& order = orders[static_cast<size_t>(rank)];
    const int warm_up =
        std::min(total, 2 * (ranks - rank - 1) + (pieces - 1) * ranks);
    for (int i = 0; i < warm_up; ++i) order.push_back(action(kForward, i));
    for (int i = 0; i < total; ++i) {
      if (i + warm_up < total) order.push_back(action(kForward, i + warm_up));
      order.push_back(action(kBackward, i));
    }
  }
  return orders;
}

}  // namespace orrery
