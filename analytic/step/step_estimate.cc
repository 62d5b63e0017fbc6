#include "analytic/step/step_estimate.h"

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analytic/step/data_estimate.h"
#include "analytic/step/memory_estimate.h"
#include "analytic/step/pipeline_clock.h"
#include "analytic/step/pipeline_hops.h"
#include "analytic/step/plan_units.h"
#include "analytic/step/rank_kinds.h"
#include "analytic/step/rank_step.h"
#include "analytic/step/slow_stages.h"
#include "analytic/step/unit_estimate.h"
#include "base/check.h"
#include "base/status.h"
#include "workload/plan/memory.h"
#include "workload/plan/placement.h"
#include "workload/plan/rank_classes.h"
#include "workload/plan/slow_ranks.h"
#include "workload/plan/stage.h"
#include "workload/plan/stage_layout.h"
#include "workload/plan/waited_exchanges.h"

namespace orrery {
namespace {

UnitSetting SettingOf(const Model& model, const TrainingPlan& plan,
                      DimensionSet waited, AskedSpans& spans) {
  UnitSetting setting{
      .spans = {.tensor = spans.of(GroupFamily::kTensor),
                .context = spans.of(GroupFamily::kContext),
                .expert = spans.of(GroupFamily::kExpert),
                .expert_tensor = spans.of(GroupFamily::kExpertTensor),
                .traffic = TrafficOf(model, plan.layout())},
      .waited = waited,
      .chunks = plan.overlap_tensor() && !waited.Has(Dimension::kTensor)
                    ? plan.degrees().tensor
                    : 1};
  if (!spans.any_differ()) return setting;
  const auto add = [&](ExchangeGroup group, GroupFamily family) {
    const absl::Span<const GroupSpan> column = spans.column(family);
    setting.spans.column[static_cast<size_t>(group)] = {column.begin(),
                                                        column.end()};
  };
  add(ExchangeGroup::kTensor, GroupFamily::kTensor);
  add(ExchangeGroup::kContext, GroupFamily::kContext);
  add(ExchangeGroup::kExpert, GroupFamily::kExpert);
  add(ExchangeGroup::kExpertTensor, GroupFamily::kExpertTensor);
  return setting;
}

// The place of the rank with the fullest experts: the others wait for it.
int FullestPlace(const TrainingPlan& plan) {
  return plan.layout().routing.FullestPlace(plan.degrees().expert);
}

class PlanEstimate {
 public:
  PlanEstimate(const Model& model, const TrainingPlan& plan,
               KnownPipeline& pipeline, const EstimateOptions& options,
               PriceList& prices, GroupSpans& spans, KnownUnits& known_units,
               std::vector<SlowRank> slow)
      : model_(model),
        plan_(plan),
        pipeline_(pipeline),
        placement_(spans.placement()),
        layout_(plan.layout().stages),
        waited_(WaitedExchanges(plan, options.waited)),
        memory_of_layers_(options.memory_of_layers),
        each_rank_(options.each_rank && options.waited == DimensionSet::All()),
        prices_(prices),
        known_units_(known_units),
        spans_(spans),
        setting_(SettingOf(model, plan, waited_, spans_)),
        units_(model, plan, FullestPlace(plan), setting_, prices, known_units),
        hops_(PipelineHops(model, plan, units_.shape(), spans, prices)),
        slow_(std::move(slow)) {}

