#include "workload/lowering/training/role_writer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace orrery {
namespace {

constexpr auto kStart = MemoryEffect::When::kStart;
constexpr auto kEnd = MemoryEffect::When::kEnd;

bool IsForward(PipelinePass pass) { return pass == PipelinePass::kForward; }

int64_t Key(bool forward, int stage, int micro_batch) {
  return (int64_t{micro_batch} << 32) | (int64_t{stage} << 1) |
         (forward ? 1 : 0);
}

}  // namespace

RoleWriter::RoleWriter(const StepContext& context, RoleBuilder& role, int rank)
    : context_(context),
      role_(role),
      rank_(rank),
      slots_(role, rank),
      gradients_(context, role, slots_),
      arms_(context.orders.layout.arms()),
      backwards_left_(static_cast<size_t>(context.orders.layout.pieces())),
      has_run_forward_(static_cast<size_t>(context.orders.layout.pieces())) {}

RankParameters RoleWriter::Held() const {
  RankParameters held;
  const StageLayout& layout = context_.orders.layout;
  for (int piece = 0; piece < layout.pieces(); ++piece) {
    for (const StageUnit& unit :
         context_.units_of(layout.StageOf(rank_, piece))) {
      held += context_.unit(unit).parameters;
    }
  }
  return held;
}

void RoleWriter::Write() {
  const auto& order = context_.orders.of_rank[static_cast<size_t>(rank_)];
  for (const PipelineAction& action : order) {
    if (action.pass == PipelinePass::kBackward ||
        action.pass == PipelinePass::kWeightGradient) {
      ++backwards_left_[static_cast<size_t>(action.piece)];
    }
  }
  for (size_t i = 0; i < order.size(); ++i) {
    Run run = Begin(i);
    if (order[i].with_next) {
      // Where exchanges are waited for there is nothing to hide behind: one
      // after the other.
      while (WaitsForExchanges() && !run.finished()) WriteNext(run);
      Run next = Begin(++i);
      WriteTogether(run, next);
    } else {
      WriteAll(run);
    }
  }
  const StageLayout& layout = context_.orders.layout;
  const RankParameters held = Held();
  RankParameters largest;
  UnitCalls calls;
  bool shares_tie = false;
  for (int piece = 0; piece < layout.pieces(); ++piece) {
    const int stage = layout.StageOf(rank_, piece);
    for (const StageUnit& unit : context_.units_of(stage)) {
      const RankParameters& parameters = context_.unit(unit).parameters;
      calls += context_.unit(unit).calls;
      if (parameters.total() > largest.total()) largest = parameters;
    }
    const bool tied = context_.templates.stages.back().embedding_copy;
    shares_tie |= tied && (stage == 0 || stage == layout.stages() - 1);
  }
  gradients_.FinishStep(last_kernel_.value_or(TaskRef{}), held, shares_tie);
  const StaticMemory memory =
      StaticBytes(context_.plan, context_.placement, held, largest);
  role_.SetInitialMemory(MemoryKind::kWeights, memory.weights);
  role_.SetInitialMemory(MemoryKind::kGradients, memory.gradients);
  role_.SetInitialMemory(MemoryKind::kOptimizer, memory.optimizer);
  role_.SetInitialMemory(
      MemoryKind::kBuffers,
      memory.buffers + CollectiveBufferBytes(context_.plan, rank_, calls));
}

int RoleWriter::RankOfStage(int stage, int micro_batch) const {
  return context_.orders.layout.PlaceOf(stage, IsSecondHalf(micro_batch)).rank;
}

int RoleWriter::ArmOf(const PipelineAction& action) const {
  return arms_ == 2 ? action.piece : 0;
}

Mark RoleWriter::MarkOf(const PipelineAction& action, int pass,
                        WorkPhase phase) const {
  Mark mark{.phase = phase, .micro_batch = action.micro_batch, .pass = pass};
  if (context_.orders.layout.pieces() > 1) mark.piece = action.piece;
  return mark;
}

