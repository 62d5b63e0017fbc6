#include "sim/run_result.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/units_text.h"
#include "sim/engine_state.h"
#include "sim/event_queue.h"

namespace orrery {
namespace {

// Beside its StreamState: an entry and a due time in the queue, the progress of
// a kernel that shares its chip.
constexpr size_t kBytesPerStream = sizeof(StreamState) + 16 + 8 + 24;
constexpr size_t kBytesPerRank =
    sizeof(RankState) + sizeof(MemoryTracker) + sizeof(RankResult);
// Arrived members; a slot, an activity and an event of its transfer.
constexpr size_t kBytesPerGroup = 160;

}  // namespace

Bytes StateBytes(const Program& program) {
  const size_t streams = program.ranks().size()
                         << std::bit_width(program.streams().size() - 1);
  return Bytes(static_cast<int64_t>(streams * kBytesPerStream +
                                    program.ranks().size() * kBytesPerRank +
                                    program.groups().size() * kBytesPerGroup));
}

absl::Status CheckRun(const Program& program, const Transfers& transfers,
                      const EngineOptions& options) {
  const size_t streams = program.ranks().size()
                         << std::bit_width(program.streams().size() - 1);
  if (streams > size_t{Event::kMaxIndex}) {
    return absl::ResourceExhaustedError(fmt::format(
        "{} ranks of {} streams are {} events, more than the {} the queue can "
        "number",
        program.ranks().size(), program.streams().size(), streams,
        Event::kMaxIndex));
  }
  if (const Bytes needed = StateBytes(program); needed > options.max_state) {
    return absl::ResourceExhaustedError(fmt::format(
        "{} ranks of {} streams in {} groups need {} of engine state, more "
        "than the {} allowed; fold symmetric ranks or raise the limit",
        program.ranks().size(), program.streams().size(),
        program.groups().size(), ToBinaryText(needed, 4),
        ToBinaryText(options.max_state, 4)));
  }
  if (transfers.plan_of_call.size() != program.calls().size()) {
    return absl::InvalidArgumentError(
        fmt::format("the program makes {} distinct calls but {} have a plan",
                    program.calls().size(), transfers.plan_of_call.size()));
  }
  for (const CallId call : program.calls().ids()) {
    if (Index(transfers.plan_of_call[call]) >= transfers.plans.size()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: {} of {} bytes has no plan",
                      program.Describe(program.calls()[call].group),
                      NameOf(program.calls()[call].what.kind),
                      program.calls()[call].what.bytes.value()));
    }
  }
  if (transfers.plans.resource_bound() >
      static_cast<int32_t>(transfers.capacities.size())) {
    return absl::InvalidArgumentError(fmt::format(
        "plans use resource {} but only {} capacities are given",
        transfers.plans.resource_bound() - 1, transfers.capacities.size()));
  }
  for (const ResourceId id : transfers.capacities.ids()) {
    const double capacity = transfers.capacities[id];
    if (!(capacity > 0) || !std::isfinite(capacity)) {
      return absl::InvalidArgumentError(fmt::format(
          "resource {} has capacity {}; it must be positive and finite",
          Index(id), capacity));
    }
  }
  return absl::OkStatus();
}

}  // namespace orrery