  StepEstimate Estimate() {
    StepEstimate out;
    const int ranks = layout_.ranks();
    const double m = plan_.micro_batches();
    const SlowStages slow(slow_, placement_, layout_, prices_,
                          FullestPlace(plan_),
                          [&](int place) { return UnitsAt(place); });
    const RankKinds kinds = KindsWith(slow);
    const PipelineTimes times =
        TimesOf(kinds.stages(), hops_.transfers, hops_.gather);
    const PlanMemory memory =
        EstimateMemory(kinds, units_, pipeline_, times, memory_of_layers_);
    out.peak = memory.peak;
    out.reserved = memory.held;
    out.first_held = memory.first_held;
    const RankKind& busiest =
        *std::max_element(kinds.kinds().begin(), kinds.kinds().end(),
                          [](const RankKind& a, const RankKind& b) {
                            return a.work.total() < b.work.total();
                          });
    const UnitEstimate& work = busiest.work;
    out.compute_s = m * work.kernels();
    double communication = 0;
    for (const double exposed : work.exposed()) communication += exposed;
    // What hides of a layer's calls, hides in a row of layers.
    const double shown =
        communication > 0 ? busiest.exposed / communication : 0;
    const auto exposed = work.exposed();
    out.tensor_s = shown * (exposed[0] + exposed[3]);
    out.context_s = shown * exposed[1];
    out.expert_s = shown * exposed[2];
    const PipelineEnds& ends = pipeline_.Ends(times);
    const auto data = [&](int rank) -> const DataTimes& {
      return kinds.of(rank).data;
    };
    double step = StepTime(ends.ends, data);
    if (ranks > 1) out.pipeline_s = step - StepTime(ends.with_free_hops, data);
    if (each_rank_) {
      step = (slow.empty() ? RankByRank(kinds) : RankByRank(KindsWith({})))
                 .value_or(step);
    }
    const RankEnd end = ends.ends[static_cast<size_t>(busiest.first)];
    out.lower_s = slow.empty() ? LowerBound(kinds) : LowerBound();
    step = std::max(step, out.lower_s);
    const DataTimes& last = busiest.data;
    out.optimizer_s = last.optimizer_s();
    out.data_s = busiest.waits_for_data +
                 std::max(0.0, end.reductions - end.passes) + last.reduction_s +
                 last.tie_s + last.norm_s + last.gathering_s;
    out.host_s = std::max(0.0, m * work.launching() - out.compute_s -
                                   busiest.exposed - busiest.waits_for_data);
    AddRest(step - out.step_s(), out);
    out.reserved += GroupBufferBytes(plan_, placement_);
    for (int rank = 0; rank < ranks; ++rank) {
      out.recomputed +=
          kinds.of(rank).work.recomputed *
          (m * static_cast<double>(plan_.degrees().stage_ranks()));
    }
    return out;
  }

  // Requires: no chip is slow (KindsWith({})).
  double LowerBound(const RankKinds& kinds) {
    // Sums of many, each rounded.
    constexpr double kRounding = 1e-6;
    const PipelineEnds& ends = pipeline_.Ends(TimesOf(
        kinds.least_stages(), hops_.least_transfers, hops_.least_gather));
    const auto data = [&](int rank) -> const DataTimes& {
      return kinds.of(rank).least_data;
    };
    return StepTime(ends.ends, data) * (1 - kRounding);
  }
  double LowerBound() { return LowerBound(KindsWith({})); }

 private:
  RankKinds KindsWith(const SlowStages& slow) {
    return RankKinds({model_, plan_, placement_, pipeline_, units_, spans_,
                      prices_, !waited_.Has(Dimension::kData), !waits(), slow});
  }
  std::unique_ptr<PlanUnits> UnitsAt(int expert_place) const {
    return std::make_unique<PlanUnits>(model_, plan_, expert_place, setting_,
                                       prices_, known_units_);
  }

  // For exchanges of layers.
  bool waits() const {
    return waited_.Has(Dimension::kTensor) ||
           waited_.Has(Dimension::kContext) || waited_.Has(Dimension::kExpert);
  }

  PipelineTimes TimesOf(const StageKinds& stages, absl::Span<const double> hops,
                        double gather) const {
    return {.kinds = stages.kinds,
            .kind_of_stage = stages.of_stage,
            .pairs = stages.pairs,
            .hops = hops,
            .gather = gather,
            .sends_are_waited_for = !plan_.overlap_pipeline(),
            .results_are_waited_for = waits(),
            .reductions_are_waited_for = plan_.reduces_every_micro_batch() &&
                                         (waited_.Has(Dimension::kData) ||
                                          !plan_.overlap_gradient_reduction()),
            .host_waits_for_receive = plan_.framework().host_waits_for_receive};
  }

