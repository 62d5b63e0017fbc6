#include "analytic/step/step_estimate.h"

#include <absl/types/span.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "analytic/step/data_estimate.h"
#include "analytic/step/pipeline_estimate.h"
#include "analytic/step/plan_units.h"
#include "analytic/step/unit_estimate.h"
#include "base/check.h"
#include "base/status.h"
#include "workload/plan/memory.h"
#include "workload/plan/placement.h"
#include "workload/plan/stage.h"
#include "workload/plan/stage_layout.h"

namespace orrery {
namespace {

// Seconds of a transfer between stages, and of what its receivers gather.
struct Hop {
  double transfer = 0;
  double gather = 0;
};

// Seconds a rank waits at its boundaries, per micro-batch.
struct HopTimes {
  double forward = 0;
  double backward = 0;
};

bool RunsGradientsApart(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kZeroBubbleH1 ||
         schedule == PipelineSchedule::kZeroBubbleV;
}

class PlanEstimate {
 public:
  PlanEstimate(const Model& model, const System& system,
               const TrainingPlan& plan, bool overlap, PriceList& prices)
      : model_(model),
        system_(system),
        plan_(plan),
        placement_(plan.layout()),
        layout_(plan.layout().stages),
        overlap_(overlap),
        prices_(prices),
        spans_(placement_, prices),
        exchanges_{.tensor = spans_.of(GroupFamily::kTensor),
                   .context = spans_.of(GroupFamily::kContext),
                   .expert = spans_.of(GroupFamily::kExpert),
                   .expert_tensor = spans_.of(GroupFamily::kExpertTensor),
                   .traffic = TrafficOf(model, plan.layout())},
        units_(model, plan, overlap, prices, exchanges_),
        hop_(MakeHop()) {}

  StepEstimate Estimate() {
    StepEstimate out;
    const int ranks = layout_.ranks();
    std::vector<UnitEstimate> works;
    std::vector<RankTime> times;
    works.reserve(static_cast<size_t>(ranks));
    times.reserve(static_cast<size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      const UnitEstimate& work = works.emplace_back(WorkOf(rank));
      const HopTimes waited = WaitedHops(rank);
      times.push_back({work.forward.total() + waited.forward,
                       work.input_gradient.total() + waited.backward,
                       work.weight_gradient.total()});
    }
    const int busiest = static_cast<int>(
        std::max_element(times.begin(), times.end(),
                         [](const RankTime& a, const RankTime& b) {
                           return a.total() < b.total();
                         }) -
        times.begin());
    const double m = plan_.micro_batches();
    const UnitEstimate& work = works[static_cast<size_t>(busiest)];
    for (const PassEstimate* pass :
         {&work.forward, &work.input_gradient, &work.weight_gradient}) {
      out.compute_s += m * pass->kernels;
      out.host_s += m * pass->host();
      out.tensor_s += m * (pass->exposed[0] + pass->exposed[3]);
      out.context_s += m * pass->exposed[1];
      out.expert_s += m * pass->exposed[2];
    }
    // A rank that waits for what it sends has the hops in its own time.
    const double hop = plan_.overlap_pipeline() ? hop_.transfer : 0;
    const PipelineEstimate pipeline =
        EstimatePipeline(plan_, times, busiest, hop);
    const HopTimes waited = WaitedHops(busiest);
    out.bubble_s = pipeline.bubble_s;
    out.pipeline_s =
        pipeline.exposed_s + m * (waited.forward + waited.backward);
    // Of what a rank between two others waits for, one hop of the step is not
    // on the way: 2 (m + p - 1) - 3 of them are.
    if (plan_.schedule() == PipelineSchedule::kOneForwardOneBackward &&
        busiest > 0 && busiest < ranks - 1) {
      out.pipeline_s -= std::max(waited.forward, waited.backward);
    }

    const DataTimes data = DataOf(busiest, work);
    double reduction = data.reduction_s;
    double rest = data.gathering_s + data.optimizer_s;
    if (busiest > 0) {
      // The first rank ends its backward passes last, and all ranks wait for
      // one another before the optimizer.
      const DataTimes first = DataOf(0, works.front());
      reduction -= BackwardLead(plan_, times, busiest, hop);
      reduction = std::max({0.0, reduction, first.reduction_s});
      rest = std::max(rest, first.gathering_s + first.optimizer_s);
    }
    out.data_s = reduction + data.ends_s + rest - data.optimizer_s;
    out.optimizer_s = data.optimizer_s;
    FillPeaks(out);
    for (const UnitEstimate& of_rank : works) {
      out.recomputed +=
          of_rank.recomputed *
          (m * static_cast<double>(plan_.degrees().stage_ranks()));
    }
    return out;
  }

