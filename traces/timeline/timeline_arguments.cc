#include "traces/timeline/timeline_arguments.h"

#include <variant>

#include "base/format.h"
#include "traces/timeline/op_shape.h"

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
      start_(writer.Key("start_ps")),
      duration_(writer.Key("dur_ps")),
      rank_(writer.Key("rank")),
      phase_(writer.Key("phase")),
      micro_batch_(writer.Key("microbatch")),
      layer_(writer.Key("layer")),
      slowed_(writer.Key("slowed_ps")),
      rate_(writer.Key("bytes_per_s")) {}

void TimelineArguments::Add(ArgumentKey key, int64_t value) {
  arguments_.push_back({key, value});
}

void TimelineArguments::AddNamed(absl::string_view key, int64_t value) {
  common_.push_back({writer_.Key(key), value});
}
void TimelineArguments::AddNamed(absl::string_view key, double value) {
  common_.push_back({writer_.Key(key), value});
}
void TimelineArguments::AddNamed(absl::string_view key,
                                 absl::string_view text) {
  common_.push_back({writer_.Key(key), writer_.Text(text)});
}

void TimelineArguments::AddTimes(Time begin, Time end) {
  Add(start_, begin.time_since_epoch().count());
  Add(duration_, (end - begin).count());
}

void TimelineArguments::AddPlace(const TaskSpan& span) {
  Add(rank_, program_.ranks()[span.rank].number);
  const Mark& mark = program_.role_of(span.rank).mark(span.task);
  if (mark.phase != WorkPhase::kOther) {
    arguments_.push_back({phase_, writer_.Text(View(NameOf(mark.phase)))});
  }
  if (mark.micro_batch) Add(micro_batch_, *mark.micro_batch);
  if (mark.layer) Add(layer_, *mark.layer);
}

std::string TimelineArguments::EncodeKernel(const KernelWork& kernel) {
  const KernelFacts& facts = kernel.facts;
  static const KernelFacts kNone;
  if (facts == kNone) return "";
  common_.clear();
  if (facts.op) {
    for (const auto& [key, value] : ShapeOf(ops_[*facts.op])) {
      std::visit([&, name = key](const auto& v) { AddNamed(name, v); }, value);
    }
  }
  if (facts.pieces > 1) AddNamed("pieces", int64_t{facts.pieces});
  AddNamed("limit", LimitOf(kernel));
  if (facts.flops > Flops(0)) AddNamed("flops", facts.flops.value());
  if (facts.memory_traffic > Bytes(0)) {
    AddNamed("memory_bytes", facts.memory_traffic.value());
  }
  AddNamed("launch_ps", int64_t{facts.launch.count()});
  return writer_.Encode(common_);
}

absl::string_view TimelineArguments::Kernel(const TaskSpan& span) {
  const Role& role = program_.role_of(span.rank);
  const KernelWork& kernel = role.kernel(role.task(span.task));
  // What slow chips and communication beside it added.
  const Duration added = span.running() - kernel.duration;
  if (added > Duration(0)) Add(slowed_, added.count());
  const auto [encoded, is_new] = kernels_.try_emplace(&kernel);
  if (is_new) encoded->second = EncodeKernel(kernel);
  return encoded->second;
}

std::string TimelineArguments::EncodeCall(const TaskSpan& span,
                                          const Task& task) {
  const auto& what = program_.role_of(span.rank).communication(task);
  const GroupId group =
      program_.group_of(span.rank, static_cast<SlotId>(task.slot));
  common_.clear();
  AddNamed("Collective name", View(NameOf(what.kind)));
  if (!transfers_.algorithms.empty()) {
    AddNamed("algorithm",
             transfers_.algorithms[program_.call_of(span.rank, task)]);
  }
  AddNamed("bytes", what.bytes.value());
  AddNamed("Process Group Name", program_.Describe(group));
  AddNamed("Group size", int64_t{group_sizes_[group]});
  if (what.kind == CommunicationKind::kPointToPoint) {
    const auto members = program_.members(group);
    AddNamed("Src Rank",
             int64_t{program_.ranks()[members.front().rank].number});
    AddNamed("Dst Rank", int64_t{program_.ranks()[members.back().rank].number});
  }
  return writer_.Encode(common_);
}

absl::string_view TimelineArguments::Communication(const TaskSpan& span) {
  const Role& role = program_.role_of(span.rank);
  const Task& task = role.task(span.task);
  if (span.running() > Duration(0)) {
    const auto bytes =
        static_cast<double>(role.communication(task).bytes.value());
    arguments_.push_back({rate_, bytes / ToSeconds(span.running())});
  }
  const auto [encoded, is_new] =
      calls_.try_emplace(program_.call_of(span.rank, task));
  if (is_new) encoded->second = EncodeCall(span, task);
  return encoded->second;
}

EventDetails TimelineArguments::Of(const TaskSpan& span,
                                   absl::string_view category) {
  arguments_.clear();
  AddTimes(span.started, span.ended);
  AddPlace(span);
  EventDetails details = {.category = writer_.Category(category)};
  if (span.kind == SpanKind::kKernel) {
    details.encoded = Kernel(span);
  } else if (span.kind != SpanKind::kMarker) {
    details.encoded = Communication(span);
  }
  details.arguments = arguments_;
  return details;
}

EventDetails TimelineArguments::OfWait(const TaskSpan& span, Time begin,
                                       Time end) {
  arguments_.clear();
  AddTimes(begin, end);
  AddPlace(span);
  arguments_.push_back(
      {writer_.Key("to start"), writer_.Text(program_.name(span.name))});
  return {.category = writer_.Category("wait"), .arguments = arguments_};
}

}  // namespace orrery
