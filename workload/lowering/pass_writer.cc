#include "workload/lowering/pass_writer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/format.h"

namespace orrery {
namespace {

// The demand of two kernels, one after the other, on the mean of their work.
KernelWork Together(const KernelWork& a, const KernelWork& b) {
  const double of_a = ToSeconds(a.duration - a.facts.launch);
  const double of_b = ToSeconds(b.duration - b.facts.launch);
  const double total = of_a + of_b;
  const auto mean = [&](double x, double y) {
    if (total <= 0 || x == y) return x;
    const double sum = x * of_a + y * of_b;
    return std::min(sum / total, std::max(x, y));
  };
  return {.duration = a.duration + b.duration,
          .demand = {.compute = mean(a.demand.compute, b.demand.compute),
                     .memory = mean(a.demand.memory, b.demand.memory)},
          .facts = {.launch = a.facts.launch + b.facts.launch,
                    .memory_bound = a.facts.memory_bound + b.facts.memory_bound,
                    .flops = a.facts.flops + b.facts.flops,
                    .memory_traffic =
                        a.facts.memory_traffic + b.facts.memory_traffic}};
}

// The i-th of so many pieces of a kernel; together they are the kernel.
KernelWork Piece(const KernelWork& whole, int64_t i, int64_t pieces) {
  const auto part = [&](auto value) {
    return value * (i + 1) / pieces - value * i / pieces;
  };
  const KernelFacts& facts = whole.facts;
  return {.duration = part(whole.duration),
          .demand = whole.demand,
          .facts = {.launch = part(facts.launch),
                    .memory_bound = part(facts.memory_bound),
                    .flops = facts.flops / static_cast<double>(pieces),
                    .memory_traffic = part(facts.memory_traffic),
                    .op = facts.op,
                    .pieces = static_cast<int32_t>(pieces)}};
}

}  // namespace

bool PassWriter::IsChunked(const Exchange& exchange) const {
  return options_.tensor_chunks > 1 &&
         exchange.group == ExchangeGroup::kTensor &&
         exchange.kind != ExchangeKind::kAllToAll;
}

// Kernels run in one stream, in order: what one of them waited for, or another
// kernel, need not be waited for again.
bool PassWriter::IsDone(int32_t task) const {
  if (task == kInput) return input_awaited_;
  const auto i = static_cast<size_t>(task);
  return pass_.tasks[i].is_kernel || awaited_[i];
}

bool PassWriter::IsWaitedFor(const PassTask& task) const {
  return !task.is_kernel && options_.waited.Has(DimensionOf(task.group));
}

void PassWriter::Await(PassTask& task, const Tasks& after) {
  if (!pass_.tasks.empty() &&
      (IsWaitedFor(task) || IsWaitedFor(pass_.tasks.back()))) {
    task.after.push_back(static_cast<int32_t>(pass_.tasks.size()) - 1);
  }
  for (const int32_t before : after) {
    if (before == kInput) {
      task.after_input = true;
    } else if (std::find(task.after.begin(), task.after.end(), before) ==
               task.after.end()) {
      task.after.push_back(before);
    }
  }
}

int32_t PassWriter::Append(PassTask task, std::string name,
                           const KernelWork& kernel) {
  pass_.tasks.push_back(std::move(task));
  names_.push_back(std::move(name));
  kernels_.push_back(kernel);
  awaited_.push_back(false);
  return static_cast<int32_t>(pass_.tasks.size()) - 1;
}

int32_t PassWriter::NewKernel(const Op& op, const KernelWork& timed,
                              const Tasks& after) {
  PassTask task{.phase = phase_};
  Tasks needed;
  for (const int32_t before : after) {
    if (IsDone(before)) continue;
    needed.push_back(before);
    if (before == kInput) {
      input_awaited_ = true;
    } else {
      awaited_[static_cast<size_t>(before)] = true;
    }
  }
  Await(task, needed);
  return Append(std::move(task), std::string(Name(op.name)), timed);
}

int32_t PassWriter::EmitKernel(const Op& op, const KernelWork& timed,
                               const Tasks& after) {
  const bool grows = options_.merge && open_kernel_ != kInput &&
                     !IsWaitedFor(pass_.tasks.back()) &&
                     std::all_of(after.begin(), after.end(),
                                 [this](int32_t task) { return IsDone(task); });
  if (grows) {
    const auto task = static_cast<size_t>(open_kernel_);
    kernels_[task] = Together(kernels_[task], timed);
    std::string& name = names_[task];
    name =
        fmt::format("{}..{}", name.substr(0, name.find("..")), Name(op.name));
    return open_kernel_;
  }
  open_kernel_ = NewKernel(op, timed, after);
  return open_kernel_;
}

int32_t PassWriter::EmitExchange(const Exchange& exchange, const Tasks& after,
                                 int64_t pieces) {
  PassTask task{
      .is_kernel = false,
      .phase = phase_,
      .group = exchange.group,
      .what = {
          .kind = CommunicationKindOf(exchange.kind),
          .bytes = Bytes(std::max<int64_t>(
              1, (exchange.bytes.value() + pieces - 1) / pieces)),
          .share = exchange.group == ExchangeGroup::kExpert
                       ? options_.expert_share.value_or(options_.exchange_share)
                       : options_.exchange_share,
          .shape = exchange.kind == ExchangeKind::kRing
                       ? CallShape::kAroundTheRing
                       : exchange.shape}};
  Await(task, after);
  // A kernel that an exchange waits for must not grow any more.
  if (std::find(after.begin(), after.end(), open_kernel_) != after.end()) {
    open_kernel_ = kInput;
  }
  return Append(std::move(task), std::string(Name(exchange.kind)), {});
}

PassWriter::Tasks PassWriter::NextInputs(const LayerStep& step) {
  if (step.beside_exchange) return side_.value_or(before_exchange_);
  Tasks inputs = main_;
  if (step.op() != nullptr && !blocks_.empty() && !split_next_) {
    inputs.push_back(blocks_.front());
    blocks_.pop_front();
  }
  if (step.op() != nullptr && side_ && side_is_due_) {
    inputs.insert(inputs.end(), side_->begin(), side_->end());
    side_.reset();
  }
  return inputs;
}

void PassWriter::Advance(const LayerStep& step, int32_t task) {
  (step.beside_exchange ? side_.emplace() : main_) = {task};
}

void PassWriter::AddOp(const LayerStep& step, const Tasks& after) {
  const KernelWork timed = timer_(*step.op());
  pass_.work.Add(timed, phase_ == WorkPhase::kRecompute);
  if (!split_next_ || step.beside_exchange) {
    Advance(step, EmitKernel(*step.op(), timed, after));
    return;
  }
  // The product goes along with the pieces of the exchange before it.
  split_next_ = false;
  const auto pieces = static_cast<int64_t>(blocks_.size());
  int32_t last = kInput;
  for (int64_t i = 0; i < pieces; ++i) {
    const KernelWork piece = Piece(timed, i, pieces);
    Tasks inputs = after;
    inputs.push_back(blocks_.front());
    blocks_.pop_front();
    last = NewKernel(*step.op(), piece, inputs);
  }
  open_kernel_ = last;
  Advance(step, last);
}

// A product whose result is exchanged piece by piece.
void PassWriter::AddSplitOp(const LayerStep& step, const Exchange& exchange,
                            const Tasks& after) {
  const KernelWork timed = timer_(*step.op());
  pass_.work.Add(timed, phase_ == WorkPhase::kRecompute);
  const int64_t pieces = options_.tensor_chunks;
  const bool gathered = split_next_;
  split_next_ = false;
  before_exchange_ = main_;
  int32_t last = kInput;
  for (int64_t i = 0; i < pieces; ++i) {
    const KernelWork piece = Piece(timed, i, pieces);
    Tasks inputs = after;
    if (gathered && !blocks_.empty()) {
      inputs.push_back(blocks_.front());
      blocks_.pop_front();
    }
    last =
        EmitExchange(exchange, {NewKernel(*step.op(), piece, inputs)}, pieces);
  }
  open_kernel_ = kInput;
  if (side_) side_is_due_ = true;
  main_ = {last};
}

void PassWriter::AddExchange(const LayerStep& step) {
  const Exchange& exchange = *step.exchange();
  const Tasks after = NextInputs(step);
  if (step.beside_exchange) {
    Advance(step, EmitExchange(exchange, after));
    return;
  }
  if (side_) side_is_due_ = true;
  before_exchange_ = main_;
  if (exchange.kind == ExchangeKind::kRing) {
    for (int i = 0; i < exchange.steps; ++i) {
      blocks_.push_back(EmitExchange(exchange, after));
    }
    return;
  }
  main_ = {EmitExchange(exchange, after)};
}

void PassWriter::AddSteps(absl::Span<const LayerStep> steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const LayerStep& step = steps[i];
    const LayerStep* next = i + 1 < steps.size() ? &steps[i + 1] : nullptr;
    const bool plain =
        !step.beside_exchange && next != nullptr && !next->beside_exchange;
    if (step.exchange() != nullptr) {
      const Exchange& exchange = *step.exchange();
      if (plain && next->op() != nullptr && IsChunked(exchange) &&
          exchange.kind == ExchangeKind::kAllGather) {
        const Tasks after = NextInputs(step);
        before_exchange_ = main_;
        if (side_) side_is_due_ = true;
        for (int k = 0; k < options_.tensor_chunks; ++k) {
          blocks_.push_back(
              EmitExchange(exchange, after, options_.tensor_chunks));
        }
        split_next_ = true;
      } else {
        AddExchange(step);
      }
      continue;
    }
    const Tasks after = NextInputs(step);
    if (plain && next->exchange() != nullptr && IsChunked(*next->exchange()) &&
        next->exchange()->kind != ExchangeKind::kAllGather) {
      AddSplitOp(step, *next->exchange(), after);
      gradient_ = {static_cast<int32_t>(pass_.tasks.size()) - 2};
      ++i;
      continue;
    }
    AddOp(step, after);
    if (!step.beside_exchange) gradient_ = main_;
  }
}

