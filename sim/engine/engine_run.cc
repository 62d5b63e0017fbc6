#include "sim/engine/engine_run.h"

#include <fmt/format.h>

#include "base/units_text.h"

namespace orrery {

TaskSpan SpanOf(const EngineState& state, uint32_t index, Time now) {
  const StreamState& stream = state.streams[index];
  const RankId rank = state.RankOf(index);
  const Role& role = *state.ranks[rank].role;
  return {.rank = rank,
          .stream = state.StreamOf(index),
          .task = stream.next,
          .name = role.name_at(stream.place),
          .kind = static_cast<SpanKind>(role.at(stream.place).kind),
          .release = {stream.released_by, stream.releaser},
          .headed = stream.headed,
          .ready = stream.ready,
          .started = stream.started,
          .ended = now};
}

absl::Status OutOfTime(const Program& program, const EngineState& state,
                       Event event, Time last) {
  std::string what = "a transfer";
  if (event.phase() == EventPhase::kKernel) {
    const RankId rank = state.RankOf(event.index());
    what = program.Describe(rank, state.streams[event.index()].next);
  }
  return absl::OutOfRangeError(fmt::format(
      "{} would end beyond the range of simulated time (106 days); it was in "
      "progress at {}",
      what, ToText(last.time_since_epoch(), 4)));
}

absl::Status NegativeMemory(const Program& program, RankId rank) {
  return absl::FailedPreconditionError(
      fmt::format("rank {} (role '{}') releases memory before it holds it",
                  program.ranks()[rank].number, program.role_of(rank).name()));
}

}  // namespace orrery