 private:
  DataTimes DataOf(int rank, const UnitEstimate& work) {
    const double m = plan_.micro_batches();
    return EstimateData({.model = model_,
                         .plan = plan_,
                         .placement = placement_,
                         .spans = spans_,
                         .prices = prices_,
                         .units = ParametersInBackwardOrder(rank),
                         .step_backward_s = m * work.backward(),
                         .last_backward_s = work.backward(),
                         .step_forward_s = m * work.forward.total(),
                         .overlap = overlap_,
                         .shares_tie = SharesTie(rank)});
  }

  // What a rank does for one micro-batch: all its pieces, or on a
  // bidirectional layout, where a micro-batch sees one of two, their mean.
  UnitEstimate WorkOf(int rank) const {
    UnitEstimate sum;
    for (int piece = 0; piece < layout_.pieces(); ++piece) {
      for (const int unit : Units(rank, piece)) {
        sum += units_[unit].time;
      }
    }
    if (!RunsGradientsApart(plan_.schedule())) {
      // One pass, so one wait: the host's time by where the chip's goes.
      PassEstimate& inputs = sum.input_gradient;
      PassEstimate& weights = sum.weight_gradient;
      const double host = inputs.launching + weights.launching;
      const double of_inputs = inputs.kernels + inputs.communication();
      const double of_weights = weights.kernels + weights.communication();
      if (host > 0 && of_inputs + of_weights > 0) {
        inputs.launching = host * of_inputs / (of_inputs + of_weights);
        weights.launching = host - inputs.launching;
      }
    }
    if (!layout_.bidirectional()) return sum;
    const auto halve = [](PassEstimate& pass) {
      pass.kernels /= 2;
      pass.launching /= 2;
      for (double& exposed : pass.exposed) exposed /= 2;
    };
    halve(sum.forward);
    halve(sum.input_gradient);
    halve(sum.weight_gradient);
    sum.recomputed = sum.recomputed / 2;
    return sum;
  }
  absl::Span<const int> Units(int rank, int piece) const {
    return units_.of_stage(layout_.StageOf(rank, piece));
  }

  // What a rank waits for per micro-batch at the boundaries of its pieces: its
  // sends, if it does, and what it gathers after a receive.
  HopTimes WaitedHops(int rank) const {
    HopTimes sum;
    const double transfer = plan_.overlap_pipeline() ? 0 : hop_.transfer;
    const int last = layout_.stages() - 1;
    const double share = layout_.bidirectional() ? 0.5 : 1;
    for (int piece = 0; piece < layout_.pieces(); ++piece) {
      const int stage = layout_.StageOf(rank, piece);
      const auto crosses = [&](int peer) {
        return peer >= 0 && peer <= last &&
               layout_.PlaceOf(peer, piece == 1 && layout_.bidirectional())
                       .rank != rank;
      };
      if (crosses(stage + 1)) {
        sum.forward += share * transfer;
        sum.backward += share * hop_.gather;
      }
      if (crosses(stage - 1)) {
        sum.forward += share * hop_.gather;
        sum.backward += share * transfer;
      }
    }
    return sum;
  }

