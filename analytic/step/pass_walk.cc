#include "analytic/step/pass_walk.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "analytic/step/unit_steps.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

constexpr double kNever = PassDelays::kNever;

struct TimedStep {
  const LayerStep* step;
  double seconds;
  double piece_s;  // of a chunked exchange
};
using TimedSteps = std::vector<TimedStep>;

template <class Include>
TimedSteps Timed(const PricedSteps& list, bool least, Include include) {
  const std::vector<double>& seconds = least ? list.least : list.seconds;
  const std::vector<double>& pieces = least ? list.pieces_least : list.pieces;
  TimedSteps timed;
  for (size_t i = 0; i < list.steps.size(); ++i) {
    if (!include(list.steps[i])) continue;
    timed.push_back(
        {&list.steps[i], seconds[i], pieces.empty() ? 0 : pieces[i]});
  }
  return timed;
}

// The rows of kernels and exchanges of one rank.
class PassWalk {
 public:
  PassWalk(const PassQuestion& question, const PassMoment& start)
      : chunks_(question.chunks),
        waited_(question.waited),
        waits_(waited_.Has(Dimension::kTensor) ||
               waited_.Has(Dimension::kContext) ||
               waited_.Has(Dimension::kExpert)),
        overlaps_(question.plan.overlap_weight_gradient()),
        input_(start.result),
        kernels_(start.kernels),
        main_(start.result),
        before_exchange_(start.result) {}

