#include "sim/engine/stall.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/check.h"

namespace orrery {
namespace {

bool IsFinished(const StreamState& stream) { return stream.next == stream.end; }

struct Wait {
  std::string reason;
  std::optional<uint32_t> on;  // the stream that holds it up
};

// A member of the group that has not come to the call.
std::optional<uint32_t> AbsentMember(const Program& program,
                                     const EngineState& state, GroupId group) {
  for (const GroupMember& member : program.members(group)) {
    const uint32_t index = state.IndexOf(member.rank, member.stream);
    const StreamState& stream = state.streams[index];
    if (stream.status != StreamStatus::kArrived) return index;
    const Role& role = program.role_of(member.rank);
    const Task& task = role.task(stream.next);
    if (program.group_of(member.rank, static_cast<SlotId>(task.slot)) !=
        group) {
      return index;
    }
  }
  return std::nullopt;
}

Wait WaitOf(const Program& program, const EngineState& state, uint32_t index) {
  const StreamState& stream = state.streams[index];
  const RankId rank = state.RankOf(index);
  const Role& role = program.role_of(rank);
  if (stream.status == StreamStatus::kArrived) {
    const Task& task = role.task(stream.next);
    const GroupId group =
        program.group_of(rank, static_cast<SlotId>(task.slot));
    const std::optional<uint32_t> absent = AbsentMember(program, state, group);
    if (!absent.has_value()) return {"has all its partners", std::nullopt};
    return {fmt::format("waits in {} for rank {}", program.Describe(group),
                        program.ranks()[state.RankOf(*absent)].number),
            absent};
  }
  for (const Dependency& needed : role.dependencies(stream.next)) {
    const uint32_t other = state.IndexOf(rank, needed.stream);
    if (state.streams[other].next > needed.task) continue;
    return {fmt::format("waits for '{}' (task {})",
                        program.name(role.name_of(needed.task)),
                        static_cast<int32_t>(needed.task)),
            other};
  }
  return {"waits for nothing", std::nullopt};
}

}  // namespace

std::string ExplainStall(const Program& program, const EngineState& state) {
  int64_t tasks_left = 0;
  std::optional<uint32_t> first;
  for (uint32_t i = 0; i < state.streams.size(); ++i) {
    const StreamState& stream = state.streams[i];
    tasks_left +=
        static_cast<int64_t>(stream.end) - static_cast<int64_t>(stream.next);
    if (!first.has_value() && !IsFinished(stream)) first = i;
  }
  CHECK(first.has_value()) << "nothing is unfinished";
  std::vector<uint32_t> chain;
  std::vector<std::string> lines;
  std::string end;
  for (uint32_t at = *first;;) {
    const StreamState& stream = state.streams[at];
    if (IsFinished(stream)) {
      end = fmt::format("rank {} {}: has no tasks left: the partner is missing",
                        program.ranks()[state.RankOf(at)].number,
                        program.streams()[state.StreamOf(at)].name);
      break;
    }
    const auto seen = std::find(chain.begin(), chain.end(), at);
    if (seen != chain.end()) {
      // Only the cycle is to blame, not the way into it.
      lines.erase(lines.begin(), lines.begin() + (seen - chain.begin()));
      end = "which closes the cycle";
      break;
    }
    const Wait wait = WaitOf(program, state, at);
    chain.push_back(at);
    lines.push_back(fmt::format(
        "{} {}", program.Describe(state.RankOf(at), stream.next), wait.reason));
    if (!wait.on.has_value()) break;
    at = *wait.on;
  }
  std::string text =
      fmt::format("the program stalls with {} tasks left:", tasks_left);
  for (const std::string& line : lines) text += "\n  " + line;
  if (!end.empty()) text += "\n  " + end;
  return text;
}

}  // namespace orrery
