#include "workload/lowering/inference/engine_writer.h"

#include <utility>

namespace orrery {
namespace {

// Of a token's number in the vocabulary.
constexpr Bytes kTokenBytes{4};

}  // namespace

EngineWriter::EngineWriter(const InferencePlan& plan,
                           const ParallelLayout& layout,
                           const PassOptions& options, RoleBuilder& role,
                           int rank, bool hosted)
    : plan_(plan),
      layout_(layout),
      options_(options),
      role_(role),
      rank_(rank),
      hosted_(hosted),
      host_stream_(HostStream(layout.stages)),
      slots_(role, rank) {}

Mark EngineWriter::MarkOf(const Run& run, int layer) const {
  Mark mark{.phase = phase_, .micro_batch = step_};
  if (layer >= 0) mark.layer = layer;
  if (parts_ > 1) {
    mark.pass = passes_ + run.part;
    mark.piece = run.part;
  }
  return mark;
}

// Nothing of the chip: only time on the host's own stream.
TaskRef EngineWriter::HostTask(const char* name, Duration time) {
  const TaskRef task = role_.AddKernel(
      host_stream_, name, {.duration = time, .demand = {.compute = 0}});
  role_.SetMark(task, {.phase = phase_, .micro_batch = step_});
  work_.host += time;
  return task;
}

void EngineWriter::Launch(TaskRef task,
                          std::optional<ExchangeGroup> collective) {
  if (!hosted_) return;
  const EngineProfile& engine = plan_.engine();
  if (collective && launch_ != EngineLaunch::kGraph) {
    const PassPurpose purpose = phase_ == WorkPhase::kDecode
                                    ? PassPurpose::kDecode
                                    : PassPurpose::kPrefill;
    const TaskRef start = HostTask(
        "launch",
        plan_.collective_launches(purpose)[static_cast<size_t>(*collective)]);
    const bool waits =
        launch_ == EngineLaunch::kWaiting || engine.wait_for_collectives;
    if (waits && last_) role_.AddDependency(*last_, start);
    role_.AddDependency(start, task);
    return;
  }
  switch (launch_) {
    case EngineLaunch::kGraph:
      if (!graph_) graph_ = HostTask("graph", engine.graph_start);
      if (!first_) role_.AddDependency(*graph_, task);
      break;
    case EngineLaunch::kEach:
    case EngineLaunch::kWaiting: {
      const TaskRef start = HostTask("launch", engine.host_launch);
      if (launch_ == EngineLaunch::kWaiting && last_) {
        role_.AddDependency(*last_, start);
      }
      role_.AddDependency(start, task);
      break;
    }
  }
}

void EngineWriter::SkipEmpty(const PassUnits& units, Run& run) {
  const auto& list = UnitsOf(units);
  while (
      run.unit < list.size() &&
      units.templates[static_cast<size_t>(list[run.unit].pass)].tasks.empty()) {
    ++run.unit;
  }
}

EngineWriter::Run EngineWriter::Begin(const PassUnits& units, int part) {
  Run run;
  run.part = part;
  run.inputs = before_;
  for (const PassUnits::Unit& unit : UnitsOf(units)) {
    const PassTemplate& pass = units.templates[static_cast<size_t>(unit.pass)];
    work_ += pass.work;
  }
  if (rank_ > 0) {
    const SlotRef slot =
        slots_.PipelineChannel(Channel::kForwardReceive, rank_ - 1,
                               /*mirrored=*/false, /*arm=*/0, rank_ - 1);
    const TaskRef task = role_.AddReceive(
        slot, "receive",
        {.bytes = units.boundary, .share = options_.exchange_share});
    role_.SetMark(task, MarkOf(run, -1));
    run.inputs.push_back(task);
  }
  if (tokens_.size() == static_cast<size_t>(parts_)) {
    run.inputs.push_back(tokens_[static_cast<size_t>(part)]);
  } else {
    run.inputs.insert(run.inputs.end(), tokens_.begin(), tokens_.end());
  }
  SkipEmpty(units, run);
  return run;
}

// Forward transfers go from a stage to the one after; after the last stage
// comes the first.
void EngineWriter::SendTokens(const InferencePass& pass, const Run& run) {
  const int last = layout_.stages.stages() - 1;
  const SlotRef slot =
      slots_.PipelineChannel(Channel::kForwardSend, last, /*mirrored=*/false,
                             /*arm=*/0, /*peer=*/0);
  const TaskRef task =
      role_.AddSend(slot, "send tokens",
                    {.bytes = pass.groups[0].count * kTokenBytes,
                     .share = options_.exchange_share});
  role_.SetMark(task, MarkOf(run, -1));
  for (const TaskRef& before : run.inputs) role_.AddDependency(before, task);
}

void EngineWriter::ReceiveTokens(const InferencePass& pass) {
  const int last = layout_.stages.stages() - 1;
  for (int part = 0; part < pass.parts; ++part) {
    const SlotRef slot =
        slots_.PipelineChannel(Channel::kForwardReceive, last,
                               /*mirrored=*/false, /*arm=*/0, last);
    const TaskRef task =
        role_.AddReceive(slot, "receive tokens",
                         {.bytes = pass.groups[0].count * kTokenBytes,
                          .share = options_.exchange_share});
    role_.SetMark(task, {.phase = phase_, .micro_batch = step_});
    tokens_.push_back(task);
  }
}

bool EngineWriter::WriteNext(const PassUnits& units, Run& run) {
  const PassUnits::Unit& unit = UnitsOf(units)[run.unit];
  const PassTemplate& pass = units.templates[static_cast<size_t>(unit.pass)];
  const PassTask& task = pass.tasks[run.task];
  const TaskRef ref =
      task.is_kernel ? role_.AddKernel(kComputeStream, task.name, task.kernel)
                     : role_.AddCollective(slots_.Group(FamilyOf(task.group)),
                                           task.name, task.what);
  role_.SetMark(ref, MarkOf(run, unit.layer));
  const auto depend = [&](const TaskRef& before) {
    if (before.stream != ref.stream) role_.AddDependency(before, ref);
  };
  for (const int32_t before : task.after) {
    depend(run.written[static_cast<size_t>(before)]);
  }
  if (task.after_input || run.task == 0) {
    for (const TaskRef& before : run.inputs) depend(before);
  }
  Launch(ref, task.is_kernel ? std::nullopt : std::optional(task.group));
  if (!first_ && task.is_kernel) first_ = ref;
  last_ = ref;
  run.written.push_back(ref);
  if (++run.task < pass.tasks.size()) return task.is_kernel;
  std::vector<TaskRef> exits;
  for (const int32_t exit : pass.exits) {
    exits.push_back(run.written[static_cast<size_t>(exit)]);
  }
  if (!exits.empty()) run.inputs = std::move(exits);
  run.written.clear();
  run.task = 0;
  ++run.unit;
  SkipEmpty(units, run);
  return task.is_kernel;
}

void EngineWriter::End(const PassUnits& units, const Run& run) {
  if (rank_ + 1 == layout_.stages.stages()) return;
  const SlotRef slot =
      slots_.PipelineChannel(Channel::kForwardSend, rank_, /*mirrored=*/false,
                             /*arm=*/0, rank_ + 1);
  const TaskRef task = role_.AddSend(
      slot, "send",
      {.bytes = units.boundary, .share = options_.exchange_share});
  role_.SetMark(task, MarkOf(run, -1));
  for (const TaskRef& before : run.inputs) role_.AddDependency(before, task);
}

// The halves take turns where one of them begins to communicate.
void EngineWriter::WriteTogether(const PassUnits& units, Run& a, Run& b) {
  const size_t end = UnitsOf(units).size();
  Run* now = &a;
  Run* other = &b;
  while (now->unit < end || other->unit < end) {
    bool exchanged = false;
    while (now->unit < end && !exchanged) exchanged = !WriteNext(units, *now);
    std::swap(now, other);
  }
}

void EngineWriter::Write(const InferencePass& pass, const PassUnits& units,
                         Bytes grows, bool decode_follows) {
  const EngineProfile& engine = plan_.engine();
  const bool decodes = pass.purpose == PassPurpose::kDecode;
  const bool serial = options_.waited == DimensionSet::All();
  launch_ = decodes ? engine.decode_launch : engine.prefill_launch();
  phase_ = decodes ? WorkPhase::kDecode : WorkPhase::kPrefill;
  step_ = decodes ? decode_steps_++ : prefill_steps_++;
  passes_ += parts_;
  parts_ = pass.parts;
  graph_.reset();
  first_.reset();
  const bool returns = decode_follows && layout_.stages.stages() > 1;
  const bool last_stage = rank_ + 1 == layout_.stages.stages();
  std::vector<TaskRef> ends;
  for (int part = 0; part < pass.parts; ++part) {
    Run run = Begin(units, part);
    if (plan_.overlap_halves() && part + 1 < pass.parts && !serial) {
      Run other = Begin(units, ++part);
      WriteTogether(units, run, other);
      End(units, run);
      End(units, other);
      if (returns && last_stage) {
        SendTokens(pass, run);
        SendTokens(pass, other);
      }
      ends.insert(ends.end(), other.inputs.begin(), other.inputs.end());
    } else {
      while (run.unit < UnitsOf(units).size()) WriteNext(units, run);
      End(units, run);
      if (returns && last_stage) SendTokens(pass, run);
      if (serial) before_ = run.inputs;
    }
    ends.insert(ends.end(), run.inputs.begin(), run.inputs.end());
  }
  tokens_.clear();
  if (returns && rank_ == 0) ReceiveTokens(pass);
  if (first_ && grows > Bytes(0)) {
    role_.Allocate(*first_, MemoryEffect::When::kStart, MemoryKind::kKvCache,
                   grows);
  }
  before_ = ends;
  if (!hosted_ || !pass.ends_step) return;
  const Duration between = engine.Between(pass.sequences);
  if (between == Duration(0)) return;
  const TaskRef host = HostTask("between steps", between);
  if (engine.overlap_steps) return;
  for (const TaskRef& before : ends) role_.AddDependency(before, host);
  before_ = {host};
}

}  // namespace orrery
