#pragma once
// When the ranks of a pipeline end their passes: a schedule's order with times
// put to it, on paper.
//
//   start(pass) = max(end of the rank's pass before, arrival of what it needs)
//   arrival     = max(end of the sender's pass, arrival of its transfer before)
//                 + hop
//
// That is all there is to a pipeline, whatever the schedule and however the
// stages differ; with equal stages and free hops it gives the bubbles of the
// papers (see workload/plan/schedule.h). It knows passes, not their kernels.
//
//   const PipelineClock clock(orders);
//   const std::vector<RankEnd> ends =
//       clock.Run({.stages = stages, .hops = hops});
//
// Which pass can be looked at next depends on the order alone, so that a clock
// puts passes into a row once, and then takes a maximum or two for each.
#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "workload/plan/schedule.h"

namespace orrery {

// Seconds of one micro-batch in one stage.
struct StageTimes {
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;
  // Once, before the first forward pass.
  double first_forward = 0;
  // Reductions in the middle of a backward pass, which wait for it and it for
  // them, and those after it: the gradient has left by then, but the next pass
  // waits. `last_` is what the last micro-batch adds.
  double reduce_within = 0;
  double reduce_after = 0;
  double last_within = 0;
  double last_after = 0;
  // No weight gradient waits for the reduction of another: where those have a
  // pass of their own, so long from its start to the end of its reductions.
  // `last_beside` with what the last micro-batch adds.
  double reduce_beside = 0;
  double last_beside = 0;
};

struct PipelineTimes {
  absl::Span<const StageTimes> stages;
  // From each rank to the next, and from the last to the first.
  absl::Span<const double> hops;
  // What a receiver does with what it gets before it goes on.
  double gather = 0;
  // A rank goes on when what it sent has come.
  bool sends_are_waited_for = false;
};

struct RankEnd {
  double passes = 0;
  double reductions = 0;  // of those among the passes
};

// Of a pipeline, and of the same one with hops and gathers that take no time.
struct PipelineEnds {
  std::vector<RankEnd> ends;
  std::vector<RankEnd> with_free_hops;
};

class PipelineClock {
 public:
  explicit PipelineClock(const PipelineOrders& orders);

  // `ends`, if given: of every pass of every rank, in its order.
  std::vector<RankEnd> Run(
      const PipelineTimes& times,
      std::vector<std::vector<double>>* ends = nullptr) const;
  // Both in one go: what Run() gives, to the last bit.
  PipelineEnds RunBoth(const PipelineTimes& times) const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // A pass, after all it waits for. There are very many of them.
  struct Pass {
    uint32_t input;   // its place among the arrivals, or kNone
    uint32_t output;  // the same of what it sends on, or kNone
    uint32_t rank;
    uint32_t stage;
    uint32_t hop;  // which of the hops the output takes, or kNone
    PipelinePass pass;
    uint8_t way;         // transfers of one way follow one another
    bool with_next : 1;  // what a pair sends leaves when both are done
    bool gathers : 1;    // its input comes from another rank
    bool is_first : 1;   // forward pass of its piece
    bool is_last : 1;    // that completes gradients of its piece
  };

  class Compiler;
  template <class Moment>
  class Walk;

  std::vector<Pass> passes_;
  size_t ranks_ = 0;
  size_t arrivals_ = 0;
};

}  // namespace orrery