  // One transfer between neighbouring stages.
  Hop MakeHop() const {
    if (layout_.ranks() == 1) return {};
    const int peer = placement_.PeerOf(0, 1);
    const int ends[] = {placement_.ChipOf(0), placement_.ChipOf(peer)};
    const LayerShape shape = ShapeOf(plan_);
    const bool shared = shape.sequence_parallel || plan_.scatter_pipeline();
    const Bytes whole =
        StorageBytes(shape.activation, shape.tokens() * model_.hidden());
    Hop hop;
    hop.transfer =
        prices_.Call(CommunicationKind::kPointToPoint,
                     shared ? whole / shape.tensor : whole, prices_.Span(ends));
    if (plan_.scatter_pipeline()) {
      hop.gather =
          prices_.Call(CommunicationKind::kAllGather, whole, exchanges_.tensor);
    }
    return hop;
  }

  std::vector<RankParameters> ParametersInBackwardOrder(int rank) const {
    std::vector<RankParameters> parameters;
    for (int piece = layout_.pieces() - 1; piece >= 0; --piece) {
      const absl::Span<const int> units = Units(rank, piece);
      for (auto it = units.rbegin(); it != units.rend(); ++it) {
        parameters.push_back(units_[*it].parameters);
      }
    }
    return parameters;
  }

  bool SharesTie(int rank) const {
    if (!units_.ties_stages()) return false;
    for (int piece = 0; piece < layout_.pieces(); ++piece) {
      const int stage = layout_.StageOf(rank, piece);
      if (stage == 0 || stage == layout_.stages() - 1) return true;
    }
    return false;
  }

  void FillPeaks(StepEstimate& out) const {
    for (int rank = 0; rank < layout_.ranks(); ++rank) {
      RankParameters held, largest;
      Bytes again;
      double activations = 0;
      for (int piece = 0; piece < layout_.pieces(); ++piece) {
        const double in_flight = PiecesInFlight(plan_, rank, piece);
        for (const int id : Units(rank, piece)) {
          const PlanUnits::Unit& unit = units_[id];
          held += unit.parameters;
          activations += in_flight * static_cast<double>(unit.kept.value());
          again = std::max(again, unit.recomputed);
          if (unit.parameters.total() > largest.total()) {
            largest = unit.parameters;
          }
        }
      }
      // Of a single micro-batch a unit's gradient comes as its activations go.
      const Bytes unreduced =
          plan_.micro_batches() == 1
              ? UnreducedBytes(plan_, placement_, largest)
              : Bytes(UnreducedBytes(plan_, placement_, held).value() *
                      PiecesUnreduced(plan_) / plan_.virtual_stages());
      const Bytes kept = Bytes(std::llround(activations)) + again;
      const Bytes peak = StaticBytes(plan_, placement_, held, largest).total() +
                         GatheredBytes(plan_, placement_, held) + unreduced +
                         kept;
      out.peak = std::max(out.peak, peak);
      out.reserved = std::max(out.reserved, AllocatorBytes(plan_, peak, kept));
    }
    out.reserved += GroupBufferBytes(plan_, placement_);
  }

  const Model& model_;
  const System& system_;
  const TrainingPlan& plan_;
  Placement placement_;
  const StageLayout& layout_;
  bool overlap_;
  PriceList& prices_;
  GroupSpans spans_;
  ExchangeSpans exchanges_;
  PlanUnits units_;
  const Hop hop_;
};

}  // namespace

absl::StatusOr<StepEstimator> StepEstimator::Create(const Model& model,
                                                    const System& system,
                                                    const Kernels& kernels) {
  ASSIGN_OR_RETURN(PriceList prices, PriceList::Create(system, kernels));
  return StepEstimator(model, system, kernels.reserved_memory(),
                       std::move(prices));
}

StepEstimate StepEstimator::Estimate(const TrainingPlan& plan,
                                     const EstimateOptions& options) {
  prices_.SetSlowness(KernelSlowness(plan));
  StepEstimate estimate =
      PlanEstimate(*model_, *system_, plan, options.overlap, prices_)
          .Estimate();
  estimate.peak += reserved_;
  estimate.reserved += reserved_;
  return estimate;
}

}  // namespace orrery
