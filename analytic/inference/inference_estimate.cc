#include "analytic/inference/inference_estimate.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analytic/inference/host_clock.h"
#include "analytic/inference/pass_ops.h"
#include "analytic/inference/pass_tape.h"
#include "analytic/step/rank_step.h"
#include "analytic/step/unit_estimate.h"
#include "base/status.h"
#include "workload/plan/inference_memory.h"
#include "workload/plan/placement.h"
#include "workload/plan/rank_classes.h"
#include "workload/plan/slow_ranks.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

class PassEstimator {
 public:
  PassEstimator(const Model& model, const System& system,
                const InferencePlan& plan, const InferencePass& pass,
                const EstimateOptions& options, PriceList& prices)
      : model_(model),
        plan_(plan),
        pass_(pass),
        layout_(plan.layout(pass.purpose)),
        waited_(options.waited),
        once_(options.once),
        each_rank_(options.each_rank && waited_ == DimensionSet::All()),
        prices_(prices),
        placement_(layout_),
        slow_(SlowRanks(system, placement_)),
        ops_(OpsAt(layout_.routing.FullestPlace(layout_.degrees.expert))) {
    spans_ = {.tensor = Span(GroupFamily::kTensor),
              .context = Span(GroupFamily::kContext),
              .expert = Span(GroupFamily::kExpert),
              .expert_tensor = Span(GroupFamily::kExpertTensor),
              .traffic = TrafficOf(model, layout_)};
  }

  // One clock for each stage, before its first pass.
  std::vector<HostClock> Clocks() const {
    return std::vector<HostClock>(
        stages(), HostClock(plan_.engine(), launch(),
                            plan_.collective_launches(pass_.purpose)));
  }
  // Moves the clocks on by this pass, and returns when it ends. `sent` is when
  // each stage has sent its last part. Requires: Estimate() was called.
  double Continue(std::vector<HostClock>& clocks,
                  std::vector<double>& sent) const {
    RunParts(0, pass_.parts, clocks, sent);
    const EngineProfile& engine = plan_.engine();
    const double between = pass_.ends_step ? ToSeconds(Between()) : 0;
    double last = 0;
    for (HostClock& clock : clocks) {
      last = std::max(last, clock.Finish(between, engine.overlap_steps));
      clock.NextPass(between, engine.overlap_steps,
                     ToSeconds(engine.graph_start));
    }
    return last;
  }

  StepEstimate Estimate() {
    PassEstimate busiest;
    double most = -1;
    size_t fullest = 0;
    PriceUnits();
    for (size_t stage = 0; stage < stages(); ++stage) {
      PassEstimate sums;
      for (const UnitRow& row : ops_.stages[stage]) {
        for (int i = 0; i < row.times; ++i) sums += UnitOf(stage, row).sums;
      }
      if (sums.total() <= most) continue;
      most = sums.total();
      busiest = sums;
      fullest = stage;
    }
    for (size_t i = 0; i + 1 < stages(); ++i) {
      hops_.push_back(Hop(static_cast<int>(i)));
    }
    return Together(busiest, fullest);
  }

 private:
  // Stages whose slowest chips are alike share the times of their units.
  void PriceUnits() {
    const std::vector<double> slowdowns =
        SlowestOfPipelineRanks(slow_, placement_, stages());
    for (size_t stage = 0; stage < stages(); ++stage) {
      const auto same = static_cast<size_t>(
          std::find(slowdowns.begin(), slowdowns.end(), slowdowns[stage]) -
          slowdowns.begin());
      if (same < stage) {
        priced_as_.push_back(priced_as_[same]);
        continue;
      }
      priced_as_.push_back(units_.size());
      prices_.SetSlowness(slowdowns[stage]);
      std::vector<ForwardEstimate>& units = units_.emplace_back();
      for (const LayerOps& ops : ops_.ops) {
        units.push_back(EstimateForward(
            ops, {.spans = spans_, .waited = waited_}, prices_));
      }
    }
    prices_.SetSlowness(1);
  }
  const ForwardEstimate& UnitOf(size_t stage, const UnitRow& row) const {
    return units_[priced_as_[stage]][row.unit];
  }