std::vector<TaskRef> RoleWriter::Receive(Run& run, bool forward) {
  const PipelineAction& action = run.action;
  const int stage = run.stage;
  const int last = context_.orders.layout.stages() - 1;
  if (forward && stage == 0) return {};
  // The gradient of the loss starts where the forward pass ended.
  if (!forward && stage == last) {
    return ResultOf(true, stage, action.micro_batch);
  }
  const int from = forward ? stage - 1 : stage + 1;
  const int peer = RankOfStage(from, action.micro_batch);
  if (peer == rank_) return ResultOf(forward, from, action.micro_batch);
  const SlotRef slot = slots_.PipelineChannel(
      forward ? Channel::kForwardReceive : Channel::kBackwardReceive,
      std::min(stage, from), IsSecondHalf(action.micro_batch), ArmOf(action),
      peer);
  const TaskRef task =
      role_.AddReceive(slot, "receive",
                       {.bytes = context_.templates.boundary,
                        .share = context_.options.exchange_share});
  run.received = task;
  const Mark mark = MarkOf(
      action, run.pass, forward ? WorkPhase::kForward : WorkPhase::kBackward);
  role_.SetMark(task, mark);
  const Bytes gathered = context_.templates.gathered_boundary;
  if (gathered == Bytes(0)) return {task};
  const TaskRef gather =
      role_.AddCollective(slots_.Group(GroupFamily::kTensor), "all_gather",
                          {.kind = CommunicationKind::kAllGather,
                           .bytes = gathered,
                           .share = context_.options.exchange_share});
  role_.AddDependency(task, gather);
  // In line with the kernels: between what ran before and what needs it.
  if (last_kernel_) role_.AddDependency(*last_kernel_, gather);
  role_.SetMark(gather, mark);
  return {gather};
}

void RoleWriter::Send(const Run& run, bool forward) {
  const int to = forward ? run.stage + 1 : run.stage - 1;
  const int micro_batch = run.action.micro_batch;
  if (to < 0 || to >= context_.orders.layout.stages()) return;
  const int peer = RankOfStage(to, micro_batch);
  if (peer == rank_) return;
  const SlotRef slot = slots_.PipelineChannel(
      forward ? Channel::kForwardSend : Channel::kBackwardSend,
      std::min(run.stage, to), IsSecondHalf(micro_batch), ArmOf(run.action),
      peer);
  const TaskRef task =
      role_.AddSend(slot, "send",
                    {.bytes = context_.templates.boundary,
                     .share = context_.options.exchange_share});
  for (const TaskRef& before : run.inputs) role_.AddDependency(before, task);
  role_.SetMark(task,
                MarkOf(run.action, run.pass,
                       forward ? WorkPhase::kForward : WorkPhase::kBackward));
  if (!context_.plan.overlap_pipeline()) sent_.push_back(task);
}

const PassTemplate& RoleWriter::PassOf(const Run& run,
                                       const StageUnit& unit) const {
  return context_.unit(unit).Pass(run.action.pass);
}

// What the host takes to start the pass of a unit.
Duration RoleWriter::LaunchTime(const Run& run) const {
  return context_.unit(run.units[run.unit]).LaunchTime(run.action.pass);
}

// A host that waits for every kernel holds the chip up for all it starts: in
// line with the kernels, after what they wait for.
std::optional<TaskRef> RoleWriter::StandStill(const Run& run) {
  if (!context_.plan.framework().blocking_launches) return std::nullopt;
  const Duration time = LaunchTime(run);
  const KernelWork work{
      .duration = time, .demand = {0, 0}, .facts = {.launch = time}};
  work_.Add(work);
  const TaskRef launches = role_.AddKernel(kComputeStream, "launch", work);
  role_.SetMark(launches, {.micro_batch = run.action.micro_batch});
  for (const TaskRef& before : run.inputs) {
    if (before.stream != kComputeStream) role_.AddDependency(before, launches);
  }
  return launches;
}

// The host runs through the passes in their order, ahead of the chip if it can:
// a pass is not over before all of it was started.
void RoleWriter::StartByHost(const Run& run, TaskRef last_kernel) {
  const Framework& framework = context_.plan.framework();
  if (!framework.dispatch || framework.blocking_launches) return;
  const Duration time = LaunchTime(run);
  host_work_ += time;
  const TaskRef host =
      role_.AddKernel(HostStream(context_.orders.layout), "launch",
                      KernelWork{.duration = time, .demand = {0, 0}});
  role_.SetMark(host, {.micro_batch = run.action.micro_batch});
  if (run.received && framework.host_waits_for_receive) {
    role_.AddDependency(*run.received, host);
  }
  role_.AddDependency(host, last_kernel);
}

