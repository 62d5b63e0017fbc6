#include "traces/timeline/timeline_arguments.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "base/format.h"
#include "base/overload.h"
#include "traces/timeline/op_shape.h"
#include "traces/timeline/timeline_names.h"

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

std::optional<DType> OperandOf(const Op& op) {
  return std::visit(
      Overload{
          [](const Pointwise&) { return std::optional<DType>(); },
          [](const auto& work) { return std::optional<DType>(work.operand); }},
      op.work);
}

// Rates to one part in 8000: enough to compare, and the zeros in the rest of
// the number cost nothing in a compressed file.
double Rounded(double value) {
  constexpr double kSteps = 1 << 13;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::round(mantissa * kSteps) / kSteps, exponent);
}

// Distinct times of one kernel that are kept ready: more than ranks differ.
constexpr size_t kMostKept = 100'000;

}  // namespace

TimelineArguments::TimelineArguments(const TimelineSource& source,
                                     PerfettoWriter& writer)
    : source_(source),
      program_(source.program),
      writer_(writer),
      start_(writer.Key("ps")),
      duration_(writer.Key("dur_ps")),
      rank_(writer.Key("rank")),
      phase_(writer.Key("phase")),
      micro_batch_(writer.Key("microbatch")),
      chunk_(writer.Key("chunk")),
      layer_(writer.Key("layer")),
      slowed_(writer.Key("slowed_ps")),
      congestion_(writer.Key("congestion_ps")),
      rate_(writer.Key("GB/s")),
      busy_(writer.Key("kernels_ps")),
      kernels_key_(writer.Key("kernels")),
      cause_(writer.Key("cause")),
      to_start_(writer.Key("to start")) {}

const Mark& TimelineArguments::MarkOf(const TaskSpan& span) {
  if (marked_ != &span) {
    marked_ = &span;
    mark_ = &program_.role_of(span.rank).mark(span.task);
  }
  return *mark_;
}

EventName TimelineArguments::Name(const TaskSpan& span) {
  const Role& role = program_.role_of(span.rank);
  const WorkPhase phase = MarkOf(span).phase;
  const bool kernel = span.kind == SpanKind::kKernel;
  const bool product =
      kernel && IsProduct(role.kernel(role.task(span.task)).facts, source_.ops);
  const auto [name, is_new] = names_.try_emplace(
      {span.name, kernel ? phase : WorkPhase::kOther, product});
  if (is_new) {
    const std::string& plain = program_.name(span.name);
    name->second =
        writer_.Name(kernel ? KernelLabel(plain, phase, product) : plain);
  }
  return name->second;
}

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
  Add(duration_, (end - begin).count());
  // The file counts nanoseconds; this is what a start lies beyond its own.
  Add(start_, begin.time_since_epoch().count() % 1000);
}

void TimelineArguments::AddMark(RankId rank, const Mark& mark) {
  Add(rank_, program_.ranks()[rank].number);
  if (mark.phase != WorkPhase::kOther) {
    arguments_.push_back({phase_, writer_.Text(View(NameOf(mark.phase)))});
  }
  if (mark.micro_batch) Add(micro_batch_, *mark.micro_batch);
  if (mark.piece) Add(chunk_, *mark.piece);
  if (mark.layer) Add(layer_, *mark.layer);
}

void TimelineArguments::AddPlace(const TaskSpan& span) {
  AddMark(span.rank, MarkOf(span));
}

std::string TimelineArguments::EncodeKernel(const KernelWork& kernel,
                                            Duration time) {
  const KernelFacts& facts = kernel.facts;
  static const KernelFacts kNone;
  if (facts == kNone) return "";
  common_.clear();
  const double seconds = ToSeconds(time);
  if (facts.op) {
    for (const auto& [key, value] : ShapeOf(source_.ops[*facts.op])) {
      std::visit([&, name = key](const auto& v) { AddNamed(name, v); }, value);
    }
  }
  if (facts.flops > Flops(0) && seconds > 0) {
    const double rate = facts.flops.value() / seconds;
    AddNamed("TFLOP/s", Rounded(rate / 1e12));
    const std::optional<DType> type =
        facts.op ? OperandOf(source_.ops[*facts.op]) : std::nullopt;
    const std::optional<double> peak =
        type && source_.peak ? source_.peak(*type) : std::nullopt;
    if (peak) AddNamed("% of peak", Rounded(100 * rate / *peak));
  }
  if (facts.memory_traffic > Bytes(0) && seconds > 0) {
    AddNamed("GB/s", Rounded(static_cast<double>(facts.memory_traffic.value()) /
                             seconds / 1e9));
  }
  AddNamed("bound", LimitOf(kernel));
  if (facts.pieces > 1) AddNamed("pieces", int64_t{facts.pieces});
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
  const std::pair key(&kernel, int64_t{span.running().count()});
  const auto found = kernels_.find(key);
  if (found != kernels_.end()) return found->second;
  std::string encoded = EncodeKernel(kernel, span.running());
  if (kernels_.size() < kMostKept) {
    return kernels_.emplace(key, std::move(encoded)).first->second;
  }
  encoded_ = std::move(encoded);
  return encoded_;
}

