#include "analytic/step/pass_tasks.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "analytic/step/unit_steps.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

struct TimedStep {
  const LayerStep* step;
  double seconds;
  double least;
  // Of a piece of a chunked exchange.
  double piece_s;
  double piece_least;
};
using TimedSteps = std::vector<TimedStep>;

template <class Include>
TimedSteps Timed(const PricedSteps& list, Include include) {
  TimedSteps timed;
  const bool pieces = !list.pieces.empty();
  for (size_t i = 0; i < list.steps.size(); ++i) {
    if (!include(list.steps[i])) continue;
    timed.push_back({&list.steps[i], list.seconds[i], list.least[i],
                     pieces ? list.pieces[i] : 0,
                     pieces ? list.pieces_least[i] : 0});
  }
  return timed;
}

void Add(TaskNumbers& to, const TaskNumbers& more) {
  for (const int32_t task : more) {
    if (std::find(to.begin(), to.end(), task) == to.end()) to.push_back(task);
  }
}

TaskNumbers Both(TaskNumbers a, const TaskNumbers& b) {
  Add(a, b);
  return a;
}

class TaskWriter {
 public:
  explicit TaskWriter(const PassQuestion& question)
      : chunks_(question.chunks),
        overlaps_(question.plan.overlap_weight_gradient()) {}

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
      const TaskNumbers after = NextInput(step);
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
    weights_.clear();
    for (const TimedStep& timed : steps) {
      if (timed.step->exchange() == nullptr) continue;
      const TaskNumbers after =
          timed.step->beside_exchange && side_ ? *side_ : main_;
      const TaskNumbers end = Call(timed, 1, after);
      Add(weights_, end);
      if (!overlaps_) main_ = end;
    }
  }

  void AddWeightOps(const TimedSteps& steps) {
    for (const TimedStep& timed : steps) {
      if (timed.step->op() == nullptr) continue;
      Kernel(timed.seconds, Both(gradient_, weights_));
    }
  }

  PassTasks Finish() && {
    list_.exits = main_;
    if (side_) Add(list_.exits, *side_);
    return std::move(list_);
  }

 private:
  bool IsChunked(const Exchange& exchange) const {
    return chunks_ > 1 && exchange.group == ExchangeGroup::kTensor &&
           exchange.kind != ExchangeKind::kAllToAll;
  }

  TaskNumbers AddTask(TimedTask task) {
    list_.tasks.push_back(std::move(task));
    return {static_cast<int32_t>(list_.tasks.size()) - 1};
  }
  TaskNumbers Kernel(double seconds, const TaskNumbers& after) {
    return AddTask({.dimension = std::nullopt,
                    .seconds = seconds,
                    .least = seconds,
                    .after = after});
  }
  TaskNumbers Call(const Exchange& exchange, double seconds, double least,
                   const TaskNumbers& after) {
    return AddTask({.dimension = DimensionOf(exchange.group),
                    .seconds = seconds,
                    .least = least,
                    .after = after});
  }
  // One of so many parts of an exchange, or its piece.
  TaskNumbers Call(const TimedStep& timed, int parts,
                   const TaskNumbers& after) {
    return Call(*timed.step->exchange(), timed.seconds / parts,
                timed.least / parts, after);
  }
  TaskNumbers CallPiece(const TimedStep& timed, const TaskNumbers& after) {
    return Call(*timed.step->exchange(), timed.piece_s, timed.piece_least,
                after);
  }

  TaskNumbers NextInput(const LayerStep& step) {
    if (step.beside_exchange) return side_.value_or(before_exchange_);
    TaskNumbers input = main_;
    if (step.op() == nullptr) return input;
    if (!blocks_.empty() && !split_next_) {
      Add(input, blocks_.front());
      blocks_.pop_front();
    }
    if (side_ && side_is_due_) {
      Add(input, *side_);
      side_.reset();
    }
    return input;
  }

  void Advance(const LayerStep& step, TaskNumbers end) {
    (step.beside_exchange ? side_.emplace() : main_) = std::move(end);
  }

  void BeginExchange() {
    if (side_) side_is_due_ = true;
    before_exchange_ = main_;
  }

  void AddExchange(const TimedStep& timed) {
    const Exchange& exchange = *timed.step->exchange();
    const TaskNumbers after = NextInput(*timed.step);
    if (timed.step->beside_exchange) {
      Advance(*timed.step, Call(timed, 1, after));
      return;
    }
    BeginExchange();
    if (exchange.kind == ExchangeKind::kRing) {
      for (int i = 0; i < exchange.steps; ++i) {
        blocks_.push_back(Call(timed, exchange.steps, after));
      }
      return;
    }
    main_ = Call(timed, 1, after);
  }

  // The pieces of a gather whose product goes along with them.
  void AddPieces(const TimedStep& timed) {
    const TaskNumbers after = NextInput(*timed.step);
    BeginExchange();
    for (int i = 0; i < chunks_; ++i) {
      blocks_.push_back(CallPiece(timed, after));
    }
    split_next_ = true;
  }

  void AddOp(const TimedStep& timed, const TaskNumbers& after) {
    const LayerStep& step = *timed.step;
    if (!split_next_ || step.beside_exchange) {
      Advance(step, Kernel(timed.seconds, after));
      return;
    }
    split_next_ = false;
    const double pieces = static_cast<double>(blocks_.size());
    TaskNumbers last = after;
    while (!blocks_.empty()) {
      last = Kernel(timed.seconds / pieces, Both(after, blocks_.front()));
      blocks_.pop_front();
    }
    Advance(step, std::move(last));
  }

  // A product whose result leaves piece by piece.
  void AddSplitOp(const TimedStep& timed, const TimedStep& exchange,
                  const TaskNumbers& after) {
    const bool gathered = std::exchange(split_next_, false);
    before_exchange_ = main_;
    TaskNumbers last = after;
    for (int i = 0; i < chunks_; ++i) {
      TaskNumbers input = after;
      if (gathered && !blocks_.empty()) {
        Add(input, blocks_.front());
        blocks_.pop_front();
      }
      gradient_ = Kernel(timed.seconds / chunks_, input);
      last = CallPiece(exchange, gradient_);
    }
    if (side_) side_is_due_ = true;
    main_ = last;
  }

  int chunks_;
  bool overlaps_;
  PassTasks list_;
  // What ends the main chain, what stood before its last exchange, and what
  // ends the branch beside it.
  TaskNumbers main_ = {kPassInput};
  TaskNumbers before_exchange_ = {kPassInput};
  std::optional<TaskNumbers> side_;
  bool side_is_due_ = false;
  std::deque<TaskNumbers> blocks_;
  bool split_next_ = false;
  TaskNumbers weights_;   // exchanges of the module's weight gradients
  TaskNumbers gradient_;  // what these wait for
};