RoleWriter::Run RoleWriter::Begin(size_t place) {
  const PipelineAction& action =
      context_.orders.of_rank[static_cast<size_t>(rank_)][place];
  Run run;
  run.action = action;
  run.pass = static_cast<int>(place);
  run.stage = context_.orders.layout.StageOf(rank_, action.piece);
  run.units = context_.units_of(run.stage);
  if (!IsForward(action.pass)) std::reverse(run.units.begin(), run.units.end());
  for (const StageUnit& unit : run.units) {
    const PassTemplate& pass = PassOf(run, unit);
    run.total += pass.tasks.size();
    work_ += pass.work;
  }
  if (action.pass != PipelinePass::kWeightGradient) {
    run.inputs = Receive(run, IsForward(action.pass));
  }
  if (!run.received) run.received = std::exchange(received_, std::nullopt);
  run.inputs.insert(run.inputs.end(), sent_.begin(), sent_.end());
  sent_.clear();
  if (WaitsForExchanges()) {
    run.inputs.insert(run.inputs.end(), last_exits_.begin(), last_exits_.end());
  }
  SkipEmpty(run);
  return run;
}

// Units without tasks in this pass (an embedding has no input gradient).
void RoleWriter::SkipEmpty(Run& run) {
  while (!run.finished() && PassOf(run, run.units[run.unit]).tasks.empty()) {
    ++run.unit;
  }
}

void RoleWriter::WriteNext(Run& run) {
  const StageUnit& unit = run.units[run.unit];
  const PassTemplate& pass = PassOf(run, unit);
  const PassTask& task = pass.tasks[run.task];
  if (run.task == 0 && run.action.pass != PipelinePass::kWeightGradient) {
    const auto piece = static_cast<size_t>(run.action.piece);
    for (const TaskRef& gathered :
         gradients_.BeforePass(unit, IsForward(run.action.pass),
                               !has_run_forward_[piece], run.inputs)) {
      run.inputs.push_back(gathered);
    }
  }
  if (run.task == 0 && TakesItsGradientFromAbove(run, unit)) {
    const std::vector<TaskRef>& above =
        ResultOf(false, run.stage, run.action.micro_batch);
    run.inputs.insert(run.inputs.end(), above.begin(), above.end());
  }
  if (run.task == 0) {
    if (const auto launches = StandStill(run)) run.inputs.push_back(*launches);
  }
  const TaskRef ref =
      task.is_kernel ? role_.AddKernel(kComputeStream, task.name, task.kernel)
                     : role_.AddCollective(slots_.Group(FamilyOf(task.group)),
                                           task.name, task.what);
  Mark mark = MarkOf(run.action, run.pass, task.phase);
  if (unit.layer >= 0) mark.layer = unit.layer;
  role_.SetMark(ref, mark);
  const auto depend = [&](const TaskRef& before) {
    if (before.stream != ref.stream) role_.AddDependency(before, ref);
  };
  for (const int32_t before : task.after) {
    depend(run.written[static_cast<size_t>(before)]);
  }
  if (task.after_input || run.task == 0) {
    for (const TaskRef& before : run.inputs) depend(before);
  }
  if (task.is_kernel) last_kernel_ = ref;
  run.written.push_back(ref);
  ++run.task;
  ++run.done;
  if (run.task == pass.tasks.size()) EndPass(run);
}

void RoleWriter::EndPass(Run& run) {
  const StageUnit& unit = run.units[run.unit];
  const UnitTemplate& templates = context_.unit(unit);
  const PassTemplate& pass = PassOf(run, unit);
  std::optional<TaskRef> first_kernel, last_kernel;
  for (const TaskRef& task : run.written) {
    if (task.stream != kComputeStream) continue;
    if (!first_kernel) first_kernel = task;
    last_kernel = task;
  }
  const auto memory = MemoryKind::kActivations;
  const PipelinePass kind = run.action.pass;
  if (first_kernel && kind == PipelinePass::kForward &&
      templates.kept > Bytes(0)) {
    role_.Allocate(*first_kernel, kStart, memory, templates.kept);
  }
  const bool releases =
      kind == PipelinePass::kBackward || kind == PipelinePass::kWeightGradient;
  if (first_kernel && releases && templates.kept > Bytes(0)) {
    role_.Release(*last_kernel, kEnd, memory, templates.kept);
  }
  if (first_kernel && templates.recomputed > Bytes(0)) {
    if (kind == PipelinePass::kBackward ||
        kind == PipelinePass::kInputGradient) {
      role_.Allocate(*first_kernel, kStart, memory, templates.recomputed);
    }
    if (releases) {
      role_.Release(*last_kernel, kEnd, memory, templates.recomputed);
    }
  }
  std::vector<TaskRef> exits;
  for (const int32_t task : pass.exits) {
    exits.push_back(run.written[static_cast<size_t>(task)]);
  }
  if (last_kernel) {
    StartByHost(run, *last_kernel);
    run.received.reset();
    gradients_.AfterPass(*last_kernel);
    if (releases) {
      const auto piece = static_cast<size_t>(run.action.piece);
      gradients_.GradientReady(unit, *first_kernel, *last_kernel, exits,
                               backwards_left_[piece] == 1);
    }
  }
  if (!exits.empty()) run.inputs = std::move(exits);
  run.written.clear();
  run.task = 0;
  ++run.unit;
  SkipEmpty(run);
}

