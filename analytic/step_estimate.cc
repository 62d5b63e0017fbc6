#include "analytic/step_estimate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "analytic/data_estimate.h"
#include "analytic/pipeline_estimate.h"
#include "analytic/unit_estimate.h"
#include "base/check.h"
#include "base/status.h"
#include "workload/memory.h"
#include "workload/placement.h"
#include "workload/stage.h"
#include "workload/stage_layout.h"

namespace orrery {
namespace {

// Everything about one unit of a stage, or a sum of units.
struct Unit {
  UnitEstimate time;
  Bytes kept;
  Bytes recomputed;
  RankParameters parameters;
};

class PlanEstimate {
 public:
  PlanEstimate(const Model& model, const System& system, const Plan& plan,
               bool overlap, const KernelTimer& timer, const GroupCost& groups)
      : model_(model),
        system_(system),
        plan_(plan),
        placement_(plan),
        layout_(plan.schedule(), plan.degrees().pipeline,
                plan.virtual_stages()),
        overlap_(overlap),
        timer_(timer),
        groups_(groups) {
    spans_.tensor = Span(GroupFamily::kTensor);
    spans_.context = Span(GroupFamily::kContext);
    spans_.expert = Span(GroupFamily::kExpert);
    spans_.expert_tensor = Span(GroupFamily::kExpertTensor);
    spans_.traffic = TrafficOf(model, plan);
    MakeUnits();
  }

  StepEstimate Estimate() {
    StepEstimate out;
    const int ranks = layout_.ranks();
    std::vector<RankTime> times;
    for (int rank = 0; rank < ranks; ++rank) times.push_back(TimeOf(rank));
    const int busiest = static_cast<int>(
        std::max_element(times.begin(), times.end(),
                         [](const RankTime& a, const RankTime& b) {
                           return a.total() < b.total();
                         }) -
        times.begin());
    const double m = plan_.micro_batches();
    const UnitEstimate work = WorkOf(busiest);
    for (const PassEstimate* pass :
         {&work.forward, &work.input_gradient, &work.weight_gradient}) {
      out.compute_s += m * pass->kernels;
      out.tensor_s += m * (pass->exposed[0] + pass->exposed[3]);
      out.context_s += m * pass->exposed[1];
      out.expert_s += m * pass->exposed[2];
    }
    const double hop = HopTime();
    const PipelineEstimate pipeline =
        EstimatePipeline(plan_, times, busiest, hop);
    out.bubble_s = pipeline.bubble_s;
    out.pipeline_s = pipeline.exposed_s;

    const DataTimes data = DataOf(busiest, work);
    double reduction = data.reduction_s;
    double rest = data.gathering_s + data.optimizer_s;
    if (busiest > 0) {
      // The first rank ends its backward passes last, and all ranks wait for
      // one another before the optimizer.
      const DataTimes first = DataOf(0, WorkOf(0));
      reduction -= BackwardLead(plan_, times, busiest, hop);
      reduction = std::max({0.0, reduction, first.reduction_s});
      rest = std::max(rest, first.gathering_s + first.optimizer_s);
    }
    out.data_s = reduction + data.ends_s + rest - data.optimizer_s;
    out.optimizer_s = data.optimizer_s;
    out.peak = Peak();
    for (int rank = 0; rank < ranks; ++rank) {
      out.recomputed +=
          WorkOf(rank).recomputed *
          (m * static_cast<double>(plan_.degrees().stage_ranks()));
    }
    return out;
  }

 private:
  DataTimes DataOf(int rank, const UnitEstimate& work) const {
    const double m = plan_.micro_batches();
    return EstimateData({.model = model_,
                         .plan = plan_,
                         .placement = placement_,
                         .system = system_,
                         .groups = groups_,
                         .timer = timer_,
                         .units = ParametersInBackwardOrder(rank),
                         .step_backward_s = m * work.backward(),
                         .last_backward_s = work.backward(),
                         .step_forward_s = m * work.forward.total(),
                         .overlap = overlap_,
                         .shares_tie = SharesTie(rank)});
  }

  GroupSpan Span(GroupFamily family) const {
    return SpanOf(placement_, family, system_.chips_per_node());
  }

  Unit MakeUnit(const LayerOps& ops, const RankParameters& parameters) const {
    Unit unit;
    unit.time = EstimateUnit(ops, plan_, overlap_, timer_, groups_, spans_);
    unit.kept = KeptBytes(ops, plan_);
    unit.recomputed = orrery::KeptBytes(ops, kNoModule) - unit.kept;
    unit.parameters = parameters;
    return unit;
  }