  EngineLaunch launch() const {
    return pass_.purpose == PassPurpose::kDecode
               ? plan_.engine().decode_launch
               : plan_.engine().prefill_launch();
  }

  size_t stages() const { return ops_.stages.size(); }
  PassOps OpsAt(int expert_place) const {
    return MakePassOps(model_, plan_, pass_, layout_, expert_place);
  }

  // What goes from stage to stage.
  Bytes Boundary() const {
    return BoundaryBytes(model_, ShapeOf(plan_, pass_));
  }

  // What the host does between steps.
  Duration Between() const { return plan_.engine().Between(pass_.sequences); }

  // Of so many parts through all stages, with the host's work after them.
  double Through(int parts, Duration between) const {
    return RankByRank(parts, between)
        .value_or(Through(0, stages(), parts, between));
  }

  std::optional<double> RankByRank(int parts, Duration between) const {
    if (!each_rank_) return std::nullopt;
    const RankClasses classes(layout_, placement_, MarksOf(slow_));
    PassTapeQuestion question{
        .engine = plan_.engine(),
        .launch = launch(),
        .collective = plan_.collective_launches(pass_.purpose),
        .placement = placement_,
        .classes = {},
        .prices = prices_,
        .transfer = Boundary(),
        .parts = parts,
        .between = between};
    for (int of = 0; of < classes.count(); ++of) {
      question.classes.push_back(OpsAt(classes.ExpertPlaceOf(of)));
    }
    const RankTapes tapes = WritePassTapes(question);
    return RunRankByRank({.tapes = tapes,
                          .placement = placement_,
                          .classes = classes,
                          .traffic = spans_.traffic,
                          .slow = slow_,
                          .passes_tell = slow_.empty() && classes.count() == 1},
                         prices_);
  }

  // Of so many parts through the stages from `first` on, and the host's work
  // after them. Parts follow one another; a stage sends one at a time.
  double Through(size_t first, size_t end, int parts, Duration between) const {
    const EngineProfile& engine = plan_.engine();
    std::vector<HostClock> clocks(
        end - first,
        HostClock(engine, launch(), plan_.collective_launches(pass_.purpose)));
    std::vector<double> sent(end - first, 0);
    RunParts(first, parts, clocks, sent);
    double last = 0;
    for (const HostClock& clock : clocks) {
      last = std::max(last,
                      clock.Finish(ToSeconds(between), engine.overlap_steps));
    }
    return last;
  }

  void RunParts(size_t first, int parts, std::vector<HostClock>& clocks,
                std::vector<double>& sent) const {
    for (int part = 0; part < parts; ++part) {
      for (size_t i = 0; i < clocks.size(); ++i) {
        if (i > 0) clocks[i].Arrive(sent[i - 1]);
        for (const UnitRow& row : ops_.stages[first + i]) {
          clocks[i].Run(UnitOf(first + i, row), row.times);
        }
        if (i + 1 < clocks.size()) {
          sent[i] = std::max(sent[i], clocks[i].chip()) + hops_[first + i];
        }
      }
    }
  }

