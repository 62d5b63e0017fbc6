#include "traces/timeline/call_arguments.h"

#include <algorithm>
#include <vector>

#include "traces/timeline/kernel_arguments.h"

namespace orrery {
namespace {

// Every member sends to the next: what it says depends on who asks.
bool IsRing(const TaskSpan& span, const Communication& what) {
  return span.kind == SpanKind::kCollective &&
         what.kind == CommunicationKind::kPointToPoint;
}

}  // namespace

CallArguments::CallArguments(const TimelineSource& source,
                             PerfettoWriter& writer)
    : source_(source),
      writer_(writer),
      rate_(writer.Key("GB/s")),
      congestion_(writer.Key("congestion_ps")),
      calls_(source.program.calls().size()) {}

void CallArguments::Describe(const TaskSpan& span, const Task& task,
                             ArgumentBlock& block) {
  const Program& program = source_.program;
  const auto& what = program.role_of(span.rank).communication(task);
  const GroupId group =
      program.group_of(span.rank, static_cast<SlotId>(task.slot));
  const auto add_text = [&](absl::string_view key, absl::string_view text) {
    block.Add(writer_.Key(key), writer_.Text(text));
  };
  const auto add_number = [&](absl::string_view key, int64_t number) {
    block.Add(writer_.Key(key), number);
  };
  const std::string_view kind = NameOf(what.kind);
  add_text("Collective name", {kind.data(), kind.size()});
  if (!source_.transfers.algorithms.empty()) {
    add_text("algorithm",
             source_.transfers.algorithms[program.call_of(span.rank, task)]);
  }
  add_number("bytes", what.bytes.value());
  add_text("Process Group Name", program.Describe(group));
  add_number("Group size", source_.group_sizes[group]);
  if (what.kind != CommunicationKind::kPointToPoint) return;
  std::vector<int> members;
  if (source_.groups != nullptr) members = (*source_.groups)[group].members;
  // Folded, the ranks at both ends may be one that is simulated.
  if (members.size() < 2) {
    members.clear();
    for (const GroupMember& member : program.members(group)) {
      members.push_back(program.ranks()[member.rank].number);
    }
  }
  // A channel has two ends; in a ring everybody sends to the next.
  size_t own = 0;
  if (IsRing(span, what)) {
    const auto found = std::find(members.begin(), members.end(),
                                 program.ranks()[span.rank].number);
    if (found != members.end()) {
      own = static_cast<size_t>(found - members.begin());
    }
  }
  add_number("Src Rank", members[own]);
  add_number("Dst Rank", members[(own + 1) % members.size()]);
}

void CallArguments::Append(const TaskSpan& span, ArgumentBlock& block) {
  const Program& program = source_.program;
  const Role& role = program.role_of(span.rank);
  const Task& task = role.task(span.task);
  const Communication& what = role.communication(task);
  if (IsRing(span, what)) {
    Describe(span, task, block);
  } else {
    std::string& call = calls_[program.call_of(span.rank, task)];
    if (call.empty()) {
      buffer_.Clear();
      Describe(span, task, buffer_);
      call = std::string(buffer_.bytes());
    }
    block.Append(call);
  }
  if (span.running() > Duration(0)) {
    const auto bytes = static_cast<double>(what.bytes.value());
    block.Add(rate_, RoundedRate(bytes / ToSeconds(span.running()) / 1e9));
  }
  if (source_.alone != nullptr) {
    const Duration congestion = CongestionOf(program, span, *source_.alone);
    if (congestion > Duration(0)) {
      block.Add(congestion_, int64_t{congestion.count()});
    }
  }
}

}  // namespace orrery