void PassWriter::AddInputGradients(absl::Span<const LayerStep> steps) {
  const bool has_op =
      std::any_of(steps.begin(), steps.end(),
                  [](const LayerStep& s) { return s.op() != nullptr; });
  AddSteps(steps);
  // A module without an input gradient of its own (the embedding) waits for
  // what the exchanges bring.
  if (!has_op || !options_.overlap_weight_gradient) gradient_ = main_;
}

void PassWriter::AddWeightExchanges(absl::Span<const LayerStep> steps) {
  weight_exchanges_.clear();
  for (const LayerStep& step : steps) {
    if (step.exchange() == nullptr) continue;
    const Tasks after = step.beside_exchange && side_ ? *side_ : main_;
    weight_exchanges_.push_back(EmitExchange(*step.exchange(), after));
    if (!options_.overlap_weight_gradient) main_ = {weight_exchanges_.back()};
  }
}

void PassWriter::AddWeightOps(absl::Span<const LayerStep> steps) {
  for (const LayerStep& step : steps) {
    if (step.op() == nullptr) continue;
    Tasks after = gradient_;
    after.insert(after.end(), weight_exchanges_.begin(),
                 weight_exchanges_.end());
    const KernelWork timed = timer_(*step.op());
    pass_.work.Add(timed);
    EmitKernel(*step.op(), timed, after);
  }
}

PassTemplate PassWriter::Finish() && {
  Tasks exits = main_;
  // What is waited for at the beginning of the next pass waits for all of this.
  const bool waits = options_.waited.Has(Dimension::kTensor) ||
                     options_.waited.Has(Dimension::kContext) ||
                     options_.waited.Has(Dimension::kExpert);
  if (waits && !pass_.tasks.empty()) {
    exits.push_back(static_cast<int32_t>(pass_.tasks.size()) - 1);
  }
  if (side_) exits.insert(exits.end(), side_->begin(), side_->end());
  for (const int32_t task : exits) {
    if (task != kInput) pass_.exits.push_back(task);
  }
  for (size_t i = 0; i < pass_.tasks.size(); ++i) {
    PassTask& task = pass_.tasks[i];
    task.name = table_.Name(names_[i]);
    if (task.is_kernel) task.kernel = table_.Kernel(kernels_[i]);
  }
  return std::move(pass_);
}

}  // namespace orrery