  void AddSteps(const TimedSteps& steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const TimedStep* next = i + 1 < steps.size() ? &steps[i + 1] : nullptr;
      const LayerStep& step = *steps[i].step;
      const bool plain = !step.beside_exchange && next != nullptr &&
                         !next->step->beside_exchange;
      if (step.exchange() != nullptr) {
        if (plain && next->step->op() != nullptr &&
            IsChunked(*step.exchange()) &&
            step.exchange()->kind == ExchangeKind::kAllGather) {
          AddPieces(steps[i]);
        } else {
          AddExchange(steps[i]);
        }
        continue;
      }
      const double after = NextInput(step);
      if (plain && next->step->exchange() != nullptr &&
          IsChunked(*next->step->exchange()) &&
          next->step->exchange()->kind != ExchangeKind::kAllGather) {
        AddSplitOp(steps[i], *next, after);
        ++i;
        continue;
      }
      AddOp(steps[i], after);
      if (!step.beside_exchange) gradient_ = main_;
    }
  }

  void AddInputGradients(const TimedSteps& steps) {
    AddSteps(steps);
    const bool has_op = std::any_of(
        steps.begin(), steps.end(),
        [](const TimedStep& timed) { return timed.step->op() != nullptr; });
    if (!has_op || !overlaps_) gradient_ = main_;
  }

  void AddWeightExchanges(const TimedSteps& steps) {
    weights_ = kNever;
    for (const TimedStep& timed : steps) {
      if (timed.step->exchange() == nullptr) continue;
      const double after =
          timed.step->beside_exchange && side_ ? *side_ : main_;
      const double end =
          Exchange_(*timed.step->exchange(), timed.seconds, after);
      weights_ = std::max(weights_, end);
      if (!overlaps_) main_ = end;
    }
  }

  void AddWeightOps(const TimedSteps& steps) {
    for (const TimedStep& timed : steps) {
      if (timed.step->op() == nullptr) continue;
      Kernel(timed.seconds, std::max(gradient_, weights_));
    }
  }

  PassMoment Finish() const {
    PassMoment end{kernels_, main_};
    if (side_) end.result = std::max(end.result, *side_);
    if (waits_ && started_) end.result = std::max(end.result, last_);
    return end;
  }

 private:
  bool IsChunked(const Exchange& exchange) const {
    return chunks_ > 1 && exchange.group == ExchangeGroup::kTensor &&
           exchange.kind != ExchangeKind::kAllToAll;
  }

  double Kernel(double seconds, double after) {
    double start = std::max(kernels_, after);
    if (!started_) start = std::max(start, input_);
    if (last_is_waited_for_) start = std::max(start, last_);
    started_ = true;
    last_is_waited_for_ = false;
    kernels_ = last_ = start + seconds;
    return last_;
  }

  double Exchange_(const Exchange& exchange, double seconds, double after) {
    const Dimension dimension = DimensionOf(exchange.group);
    double& row = rows_[static_cast<size_t>(dimension)];
    const bool waited = waited_.Has(dimension);
    double start = std::max(row, after);
    if (!started_) start = std::max(start, input_);
    if (started_ && (waited || last_is_waited_for_)) {
      start = std::max(start, last_);
    }
    started_ = true;
    last_is_waited_for_ = waited;
    row = last_ = start + seconds;
    return last_;
  }

  double NextInput(const LayerStep& step) {
    if (step.beside_exchange) return side_.value_or(before_exchange_);
    double input = main_;
    if (step.op() == nullptr) return input;
    if (!blocks_.empty() && !split_next_) {
      input = std::max(input, blocks_.front());
      blocks_.pop_front();
    }
    if (side_ && side_is_due_) {
      input = std::max(input, *side_);
      side_.reset();
    }
    return input;
  }

  void Advance(const LayerStep& step, double end) {
    (step.beside_exchange ? side_.emplace() : main_) = end;
  }

  void BeginExchange() {
    if (side_) side_is_due_ = true;
    before_exchange_ = main_;
  }

  void AddExchange(const TimedStep& timed) {
    const Exchange& exchange = *timed.step->exchange();
    const double after = NextInput(*timed.step);
    if (timed.step->beside_exchange) {
      Advance(*timed.step, Exchange_(exchange, timed.seconds, after));
      return;
    }
    BeginExchange();
    if (exchange.kind == ExchangeKind::kRing) {
      for (int i = 0; i < exchange.steps; ++i) {
        blocks_.push_back(
            Exchange_(exchange, timed.seconds / exchange.steps, after));
      }
      return;
    }
    main_ = Exchange_(exchange, timed.seconds, after);
  }

  // The pieces of a gather whose product goes along with them.
  void AddPieces(const TimedStep& timed) {
    const double after = NextInput(*timed.step);
    BeginExchange();
    for (int i = 0; i < chunks_; ++i) {
      blocks_.push_back(
          Exchange_(*timed.step->exchange(), timed.piece_s, after));
    }
    split_next_ = true;
  }

  void AddOp(const TimedStep& timed, double after) {
    const LayerStep& step = *timed.step;
    if (!split_next_ || step.beside_exchange) {
      Advance(step, Kernel(timed.seconds, after));
      return;
    }
    split_next_ = false;
    const double pieces = static_cast<double>(blocks_.size());
    double last = after;
    while (!blocks_.empty()) {
      last = Kernel(timed.seconds / pieces, std::max(after, blocks_.front()));
      blocks_.pop_front();
    }
    Advance(step, last);
  }

  // A product whose result leaves piece by piece.
  void AddSplitOp(const TimedStep& timed, const TimedStep& exchange,
                  double after) {
    const bool gathered = std::exchange(split_next_, false);
    before_exchange_ = main_;
    double last = after;
    for (int i = 0; i < chunks_; ++i) {
      double input = after;
      if (gathered && !blocks_.empty()) {
        input = std::max(input, blocks_.front());
        blocks_.pop_front();
      }
      gradient_ = Kernel(timed.seconds / chunks_, input);
      last = Exchange_(*exchange.step->exchange(), exchange.piece_s, gradient_);
    }
    if (side_) side_is_due_ = true;
    main_ = last;
  }

  int chunks_;
  DimensionSet waited_;
  bool waits_;  // for exchanges of any of a layer's dimensions
  bool overlaps_;
  double input_;
  double kernels_;  // the last kernel ends
  std::array<double, kDimensions> rows_ = [] {
    std::array<double, kDimensions> rows;
    rows.fill(kNever);
    return rows;
  }();
  // The last task ends.
  double last_ = kNever;
  bool started_ = false;
  bool last_is_waited_for_ = false;
  // Ends of the main chain, of what stood before its last exchange, and of the
  // branch beside it.
  double main_;
  double before_exchange_;
  std::optional<double> side_;
  bool side_is_due_ = false;
  std::deque<double> blocks_;
  bool split_next_ = false;
  double weights_ = kNever;   // exchanges of the module's weight gradients
  double gradient_ = kNever;  // what these wait for
};

