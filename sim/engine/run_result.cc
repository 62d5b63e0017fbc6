#include "sim/engine/run_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/units_text.h"
#include "sim/engine/engine_state.h"
#include "sim/engine/event_queue.h"

namespace orrery {
namespace {

// Each of these beside its event in the queue. A stream: also the progress of a
// kernel that shares its chip.
constexpr size_t kBytesPerStream = sizeof(StreamState) + 24;
// A step in progress, an activity, its place among the users of resources.
constexpr size_t kBytesPerStep = 176;

constexpr size_t kBytesPerRank =
    sizeof(RankState) + sizeof(MemoryTracker) + sizeof(RankResult);
constexpr size_t kBytesPerResource = 80;
// Arrived members of a group.
constexpr size_t kBytesPerGroup = 4;

// Steps of a group's calls that may run at the same time.
size_t ConcurrentSteps(const Program& program, const Transfers& transfers,
                       GroupId id) {
  const ProgramGroup& group = program.groups()[id];
  int32_t most = 1;
  for (int32_t i = 0; i < group.call_count; ++i) {
    const auto call =
        static_cast<CallId>(static_cast<int32_t>(group.first_call) + i);
    const PlanId plan = transfers.plan_of_call[call];
    if (transfers.plans.is_chain(plan)) continue;
    most = std::max(most, transfers.plans.listed_count(plan));
  }
  return static_cast<size_t>(most);
}

}  // namespace

Bytes StateBytes(const Program& program, const Transfers& transfers,
                 size_t bytes_per_event) {
  const size_t streams = program.ranks().size()
                         << std::bit_width(program.streams().size() - 1);
  size_t bytes = streams * (kBytesPerStream + bytes_per_event) +
                 program.ranks().size() * kBytesPerRank +
                 transfers.capacities.size() * kBytesPerResource;
  for (const GroupId group : program.groups().ids()) {
    bytes += kBytesPerGroup + (kBytesPerStep + bytes_per_event) *
                                  ConcurrentSteps(program, transfers, group);
  }
  return Bytes(static_cast<int64_t>(bytes));
}

absl::Status CheckRun(const Program& program, const Transfers& transfers,
                      const EngineOptions& options, size_t bytes_per_event) {
  const size_t streams = program.ranks().size()
                         << std::bit_width(program.streams().size() - 1);
  if (streams > size_t{Event::kMaxIndex}) {
    return absl::ResourceExhaustedError(fmt::format(
        "{} ranks of {} streams are {} events, more than the {} the queue can "
        "number",
        program.ranks().size(), program.streams().size(), streams,
        Event::kMaxIndex));
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
  if (const Bytes needed = StateBytes(program, transfers, bytes_per_event);
      needed > options.max_state) {
    return absl::ResourceExhaustedError(fmt::format(
        "{} ranks of {} streams in {} groups need {} of engine state, more "
        "than the {} allowed; fold symmetric ranks or raise the limit",
        program.ranks().size(), program.streams().size(),
        program.groups().size(), ToBinaryText(needed, 4),
        ToBinaryText(options.max_state, 4)));
  }
  return absl::OkStatus();
}

}  // namespace orrery