  // What is beyond the terms or, if negative, less than they.
  void AddRest(double rest, StepEstimate& out) const {
    if (rest >= 0) {
      (layout_.ranks() > 1 ? out.bubble_s : out.data_s) += rest;
      return;
    }
    for (double* term : {&out.data_s, &out.host_s, &out.pipeline_s,
                         &out.expert_s, &out.context_s, &out.tensor_s}) {
      const double less = std::min(*term, -rest);
      *term -= less;
      rest += less;
    }
    out.compute_s += rest;
  }

  // Passes, reductions, the tied embedding, and the optimizer, before which all
  // ranks wait for one another.
  static double StepTime(absl::Span<const RankEnd> ends,
                         absl::FunctionRef<const DataTimes&(int rank)> data) {
    const int ranks = static_cast<int>(ends.size());
    const auto reduced = [&](int rank) {
      const RankEnd& end = ends[static_cast<size_t>(rank)];
      return std::max(end.passes, end.reductions) + data(rank).reduction_s;
    };
    double tied = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      if (data(rank).tie_s > 0) tied = std::max(tied, reduced(rank));
    }
    double normed = 0;
    double rest = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const DataTimes& of_rank = data(rank);
      const double ready =
          of_rank.tie_s > 0 ? tied + of_rank.tie_s : reduced(rank);
      normed = std::max(normed, ready + of_rank.own_norm_s + of_rank.norm_s);
      rest = std::max(rest, of_rank.update_s + of_rank.gathering_s);
    }
    return normed + rest;
  }

  std::optional<double> RankByRank(const RankKinds& kinds) const {
    std::vector<DataTimes> data;
    for (int rank = 0; rank < kinds.ranks(); ++rank) {
      data.push_back(kinds.of(rank).data);
    }
    const RankClasses classes(plan_.layout(), placement_, MarksOf(slow_));
    std::vector<std::unique_ptr<PlanUnits>> units;
    TapeQuestion question{model_,  plan_, placement_, pipeline_.orders(),
                          classes, {},    prices_,    data};
    for (int of = 0; of < classes.count(); ++of) {
      units.push_back(UnitsAt(classes.ExpertPlaceOf(of)));
      question.units.push_back(units.back().get());
    }
    return StepRankByRank(question, setting_.spans.traffic, slow_,
                          !spans_.any_differ());
  }

  const Model& model_;
  const TrainingPlan& plan_;
  KnownPipeline& pipeline_;
  const Placement& placement_;
  const StageLayout& layout_;
  DimensionSet waited_;
  bool memory_of_layers_;
  bool each_rank_;
  PriceList& prices_;
  KnownUnits& known_units_;
  AskedSpans spans_;
  UnitSetting setting_;
  PlanUnits units_;
  const HopTimes hops_;
  std::vector<SlowRank> slow_;
};

}  // namespace

StepEstimate& StepEstimate::operator+=(const StepEstimate& other) {
  compute_s += other.compute_s;
  tensor_s += other.tensor_s;
  context_s += other.context_s;
  expert_s += other.expert_s;
  pipeline_s += other.pipeline_s;
  data_s += other.data_s;
  bubble_s += other.bubble_s;
  optimizer_s += other.optimizer_s;
  host_s += other.host_s;
  peak = std::max(peak, other.peak);
  recomputed += other.recomputed;
  return *this;
}

absl::StatusOr<StepEstimator> StepEstimator::Create(const Model& model,
                                                    const System& system,
                                                    const Kernels& kernels,
                                                    Others others) {
  ASSIGN_OR_RETURN(PriceList prices,
                   PriceList::Create(system, kernels, others));
  return StepEstimator(model, system, kernels.reserved_memory(),
                       std::move(prices));
}

StepEstimate StepEstimator::Estimate(const TrainingPlan& plan,
                                     const EstimateOptions& options) {
  prices_->SetSlowness(KernelSlowness(plan));
  units_.Trim();
  spans_.Trim();
  GroupSpans& spans = SpansOf(plan);
  StepEstimate estimate =
      PlanEstimate(*model_, plan, PipelineOf(plan), options, *prices_, spans,
                   units_, SlowRanks(*system_, spans.placement()))
          .Estimate();
  estimate.peak += reserved_;
  estimate.reserved += reserved_;
  return estimate;
}

