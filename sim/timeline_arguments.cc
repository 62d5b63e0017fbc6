#include "sim/timeline_arguments.h"

#include "base/format.h"
#include "sim/op_shape.h"

namespace orrery {
namespace {

absl::string_view View(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

// What most of a kernel's time is spent on.
absl::string_view LimitOf(const KernelWork& kernel) {
  const Duration arithmetic =
      kernel.duration - kernel.facts.launch - kernel.facts.memory_bound;
  if (kernel.facts.launch > arithmetic &&
      kernel.facts.launch > kernel.facts.memory_bound) {
    return "launch";
  }
  return kernel.facts.memory_bound > arithmetic ? "memory" : "compute";
}

}  // namespace

TimelineArguments::TimelineArguments(const Program& program,
                                     const Transfers& transfers,
                                     const IdVector<OpId, Op>& ops,
                                     const GroupSizes& group_sizes,
                                     PerfettoWriter& writer)
    : program_(program),
      transfers_(transfers),
      ops_(ops),
      group_sizes_(group_sizes),
      writer_(writer),
      shapes_(ops.size()) {}

void TimelineArguments::Add(absl::string_view key, int64_t value) {
  arguments_.push_back({writer_.Key(key), value});
}
void TimelineArguments::Add(absl::string_view key, double value) {
  arguments_.push_back({writer_.Key(key), value});
}
void TimelineArguments::Add(absl::string_view key, absl::string_view text) {
  arguments_.push_back({writer_.Key(key), writer_.Text(text)});
}

void TimelineArguments::AddTimes(Time begin, Time end) {
  Add("start_ps", begin.time_since_epoch().count());
  Add("dur_ps", (end - begin).count());
}

void TimelineArguments::AddPlace(const TaskSpan& span) {
  Add("rank", int64_t{program_.ranks()[span.rank].number});
  const Mark& mark = program_.role_of(span.rank).mark(span.task);
  if (mark.phase != WorkPhase::kOther) Add("phase", View(NameOf(mark.phase)));
  if (mark.micro_batch) Add("microbatch", int64_t{*mark.micro_batch});
  if (mark.layer) Add("layer", int64_t{*mark.layer});
}

void TimelineArguments::AddShape(OpId op) {
  std::vector<EventArgument>& shape = shapes_[op];
  if (shape.empty()) {
    const size_t before = arguments_.size();
    for (const auto& [key, value] : ShapeOf(ops_[op])) {
      if (const auto* number = std::get_if<int64_t>(&value)) {
        Add(key, *number);
      } else if (const auto* real = std::get_if<double>(&value)) {
        Add(key, *real);
      } else {
        Add(key, std::get<absl::string_view>(value));
      }
    }
    shape.assign(arguments_.begin() + static_cast<std::ptrdiff_t>(before),
                 arguments_.end());
    return;
  }
  arguments_.insert(arguments_.end(), shape.begin(), shape.end());
}

void TimelineArguments::AddKernel(const TaskSpan& span) {
  const Role& role = program_.role_of(span.rank);
  const KernelWork& kernel = role.kernel(role.task(span.task));
  if (kernel.facts == KernelFacts{}) return;
  if (kernel.facts.op) AddShape(*kernel.facts.op);
  if (kernel.facts.pieces > 1) Add("pieces", int64_t{kernel.facts.pieces});
  Add("limit", LimitOf(kernel));
  if (kernel.facts.flops > Flops(0)) Add("flops", kernel.facts.flops.value());
  if (kernel.facts.memory_traffic > Bytes(0)) {
    Add("memory_bytes", kernel.facts.memory_traffic.value());
  }
  Add("launch_ps", kernel.facts.launch.count());
  // What slow chips and communication beside it added.
  const Duration added = span.running() - kernel.duration;
  if (added > Duration(0)) Add("slowed_ps", added.count());
}

void TimelineArguments::AddCommunication(const TaskSpan& span) {
  const Role& role = program_.role_of(span.rank);
  const Task& task = role.task(span.task);
  const Communication& what = role.communication(task);
  const GroupId group =
      program_.group_of(span.rank, static_cast<SlotId>(task.slot));
  Add("Collective name", View(NameOf(what.kind)));
  if (!transfers_.algorithms.empty()) {
    Add("algorithm", transfers_.algorithms[program_.call_of(span.rank, task)]);
  }
  Add("bytes", what.bytes.value());
  Add("Process Group Name", program_.Describe(group));
  Add("Group size", int64_t{group_sizes_[group]});
  if (what.kind == CommunicationKind::kPointToPoint) {
    const auto members = program_.members(group);
    Add("Src Rank", int64_t{program_.ranks()[members.front().rank].number});
    Add("Dst Rank", int64_t{program_.ranks()[members.back().rank].number});
  }
  if (span.running() > Duration(0)) {
    Add("bytes_per_s",
        static_cast<double>(what.bytes.value()) / ToSeconds(span.running()));
  }
}

absl::Span<const EventArgument> TimelineArguments::Of(const TaskSpan& span) {
  arguments_.clear();
  AddTimes(span.started, span.ended);
  AddPlace(span);
  if (span.kind == SpanKind::kKernel) AddKernel(span);
  if (IsCommunication(program_.role_of(span.rank).task(span.task).kind)) {
    AddCommunication(span);
  }
  return arguments_;
}

absl::Span<const EventArgument> TimelineArguments::OfWait(const TaskSpan& span,
                                                          Time begin,
                                                          Time end) {
  arguments_.clear();
  AddTimes(begin, end);
  AddPlace(span);
  Add("to start", program_.name(span.name));
  return arguments_;
}

}  // namespace orrery