  // Layers of the same kind share an estimate.
  void MakeUnits() {
    // The rank with the fullest experts: the others wait for it.
    const LayerShape shape =
        ShapeOf(plan_, plan_.routing().FullestPlace(plan_.degrees().expert));
    const Degrees& degrees = plan_.degrees();
    stages_ = CutStages(model_, plan_);
    struct Kind {
      bool moe;
      std::optional<int> window;
      int unit;
    };
    std::vector<Kind> kinds;
    for (const Stage& stage : stages_) {
      auto& units = of_stage_.emplace_back();
      if (stage.embedding) {
        units.push_back(
            Add(MakeUnit(BuildEmbedding(model_, shape),
                         ParametersOf(model_, degrees, {.embedding = true}))));
      }
      for (int i = 0; i < stage.layers; ++i) {
        const int layer = stage.first_layer + i;
        const bool moe = model_.IsMoe(layer);
        const auto window = model_.Window(layer);
        auto it = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) {
          return k.moe == moe && k.window == window;
        });
        if (it == kinds.end()) {
          const int unit =
              Add(MakeUnit(BuildLayer(model_, layer, shape),
                           LayerParametersOf(model_, degrees, layer)));
          it = kinds.insert(kinds.end(), {moe, window, unit});
        }
        units.push_back(it->unit);
      }
      if (!stage.head) continue;
      const Stage head{.head = true, .embedding_copy = stage.embedding_copy};
      const int last = Add(MakeUnit(BuildHead(model_, shape),
                                    ParametersOf(model_, degrees, head)));
      units.push_back(last);
      for (int i = 0; i < model_.mtp_modules(); ++i) {
        const int layer = model_.layers() + i;
        units.push_back(Add(MakeUnit(BuildPredictionInput(model_, shape), {})));
        units.push_back(Add(MakeUnit(BuildLayer(model_, layer, shape), {})));
        units.push_back(Add(MakeUnit(BuildHead(model_, shape), {})));
      }
    }
  }
  int Add(Unit unit) {
    units_.push_back(std::move(unit));
    return static_cast<int>(units_.size()) - 1;
  }

  // What a rank does for one micro-batch: all its pieces, or on a
  // bidirectional layout, where a micro-batch sees one of two, their mean.
  UnitEstimate WorkOf(int rank) const {
    UnitEstimate sum;
    for (int piece = 0; piece < layout_.pieces(); ++piece) {
      for (const int unit : Units(rank, piece)) {
        sum += units_[static_cast<size_t>(unit)].time;
      }
    }
    if (!layout_.bidirectional()) return sum;
    const auto halve = [](PassEstimate& pass) {
      pass.kernels /= 2;
      for (double& exposed : pass.exposed) exposed /= 2;
    };
    halve(sum.forward);
    halve(sum.input_gradient);
    halve(sum.weight_gradient);
    sum.recomputed = sum.recomputed / 2;
    return sum;
  }
  const std::vector<int>& Units(int rank, int piece) const {
    return of_stage_[static_cast<size_t>(layout_.StageOf(rank, piece))];
  }
  RankTime TimeOf(int rank) const {
    const UnitEstimate work = WorkOf(rank);
    return {work.forward.total(), work.input_gradient.total(),
            work.weight_gradient.total()};
  }

  double HopTime() const {
    if (layout_.ranks() == 1) return 0;
    const int peer = placement_.PeerOf(0, 1);
    const int node = system_.chips_per_node();
    const bool inside =
        placement_.ChipOf(0) / node == placement_.ChipOf(peer) / node;
    const LayerShape shape = ShapeOf(plan_);
    const int64_t tokens = shape.sequence_parallel
                               ? shape.tokens() / shape.tensor
                               : shape.tokens();
    return groups_
        .Time(CommunicationKind::kPointToPoint,
              StorageBytes(shape.activation, tokens * model_.hidden()),
              {.ranks = 2, .islands = inside ? 1 : 2})
        .count();
  }

  std::vector<RankParameters> ParametersInBackwardOrder(int rank) const {
    std::vector<RankParameters> parameters;
    for (int piece = layout_.pieces() - 1; piece >= 0; --piece) {
      const std::vector<int>& units = Units(rank, piece);
      for (auto it = units.rbegin(); it != units.rend(); ++it) {
        parameters.push_back(units_[static_cast<size_t>(*it)].parameters);
      }
    }
    return parameters;
  }

  bool SharesTie(int rank) const {
    if (!stages_.back().embedding_copy) return false;
    for (int piece = 0; piece < layout_.pieces(); ++piece) {
      const int stage = layout_.StageOf(rank, piece);
      if (stage == 0 || stage == layout_.stages() - 1) return true;
    }
    return false;
  }

  Bytes Peak() const {
    Bytes peak;
    for (int rank = 0; rank < layout_.ranks(); ++rank) {
      RankParameters held, largest;
      Bytes again;
      double activations = 0;
      for (int piece = 0; piece < layout_.pieces(); ++piece) {
        const double in_flight = PiecesInFlight(plan_, rank, piece);
        for (const int id : Units(rank, piece)) {
          const Unit& unit = units_[static_cast<size_t>(id)];
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
      peak = std::max(peak,
                      StaticBytes(plan_, placement_, held, largest).total() +
                          GatheredBytes(plan_, placement_, held) + unreduced +
                          Bytes(std::llround(activations)) + again);
    }
    return peak + system_.chip().calibration().reserved_memory;
  }

  const Model& model_;
  const System& system_;
  const Plan& plan_;
  Placement placement_;
  StageLayout layout_;
  bool overlap_;
  const KernelTimer& timer_;
  const GroupCost& groups_;
  ExchangeSpans spans_;
  std::vector<Stage> stages_;
  std::vector<Unit> units_;
  std::vector<std::vector<int>> of_stage_;
};

}  // namespace

absl::StatusOr<StepEstimator> StepEstimator::Create(const Model& model,
                                                    const System& system) {
  ASSIGN_OR_RETURN(KernelTimer timer, KernelTimer::Create(system.chip()));
  return StepEstimator(model, system, std::move(timer));
}

StepEstimate StepEstimator::Estimate(const Plan& plan,
                                     const EstimateOptions& options) {
  return PlanEstimate(*model_, *system_, plan, options.overlap, timer_, groups_)
      .Estimate();
}

}  // namespace orrery