  StepEstimate Together(const PassEstimate& sums, size_t fullest) const {
    const double parts = pass_.parts;
    StepEstimate out;
    out.compute_s = parts * sums.kernels;
    double communication = parts * sums.communication();
    double shown = 1;
    if (plan_.overlap_halves() && waited_ != DimensionSet::All() &&
        pass_.parts > 1 && communication > 0) {
      // One half computes while the other communicates: what is longer counts,
      // and of the other the first layer's.
      const double other = std::min(out.compute_s, communication);
      const double first = other / (parts * std::max(1, model_.layers()));
      shown = (std::max(out.compute_s, communication) + first - out.compute_s) /
              communication;
    }
    out.tensor_s = shown * parts * (sums.exposed[0] + sums.exposed[3]);
    out.context_s = shown * parts * sums.exposed[1];
    out.expert_s = shown * parts * sums.exposed[2];
    const double serial = out.compute_s + communication;
    communication *= shown;
    const double alone = Through(fullest, fullest + 1, pass_.parts, Between());
    out.host_s = std::max(0.0, alone - serial);
    if (stages() == 1) {
      if (const auto step = RankByRank(pass_.parts, Between())) {
        AddRest(*step - out.step_s(), out);
      }
      return out;
    }
    // A decode step in a row of them waits for the slowest of one part's way, a
    // round of all parts, which follow those of the round before, and the
    // host's work for them; a prefill, or a step run once, fills the pipeline
    // and drains it.
    bool sends = true;
    double total;
    if (pass_.purpose == PassPurpose::kDecode && !once_) {
      const double way = Through(1, plan_.engine().Between(std::max<int64_t>(
                                        1, pass_.sequences / pass_.parts)));
      constexpr Duration kNone{0};
      const double round =
          Through(2 * pass_.parts, kNone) - Through(pass_.parts, kNone);
      total = std::max({way, round, ToSeconds(Between())});
      sends = way == total;
    } else {
      total = Through(pass_.parts, Between());
    }
    if (shown < 1) total *= (out.compute_s + communication) / serial;
    double rest = total - out.compute_s - communication - out.host_s;
    if (rest < 0) {
      out.host_s = std::max(0.0, out.host_s + rest);
      rest = 0;
    }
    double hops = 0;
    for (const double hop : hops_) hops += hop;
    out.pipeline_s = sends ? std::min(rest, hops) : 0;
    out.bubble_s = rest - out.pipeline_s;
    return out;
  }

  // What ranks tell of the step beyond one of them: where groups lie unlike
  // others are waited for, or the fullest rank has faster groups than most.
  static void AddRest(double rest, StepEstimate& out) {
    const double waits = out.tensor_s + out.context_s + out.expert_s;
    if (rest >= 0 || waits <= 0) {
      out.bubble_s += rest;
      return;
    }
    const double scale = 1 + rest / waits;
    out.tensor_s *= scale;
    out.context_s *= scale;
    out.expert_s *= scale;
  }

  GroupSpan Span(GroupFamily family) {
    return prices_.Span(placement_.Members(family, 0));
  }

  double Hop(int stage) {
    const int chips[] = {placement_.PeerOf(0, stage),
                         placement_.PeerOf(0, stage + 1)};
    return prices_.Call(CommunicationKind::kPointToPoint, Boundary(),
                        prices_.Span(chips));
  }

  const Model& model_;
  const InferencePlan& plan_;
  const InferencePass& pass_;
  const ParallelLayout& layout_;
  DimensionSet waited_;
  bool once_;
  bool each_rank_;
  PriceList& prices_;
  Placement placement_;
  std::vector<SlowRank> slow_;
  PassOps ops_;
  ExchangeSpans spans_;
  std::vector<std::vector<ForwardEstimate>> units_;
  std::vector<size_t> priced_as_;  // which of them, by stage
  std::vector<double> hops_;       // after each stage
};

}  // namespace

absl::StatusOr<InferenceEstimator> InferenceEstimator::Create(
    const Model& model, const System& system, const Kernels& kernels,
    Others others) {
  ASSIGN_OR_RETURN(PriceList prices,
                   PriceList::Create(system, kernels, others));
  return InferenceEstimator(model, system, kernels.reserved_memory(),
                            std::move(prices));
}

StepEstimate InferenceEstimator::Step(const InferencePlan& plan,
                                      const InferencePass& pass,
                                      const EstimateOptions& options) {
  StepEstimate estimate =
      PassEstimator(*model_, *system_, plan, pass, options, prices_).Estimate();
  estimate.peak = MemoryOf(*model_, plan, reserved_).total();
  return estimate;
}