TimedSteps OfModule(const TimedSteps& steps, int index) {
  TimedSteps some;
  for (const TimedStep& timed : steps) {
    if (timed.step->module_index == index) some.push_back(timed);
  }
  return some;
}

PassMoment Walk(const PassQuestion& question, PipelinePass pass,
                const PassMoment& start) {
  const PricedUnit& unit = question.unit;
  const TrainingPlan& plan = question.plan;
  const auto all = [](const LayerStep&) { return true; };
  const auto timed = [&](const PricedSteps& list) {
    return Timed(list, question.least, all);
  };
  PassWalk walk(question, start);
  if (pass == PipelinePass::kForward) {
    walk.AddSteps(timed(unit.forward));
    return walk.Finish();
  }
  if (pass == PipelinePass::kWeightGradient) {
    walk.AddSteps(timed(unit.weight_gradient));
    return walk.Finish();
  }
  if (unit.ops.checkpointed && plan.recompute() != Recompute::kNone) {
    walk.AddSteps(
        Timed(unit.forward, question.least,
              [&](const LayerStep& step) { return RunsAgain(step, plan); }));
  }
  const TimedSteps inputs = timed(unit.input_gradient);
  if (pass == PipelinePass::kInputGradient) {
    walk.AddSteps(inputs);
    return walk.Finish();
  }
  const TimedSteps weights = timed(unit.weight_gradient);
  int top = -1;
  for (const TimedSteps* list : {&inputs, &weights}) {
    if (list->empty()) continue;
    top = std::max<int>(top, list->front().step->module_index);
  }
  for (int index = top; index >= 0; --index) {
    const TimedSteps of_weights = OfModule(weights, index);
    walk.AddWeightExchanges(of_weights);
    walk.AddInputGradients(OfModule(inputs, index));
    walk.AddWeightOps(of_weights);
  }
  return walk.Finish();
}

// A host that waits for every kernel holds the chip up before a pass.
double HeldUp(const PassQuestion& question, PipelinePass pass) {
  const TrainingPlan& plan = question.plan;
  if (!plan.framework().blocking_launches) return 0;
  const LayerOps& ops = question.unit.ops;
  return ToSeconds(LaunchTime(ops, RecomputedSteps(ops, plan), pass, plan));
}

}  // namespace

PassDelays WalkPass(const PassQuestion& question, PipelinePass pass) {
  PassDelays delays;
  delays.after_kernels = Walk(question, pass, {.kernels = 0, .result = kNever});
  delays.after_input = Walk(question, pass, {.kernels = kNever, .result = 0});
  const double held_up = HeldUp(question, pass);
  return held_up > 0 ? PassDelays(held_up).Then(delays) : delays;
}

PassSet WalkPasses(PassQuestion question) {
  const StageLayout& layout = question.plan.layout().stages;
  PassSet passes{.forward = WalkPass(question, PipelinePass::kForward)};
  if (layout.splits_gradients() || layout.bidirectional()) {
    passes.input_gradient = WalkPass(question, PipelinePass::kInputGradient);
    passes.weight_gradient = WalkPass(question, PipelinePass::kWeightGradient);
  }
  if (!layout.splits_gradients()) {
    passes.backward = WalkPass(question, PipelinePass::kBackward);
  }
  return passes;
}

}  // namespace orrery
