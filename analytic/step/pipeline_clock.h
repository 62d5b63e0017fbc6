#pragma once
// When the ranks of a pipeline end their passes: a schedule's order with times
// put to it, on paper.
//
//   end(pass)   = the later of two sums: from the end of the kernels before it,
//                 and from the arrival of what it needs (pass_delays.h)
//   arrival     = max(result of the sender's pass, arrival of its transfer
//                     before) + hop
//
// That is all there is to a pipeline, whatever the schedule and however the
// stages differ; with equal stages and free hops it gives the bubbles of the
// papers (see workload/plan/schedule.h). It knows passes, not their kernels.
//
//   const PipelineClock clock(orders);
//   const std::vector<RankEnd> ends = clock.Run(
//       {.kinds = kinds, .kind_of_stage = kind_of_stage, .hops = hops});
//
// Which pass can be looked at next depends on the order alone, so that a clock
// puts passes into a row once, and then takes a maximum or two for each.
#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "analytic/step/pass_delays.h"
#include "workload/plan/schedule.h"

namespace orrery {

// What the host needs to start a pass. It runs ahead of the chip, but the last
// kernel of no unit runs before it was started.
struct LaunchTimes {
  double all = 0;
  // Both ends of the pass after the host's start.
  PassMoment after_host = {PassDelays::kNever, PassDelays::kNever};
};

// One micro-batch in one stage. Seconds.
struct StageTimes {
  PassDelays forward = {};
  PassDelays first_forward = {};  // of the first micro-batch
  PassDelays input_gradient = {};
  PassDelays weight_gradient = {};
  PassDelays backward = {};  // both gradients in one pass
  PassDelays last_backward = {};
  LaunchTimes forward_launch = {};
  LaunchTimes input_gradient_launch = {};
  LaunchTimes weight_gradient_launch = {};
  LaunchTimes backward_launch = {};
  // Reductions, in a row beside the passes; those of the last micro-batch.
  RowDelays reduce_backward = {};
  RowDelays reduce_weight_gradient = {};
  RowDelays reduce_last_backward = {};
  RowDelays reduce_last_weight_gradient = {};
  // Weights that are gathered from the beginning of the step on: the first
  // forward pass ends no earlier.
  PassMoment gathered = {PassDelays::kNever, PassDelays::kNever};

  // In which nothing hides, and nothing is gathered or reduced.
  static StageTimes Serial(double forward, double input_gradient,
                           double weight_gradient);
};

struct PipelineTimes {
  // Stages that do the same stand here once.
  absl::Span<const StageTimes> kinds;
  absl::Span<const uint16_t> kind_of_stage;
  // Of a forward pass of a stage, and a backward pass of the stage that is on
  // the same rank, in which each hides what it can of the other's
  // communication; by the stage of the forward pass. Empty: one pass follows
  // the other.
  absl::Span<const PairDelays> pairs = {};
  // From each rank to the next, and from the last to the first.
  absl::Span<const double> hops;
  // What a receiver does with what it gets before it goes on.
  double gather = 0;
  // A rank goes on when what it sent has come.
  bool sends_are_waited_for = false;
  // A pass waits for the result of the one before it.
  bool results_are_waited_for = false;
  // Passes wait for the reductions before them, but for weight gradients that
  // have a pass of their own.
  bool reductions_are_waited_for = false;
  // The host waits for what comes from another rank before it goes on.
  bool host_waits_for_receive = false;
};

struct RankEnd {
  double passes = 0;
  double reductions = 0;  // of those among the passes, and beside them
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