// An embedding has no input gradient: nothing of its own has waited for the
// gradient that its weights are computed from.
bool RoleWriter::TakesItsGradientFromAbove(const Run& run,
                                           const StageUnit& unit) const {
  return run.action.pass == PipelinePass::kWeightGradient &&
         context_.unit(unit).input_gradient.tasks.empty();
}

bool RoleWriter::WaitsForExchanges() const {
  const DimensionSet& waited = context_.options.waited;
  return waited.Has(Dimension::kTensor) || waited.Has(Dimension::kContext) ||
         waited.Has(Dimension::kExpert);
}

void RoleWriter::EndAction(Run& run) {
  last_exits_ = run.inputs;
  received_ = run.received;
  const auto piece = static_cast<size_t>(run.action.piece);
  switch (run.action.pass) {
    case PipelinePass::kForward:
      has_run_forward_[piece] = true;
      Send(run, /*forward=*/true);
      KeepResult(run, /*forward=*/true);
      break;
    case PipelinePass::kBackward:
      --backwards_left_[piece];
      [[fallthrough]];
    case PipelinePass::kInputGradient:
      Send(run, /*forward=*/false);
      KeepResult(run, /*forward=*/false);
      break;
    case PipelinePass::kWeightGradient:
      --backwards_left_[piece];
      break;
  }
  if (run.action.pass == PipelinePass::kBackward ||
      run.action.pass == PipelinePass::kWeightGradient) {
    gradients_.EndBackward(backwards_left_[piece] == 0);
  }
}

const std::vector<TaskRef>& RoleWriter::ResultOf(bool forward, int stage,
                                                 int micro_batch) const {
  const auto found = results_.find(Key(forward, stage, micro_batch));
  CHECK(found != results_.end())
      << "the order has a pass of stage " << stage << ", micro-batch "
      << micro_batch << ", before the one whose result it needs";
  return found->second;
}

// For the action of this rank that goes on with it, if there is one.
void RoleWriter::KeepResult(const Run& run, bool forward) {
  const int last = context_.orders.layout.stages() - 1;
  const int micro_batch = run.action.micro_batch;
  const int next = forward ? run.stage + 1 : run.stage - 1;
  const bool turns = forward && run.stage == last;
  const bool ends = run.action.pass == PipelinePass::kInputGradient && next < 0;
  if (turns || ends || (next >= 0 && RankOfStage(next, micro_batch) == rank_)) {
    results_[Key(forward, run.stage, micro_batch)] = run.inputs;
  }
}

void RoleWriter::WriteAll(Run& run) {
  while (!run.finished()) WriteNext(run);
  EndAction(run);
}

void RoleWriter::WriteTogether(Run& a, Run& b) {
  if (WaitsForExchanges()) {
    b.inputs.insert(b.inputs.end(), a.inputs.begin(), a.inputs.end());
  }
  while (!a.finished() || !b.finished()) {
    // The one that is further behind goes next.
    const bool first =
        b.finished() || (!a.finished() && a.done * b.total <= b.done * a.total);
    WriteNext(first ? a : b);
  }
  // A pair is one piece of work: what it sends leaves when both are done.
  const std::vector<TaskRef> of_a = a.inputs;
  a.inputs.insert(a.inputs.end(), b.inputs.begin(), b.inputs.end());
  b.inputs.insert(b.inputs.end(), of_a.begin(), of_a.end());
  a.inputs.push_back(*last_kernel_);
  b.inputs.push_back(*last_kernel_);
  EndAction(a);
  EndAction(b);
}

}  // namespace orrery