bool TimelineArguments::IsRing(const TaskSpan& span) const {
  const Role& role = program_.role_of(span.rank);
  return span.kind == SpanKind::kCollective &&
         role.communication(role.task(span.task)).kind ==
             CommunicationKind::kPointToPoint;
}

std::string TimelineArguments::EncodeCall(const TaskSpan& span,
                                          const Task& task) {
  const auto& what = program_.role_of(span.rank).communication(task);
  const GroupId group =
      program_.group_of(span.rank, static_cast<SlotId>(task.slot));
  common_.clear();
  AddNamed("Collective name", View(NameOf(what.kind)));
  if (!source_.transfers.algorithms.empty()) {
    AddNamed("algorithm",
             source_.transfers.algorithms[program_.call_of(span.rank, task)]);
  }
  AddNamed("bytes", what.bytes.value());
  AddNamed("Process Group Name", program_.Describe(group));
  AddNamed("Group size", int64_t{source_.group_sizes[group]});
  if (what.kind == CommunicationKind::kPointToPoint) {
    std::vector<int> members;
    if (source_.groups != nullptr) members = (*source_.groups)[group].members;
    // Folded, the ranks at both ends may be one that is simulated.
    if (members.size() < 2) {
      members.clear();
      for (const GroupMember& member : program_.members(group)) {
        members.push_back(program_.ranks()[member.rank].number);
      }
    }
    // A channel has two ends; in a ring everybody sends to the next.
    size_t own = 0;
    if (IsRing(span)) {
      const auto found = std::find(members.begin(), members.end(),
                                   program_.ranks()[span.rank].number);
      if (found != members.end()) {
        own = static_cast<size_t>(found - members.begin());
      }
    }
    const int64_t from = members[own];
    const int64_t to = members[(own + 1) % members.size()];
    AddNamed("Src Rank", from);
    AddNamed("Dst Rank", to);
  }
  return writer_.Encode(common_);
}

absl::string_view TimelineArguments::Communication(const TaskSpan& span) {
  const Role& role = program_.role_of(span.rank);
  const Task& task = role.task(span.task);
  if (span.running() > Duration(0)) {
    const auto bytes =
        static_cast<double>(role.communication(task).bytes.value());
    arguments_.push_back(
        {rate_, Rounded(bytes / ToSeconds(span.running()) / 1e9)});
  }
  if (source_.alone != nullptr) {
    const Duration congestion = CongestionOf(program_, span, *source_.alone);
    if (congestion > Duration(0)) Add(congestion_, congestion.count());
  }
  if (IsRing(span)) {
    encoded_ = EncodeCall(span, task);
    return encoded_;
  }
  const auto [encoded, is_new] =
      calls_.try_emplace(program_.call_of(span.rank, task));
  if (is_new) encoded->second = EncodeCall(span, task);
  return encoded->second;
}

EventDetails TimelineArguments::Of(const TaskSpan& span,
                                   absl::string_view category) {
  arguments_.clear();
  EventDetails details = {.category = writer_.Category(category)};
  if (span.kind == SpanKind::kKernel) {
    details.encoded = Kernel(span);
  } else if (span.kind != SpanKind::kMarker) {
    details.encoded = Communication(span);
  }
  AddPlace(span);
  AddTimes(span.started, span.ended);
  details.arguments = arguments_;
  return details;
}

EventDetails TimelineArguments::OfPartnerWait(const TaskSpan& span, Time begin,
                                              Time end) {
  arguments_.clear();
  arguments_.push_back({to_start_, writer_.Text(program_.name(span.name))});
  AddPlace(span);
  AddTimes(begin, end);
  return {.category = writer_.Category("partner"), .arguments = arguments_};
}

EventDetails TimelineArguments::OfWait(RankId rank, const WaitSlice& wait) {
  arguments_.clear();
  arguments_.push_back({cause_, writer_.Text(View(NameOf(wait.kind)))});
  if (wait.waiter) {
    const Role& role = program_.role_of(rank);
    arguments_.push_back(
        {to_start_, writer_.Text(program_.name(role.name_of(*wait.waiter)))});
    AddMark(rank, role.mark(*wait.waiter));
  } else {
    Add(rank_, program_.ranks()[rank].number);
  }
  AddTimes(wait.from, wait.to);
  return {.category = writer_.Category("wait"), .arguments = arguments_};
}

EventDetails TimelineArguments::OfPass(RankId rank, const TimelinePass& pass,
                                       absl::string_view category) {
  arguments_.clear();
  AddMark(rank, pass.mark);
  Add(kernels_key_, pass.kernels);
  Add(busy_, pass.busy.count());
  AddTimes(pass.from, pass.to);
  return {.category = writer_.Category(category), .arguments = arguments_};
}

EventDetails TimelineArguments::OfLayer(const TaskSpan& span) {
  arguments_.clear();
  AddPlace(span);
  return {.category = writer_.Category("layer"), .arguments = arguments_};
}

}  // namespace orrery