GroupSpans& StepEstimator::SpansOf(const TrainingPlan& plan) {
  return spans_.Of(plan.layout(), system_->chips_per_node(), *prices_);
}

// With the slowness that prices have now.
PlanUnits StepEstimator::UnitsOf(const TrainingPlan& plan) {
  AskedSpans asked(SpansOf(plan));
  return PlanUnits(*model_, plan, FullestPlace(plan),
                   SettingOf(*model_, plan, WaitedExchanges(plan, {}), asked),
                   *prices_, units_);
}

StepFloor StepEstimator::Floor(const TrainingPlan& plan) {
  prices_->SetSlowness(KernelSlowness(plan));
  units_.Trim();
  spans_.Trim();
  StepFloor floor = FloorOf(plan, UnitsOf(plan), SpansOf(plan).placement());
  floor.state += reserved_;
  return floor;
}

PassProfile StepEstimator::ProfileOf(const TrainingPlan& plan) {
  const StageLayout& layout = plan.layout().stages;
  if (!layout.splits_gradients() || layout.ranks() == 1) return {};
  // How slow the slowest chip is depends on the length of the step; its order
  // must not.
  const double slowness = prices_->slowness();
  prices_->SetSlowness(1);
  const PlanUnits units = UnitsOf(plan);
  const HopTimes hops =
      PipelineHops(*model_, plan, units.shape(), SpansOf(plan), *prices_);
  prices_->SetSlowness(slowness);
  double hop = hops.gather;
  for (const double transfer : hops.transfers) {
    hop = std::max(hop, transfer + hops.gather);
  }
  std::vector<UnitEstimate> stages(static_cast<size_t>(layout.stages()));
  double sum = 0;
  for (int stage = 0; stage < layout.stages(); ++stage) {
    UnitEstimate& time = stages[static_cast<size_t>(stage)];
    for (const int unit : units.of_stage(stage)) time += units[unit].time;
    sum += time.total();
  }
  // So many units in a pass, on average.
  constexpr double kResolution = 64;
  constexpr double kMost = 1e6;
  const double unit = sum / (3.0 * layout.stages()) / kResolution;
  if (unit <= 0) return {};
  const auto in_units = [&](double seconds, double least) {
    return static_cast<int32_t>(
        std::clamp(std::round(seconds / unit), least, kMost));
  };
  PassProfile profile{.hop = in_units(hop, 0)};
  for (const UnitEstimate& time : stages) {
    profile.stages.push_back(
        {.forward = in_units(time.forward.total(), 1),
         .input_gradient = in_units(time.input_gradient.total(), 1),
         .weight_gradient = in_units(time.weight_gradient.total(), 1)});
  }
  return profile;
}

KnownPipeline& StepEstimator::PipelineOf(const TrainingPlan& plan) {
  // Of schedules seen so far, as long as they are few.
  constexpr size_t kMost = 64;
  OrderKey key{plan.schedule(), plan.degrees().pipeline, plan.virtual_stages(),
               plan.micro_batches(), ProfileOf(plan)};
  const auto known = pipelines_.find(key);
  if (known != pipelines_.end()) return *known->second;
  if (pipelines_.size() == kMost) pipelines_.clear();
  auto pipeline = std::make_unique<KnownPipeline>(MakeOrders(
      plan.schedule(), plan.degrees().pipeline, plan.virtual_stages(),
      plan.micro_batches(), std::get<PassProfile>(key)));
  return *(pipelines_[std::move(key)] = std::move(pipeline));
}

double StepEstimator::LowerBound(const TrainingPlan& plan) {
  prices_->SetSlowness(KernelSlowness(plan));
  units_.Trim();
  spans_.Trim();
  return PlanEstimate(*model_, plan, PipelineOf(plan), {}, *prices_,
                      SpansOf(plan), units_, {})
      .LowerBound();
}

double StepEstimator::KernelFloor(const TrainingPlan& plan) {
  CHECK(plan.recompute() == Recompute::kNone) << "for plans without";
  prices_->SetSlowness(KernelSlowness(plan));
  units_.Trim();
  spans_.Trim();
  return MeanKernels(plan, UnitsOf(plan));
}

}  // namespace orrery
