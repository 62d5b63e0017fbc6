#include "sim/engine/chip_sharing.h"

#include <algorithm>
#include <bit>

#include "sim/engine/heap_event_queue.h"
#include "sim/engine/radix_event_queue.h"

namespace orrery {

template <EventQueue Queue>
void ChipSharing<Queue>::AddMarked(RankState& chip, RankId rank) {
  chip.is_dirty = true;
  marked_.push_back(rank);
}

template <EventQueue Queue>
void ChipSharing<Queue>::SettleMarked(Time now) {
  if (!std::is_sorted(marked_.begin(), marked_.end())) {
    std::sort(marked_.begin(), marked_.end());
  }
  for (const RankId rank : marked_) {
    state_.ranks[rank].is_dirty = false;
    SettleChip(rank, now);
  }
  marked_.clear();
}

template <EventQueue Queue>
ChipShare ChipSharing<Queue>::Held(const RankState& chip, RankId rank) const {
  ChipShare held;
  ForEachStream(chip.communications, [&](StreamId stream) {
    const PlaceId task = state_.streams[state_.IndexOf(rank, stream)].place;
    const ChipShare& share =
        chip.role->communication(chip.role->at(task)).share;
    held.compute += share.compute;
    held.memory += share.memory;
  });
  double spinning = 0;
  ForEachStream(chip.spinning, [&](StreamId stream) {
    const PlaceId task = state_.streams[state_.IndexOf(rank, stream)].place;
    spinning += chip.role->communication(chip.role->at(task)).share.compute;
  });
  held.compute += std::min(spinning, kMostSpinning);
  return held;
}

template <EventQueue Queue>
void ChipSharing<Queue>::SettleChip(RankId rank, Time now) {
  const RankState& chip = state_.ranks[rank];
  if (chip.kernels == 0) return;
  const ChipShare held = Held(chip, rank);
  const double compute = std::max(0.0, 1 - held.compute);
  const double memory = std::max(0.0, 1 - held.memory);
  const auto demand_of = [&](StreamId stream) -> const ChipShare& {
    const PlaceId task = state_.streams[state_.IndexOf(rank, stream)].place;
    return chip.role->kernel(chip.role->at(task)).demand;
  };
  if ((chip.kernels & (chip.kernels - 1)) == 0) {
    const auto stream = static_cast<StreamId>(std::countr_zero(chip.kernels));
    const ChipShare& demand = demand_of(stream);
    double rate = 1;
    if (demand.compute > compute) rate = compute / demand.compute;
    if (demand.memory > 0) rate = std::min(rate, memory / demand.memory);
    SetRate(rank, stream, rate, now);
    return;
  }
  // What nobody has left stops those who need it.
  problem_.Clear();
  const auto resource_of = [&](double capacity) {
    return capacity > 0 ? problem_.AddResource(capacity) : -1;
  };
  const int32_t compute_resource = resource_of(compute);
  const int32_t memory_resource = resource_of(memory);
  StreamMask moving = 0;
  ForEachStream(chip.kernels, [&](StreamId stream) {
    const ChipShare& demand = demand_of(stream);
    if ((demand.compute > 0 && compute <= 0) ||
        (demand.memory > 0 && memory <= 0)) {
      SetRate(rank, stream, 0, now);
      return;
    }
    problem_.AddActivity(/*rate_cap=*/1);
    if (demand.compute > 0) problem_.AddUse(compute_resource, demand.compute);
    if (demand.memory > 0) problem_.AddUse(memory_resource, demand.memory);
    moving = static_cast<StreamMask>(moving | Bit(stream));
  });
  const absl::Span<const double> rates = solver_.Solve(problem_);
  size_t next = 0;
  ForEachStream(moving, [&](StreamId stream) {
    SetRate(rank, stream, rates[next++], now);
  });
}

template <EventQueue Queue>
double ChipSharing<Queue>::WithLaunch(RankId rank, PlaceId task,
                                      double rate) const {
  const Role& role = *state_.ranks[rank].role;
  const KernelWork& kernel = role.kernel(role.at(task));
  if (kernel.duration <= Duration(0)) return rate;
  const double launch =
      Picoseconds(kernel.facts.launch) / Picoseconds(kernel.duration);
  return 1 / (launch + (1 - launch) / rate);
}

template <EventQueue Queue>
void ChipSharing<Queue>::SetRate(RankId rank, StreamId stream, double rate,
                                 Time now) {
  const uint32_t index = state_.IndexOf(rank, stream);
  StreamState& state = state_.streams[index];
  Progress& progress = progress_[index];
  if (rate > 0 && rate < 1) rate = WithLaunch(rank, state.place, rate);
  if (state.status == StreamStatus::kRunning) {
    if (rate == 1) return;
    const RankState& chip = state_.ranks[rank];
    const Duration solo = SoloDuration(
        chip.role->kernel(chip.role->at(state.place)), chip.slowness);
    progress = {Picoseconds(solo), 1, state.started};
    state.status = StreamStatus::kSharing;
  } else if (rate == progress.rate) {
    return;
  }
  progress.remaining =
      std::max(0.0, progress.remaining -
                        progress.rate * Picoseconds(now - progress.updated));
  progress.updated = now;
  progress.rate = rate;
  ++changes_;
  const Event end(EventPhase::kKernel, index);
  if (rate > 0) {
    queue_.Schedule(end, CompletionTime(now, progress.remaining, rate));
  } else {
    queue_.Cancel(end);
  }
}

template class ChipSharing<RadixEventQueue>;
template class ChipSharing<HeapEventQueue>;

}  // namespace orrery
