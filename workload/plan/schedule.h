#pragma once
// Pipeline schedules as explicit orders: what each pipeline rank runs, one
// after the other, in one optimizer step.
//
// With uniform stages and free communication the orders give exactly the
// bubbles of their papers (tests/workload). The zero-bubble schedules depend on
// what passes take; nothing else here knows about time:
//
//   GPipe        Huang et al., arXiv 1811.06965
//   1F1B         Narayanan et al., arXiv 2006.09503
//   interleaved  Narayanan et al., arXiv 2104.04473
//   ZB-H1        Qi et al., arXiv 2401.10241
//   ZB-V         Qi et al., arXiv 2405.15362
//   DualPipe     DeepSeek-AI, arXiv 2412.19437
//
//   const PipelineOrders orders =
//       MakeOrders(PipelineSchedule::kOneForwardOneBackward, 4, 1, 8);
//   for (const PipelineAction& action : orders.of_rank[0]) ...
#include <cstdint>
#include <utility>
#include <vector>

#include "workload/plan/stage_layout.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// What a schedule runs of one stage and micro-batch in one go.
enum class PipelinePass : uint8_t {
  kForward,
  // Input and weight gradients together.
  kBackward,
  kInputGradient,
  kWeightGradient,
};

struct PipelineAction {
  PipelinePass pass = PipelinePass::kForward;
  int16_t piece = 0;
  int32_t micro_batch = 0;
  // Runs interleaved with the next action, so that each hides the other's
  // communication (DualPipe's forward and backward pairs).
  bool with_next = false;
  friend bool operator==(const PipelineAction&,
                         const PipelineAction&) = default;
};

struct PipelineOrders {
  StageLayout layout;
  int micro_batches;
  std::vector<std::vector<PipelineAction>> of_rank;

  // Whether the micro-batch enters at the last rank.
  bool IsSecondHalf(int micro_batch) const {
    return layout.bidirectional() && micro_batch >= micro_batches / 2;
  }
};

// How long the passes of each stage take, for schedules that are made from it.
// Times are whole numbers of one small unit, because an order must not depend
// on how a sum was rounded. No stages: equal passes and free hops.
struct PassProfile {
  struct Stage {
    int32_t forward = 1;
    int32_t input_gradient = 1;
    int32_t weight_gradient = 1;
    friend auto operator<=>(const Stage&, const Stage&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Stage& s) {
      return H::combine(std::move(h), s.forward, s.input_gradient,
                        s.weight_gradient);
    }
  };
  std::vector<Stage> stages = {};
  // From one rank to the next.
  int32_t hop = 0;

  friend bool operator==(const PassProfile&, const PassProfile&) = default;
  template <class H>
  friend H AbslHashValue(H h, const PassProfile& p) {
    return H::combine(std::move(h), p.stages, p.hop);
  }
};

// Requires: what TrainingPlan checks of schedule, pipeline, virtual_stages and
// micro_batches. `profile` matters to zero-bubble schedules only.
PipelineOrders MakeOrders(PipelineSchedule schedule, int pipeline,
                          int virtual_stages, int micro_batches,
                          const PassProfile& profile = {});

// Rounds of as many micro-batches as there are ranks until a pipeline repeats
// itself: one to fill it, one in which what the first did still shows, and one
// to empty it. Longer steps differ only in how often they repeat a period.
inline constexpr int kFilledRounds = 3;
// The most micro-batches in one period of a long zero-bubble step.
inline constexpr int kZeroBubblePeriod = 2;

// The most micro-batches of one piece whose activations a rank holds at once,
// counted from forward to the end of the backward (or weight-gradient) pass.
int PeakInFlight(const std::vector<PipelineAction>& order);

// The builders, one per schedule; of_rank of the result.
using RankOrders = std::vector<std::vector<PipelineAction>>;
RankOrders GPipeOrders(int ranks, int micro_batches);
RankOrders OneForwardOneBackwardOrders(int ranks, int micro_batches);
RankOrders InterleavedOrders(int ranks, int pieces, int micro_batches);
RankOrders ZeroBubbleOrders(const StageLayout& layout, int micro_batches,
                            const PassProfile& profile);
RankOrders DualPipeOrders(int ranks, int micro_batches);

}  // namespace orrery