double InferenceEstimator::PrefillSeconds(const InferencePlan& plan,
                                          const EstimateOptions& options) {
  return ToSeconds(plan.engine().request_overhead) +
         SecondsOf(plan, PrefillPasses(plan), options);
}

StepEstimate InferenceEstimator::Steps(const InferencePlan& plan,
                                       const std::vector<InferencePass>& passes,
                                       const EstimateOptions& options) {
  StepEstimate sum;
  for (const InferencePass& pass : passes) sum += Step(plan, pass, options);
  // Each of them fills the pipeline and drains it; in a row they overlap.
  double overlapped = sum.step_s() - SecondsOf(plan, passes, options);
  for (double* term : {&sum.bubble_s, &sum.pipeline_s, &sum.host_s}) {
    const double less = std::clamp(overlapped, 0.0, *term);
    *term -= less;
    overlapped -= less;
  }
  return sum;
}

double InferenceEstimator::SecondsOf(const InferencePlan& plan,
                                     const std::vector<InferencePass>& passes,
                                     const EstimateOptions& options) {
  // From then on passes that are alike take as long as the one before.
  constexpr size_t kUntilSteady = 4;
  EstimateOptions once = options;
  once.once = true;
  std::vector<HostClock> clocks;
  std::vector<double> sent;
  double end = 0;
  double steady = 0;  // for passes that are alike, beyond those that are run
  // What each takes by itself, by its estimate and by the clocks.
  double estimated = 0;
  double clocked = 0;
  for (size_t i = 0; i < passes.size();) {
    size_t next = i + 1;
    while (next < passes.size() && passes[next] == passes[i]) ++next;
    const size_t alike = next - i;
    PassEstimator pass(*model_, *system_, plan, passes[i], once, prices_);
    const auto times = static_cast<double>(alike);
    estimated += times * pass.Estimate().step_s();
    std::vector<HostClock> own = pass.Clocks();
    std::vector<double> nothing(own.size(), 0);
    clocked += times * pass.Continue(own, nothing);
    if (clocks.empty()) {
      clocks = pass.Clocks();
      sent.assign(clocks.size(), 0);
    }
    double before = end;
    for (size_t k = 0; k < std::min(alike, kUntilSteady); ++k) {
      before = end;
      end = pass.Continue(clocks, sent);
    }
    if (alike > kUntilSteady) {
      steady += static_cast<double>(alike - kUntilSteady) * (end - before);
    }
    i = next;
  }
  // Halves that hide one another, and ranks that wait for each other, are in
  // the estimates only.
  return clocked > 0 ? (end + steady) * estimated / clocked : 0;
}

RequestEstimate InferenceEstimator::Request(const InferencePlan& plan,
                                            const EstimateOptions& options) {
  return Request(plan, PrefillSeconds(plan, options), options);
}

RequestEstimate InferenceEstimator::Request(const InferencePlan& plan,
                                            double prefill_s,
                                            const EstimateOptions& options) {
  RequestEstimate request{.prefill_s = prefill_s};
  const int64_t steps = DecodeSteps(plan);
  if (steps == 0) return request;
  const auto at = [&](int64_t step) {
    return Step(plan, DecodePass(plan, CachedInStep(plan, step)), options)
        .step_s();
  };
  // Simpson's rule: a step grows nearly linearly with what is cached.
  request.step_s = (at(0) + 4 * at((steps - 1) / 2) + at(steps - 1)) / 6;
  const double plain = request.step_s;
  if (plan.speculation()) {
    request.step_s *=
        1 + plan.speculation()->drafts * plan.speculation()->draft_cost;
  }
  request.decode_s = request.step_s * static_cast<double>(steps);
  if (plan.engine().first_token_by_decode) {
    request.first_s = at(0) * request.step_s / plain;
  }
  if (plan.output() > 1) {
    request.token_s =
        (request.decode_s - request.first_s) / (plan.output() - 1);
  }
  return request;
}

}  // namespace orrery