TimedSteps OfModule(const TimedSteps& steps, int index) {
  TimedSteps some;
  for (const TimedStep& timed : steps) {
    if (timed.step->module_index == index) some.push_back(timed);
  }
  return some;
}

void WritePass(const PassQuestion& question, PipelinePass pass,
               TaskWriter& writer) {
  const PricedUnit& unit = question.unit;
  const TrainingPlan& plan = question.plan;
  const auto timed = [](const PricedSteps& list) {
    return Timed(list, [](const LayerStep&) { return true; });
  };
  if (pass == PipelinePass::kForward) {
    writer.AddSteps(timed(unit.forward));
    return;
  }
  if (pass == PipelinePass::kWeightGradient) {
    writer.AddSteps(timed(unit.weight_gradient));
    return;
  }
  if (unit.ops.checkpointed && plan.recompute() != Recompute::kNone) {
    writer.AddSteps(Timed(unit.forward, [&](const LayerStep& step) {
      return RunsAgain(step, plan);
    }));
  }
  const TimedSteps inputs = timed(unit.input_gradient);
  if (pass == PipelinePass::kInputGradient) {
    writer.AddSteps(inputs);
    return;
  }
  const TimedSteps weights = timed(unit.weight_gradient);
  int top = -1;
  for (const TimedSteps* list : {&inputs, &weights}) {
    if (list->empty()) continue;
    top = std::max<int>(top, list->front().step->module_index);
  }
  for (int index = top; index >= 0; --index) {
    const TimedSteps of_weights = OfModule(weights, index);
    writer.AddWeightExchanges(of_weights);
    writer.AddInputGradients(OfModule(inputs, index));
    writer.AddWeightOps(of_weights);
  }
}

double HeldUp(const PassQuestion& question, PipelinePass pass) {
  const TrainingPlan& plan = question.plan;
  if (!plan.framework().blocking_launches) return 0;
  const LayerOps& ops = question.unit.ops;
  return ToSeconds(LaunchTime(ops, RecomputedSteps(ops, plan), pass, plan));
}

}  // namespace

PassTasks TasksOf(const PassQuestion& question, PipelinePass pass) {
  TaskWriter writer(question);
  WritePass(question, pass, writer);
  PassTasks tasks = std::move(writer).Finish();
  tasks.held_up = HeldUp(question, pass);
  return tasks;
}

}  // namespace orrery
