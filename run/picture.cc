#include "run/picture.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "sim/analysis/memory_changes.h"
#include "sim/analysis/span_index.h"
#include "traces/timeline/timeline_passes.h"

namespace orrery {
namespace {

double SecondsAt(Time at) { return ToSeconds(at.time_since_epoch()); }

// The lowest rank of each pipeline rank.
std::map<int, RankId> RankOfEachStage(const PlacedProgram& placed) {
  std::map<int, RankId> ranks;
  for (const RankId rank : placed.program.ranks().ids()) {
    ranks.try_emplace(placed.work[placed.program.ranks()[rank].role].pipeline,
                      rank);
  }
  return ranks;
}

void AddSlices(absl::Span<const TimelinePass> passes, pb::Picture::Lane* lane) {
  for (const TimelinePass& pass : passes) {
    pb::Picture::Slice& slice = *lane->add_slices();
    slice.set_from_s(SecondsAt(pass.from));
    slice.set_to_s(SecondsAt(pass.to));
    slice.set_phase(std::string(NameOf(pass.mark.phase)));
    if (pass.mark.micro_batch) slice.set_micro_batch(*pass.mark.micro_batch);
  }
}

// Every other lane of a picture with too many slices goes, but for the last.
void ThinOut(pb::Picture* picture) {
  const auto slices = [&] {
    int count = 0;
    for (const auto& lane : picture->lanes()) count += lane.slices_size();
    return count;
  };
  while (picture->lanes_size() > 2 && slices() > kMostSlices) {
    google::protobuf::RepeatedPtrField<pb::Picture::Lane> kept;
    const int lanes = picture->lanes_size();
    for (int i = 0; i < lanes; ++i) {
      if (i % 2 == 0 || i + 1 == lanes) {
        *kept.Add() = std::move(*picture->mutable_lanes(i));
      }
    }
    picture->set_lanes_left_out(picture->lanes_left_out() + lanes -
                                kept.size());
    picture->mutable_lanes()->Swap(&kept);
  }
}

Bytes TotalOf(const MemoryByKind& held) {
  Bytes total;
  for (const Bytes bytes : held) total += bytes;
  return total;
}

// Of each stretch of the run, the instant with the largest total.
void AddMemory(const SimulatedRun& run, const SpanIndex& spans, RankId rank,
               Bytes always, pb::Picture* picture) {
  const Program& program = run.placed.program;
  const double end = SecondsAt(run.result.end);
  MemoryByKind held = program.role_of(rank).initial_memory();
  held[static_cast<size_t>(MemoryKind::kBuffers)] += always;
  MemoryByKind largest = held;
  double at = 0;
  std::vector<std::pair<double, MemoryByKind>> samples;
  int stretch = 0;
  const auto stretch_of = [&](double s) {
    return end > 0 ? std::min(kMemorySamples - 1,
                              static_cast<int>(s / end * kMemorySamples))
                   : 0;
  };
  for (const MemoryChange& change : MemoryChanges(program, spans, rank)) {
    const double now = SecondsAt(change.at);
    if (stretch_of(now) != stretch) {
      samples.emplace_back(at, largest);
      stretch = stretch_of(now);
      // What is held when the next stretch begins.
      largest = held;
      at = end * stretch / kMemorySamples;
    }
    held[change.kind] += change.bytes;
    if (TotalOf(held) > TotalOf(largest)) {
      largest = held;
      at = now;
    }
  }
  samples.emplace_back(at, largest);
  samples.emplace_back(end, held);
  std::array<bool, kMemoryKinds> used{};
  for (const auto& [when, bytes] : samples) {
    for (size_t k = 0; k < kMemoryKinds; ++k) used[k] |= bytes[k] != Bytes(0);
  }
  for (size_t k = 0; k < kMemoryKinds; ++k) {
    if (!used[k]) continue;
    picture->add_memory_kinds(std::string(NameOf(static_cast<MemoryKind>(k))));
  }
  for (const auto& [when, bytes] : samples) {
    pb::Picture::MemorySample& sample = *picture->add_memory();
    sample.set_at_s(when);
    for (size_t k = 0; k < kMemoryKinds; ++k) {
      if (used[k]) sample.add_bytes(bytes[k].value());
    }
  }
}

}  // namespace

pb::Picture PictureOf(const SimulatedRun& run, Bytes always) {
  const Program& program = run.placed.program;
  const SpanIndex spans(program, run.spans);
  pb::Picture picture;
  picture.set_end_s(SecondsAt(run.result.end));
  const std::map<int, RankId> stages = RankOfEachStage(run.placed);
  std::vector<RankId> ranks;
  for (const auto& [stage, rank] : stages) ranks.push_back(rank);
  const MarkTable marks(program);
  const PassTable passes(program, marks, run.spans, ranks, Time{},
                         run.result.end);
  const auto count = static_cast<int>(stages.size());
  const int lanes = std::min(count, kMostLanes);
  picture.set_lanes_left_out(count - lanes);
  for (int i = 0; i < lanes; ++i) {
    // The first and the last, and evenly between them.
    const int stage = lanes > 1 ? i * (count - 1) / (lanes - 1) : 0;
    const RankId rank = std::next(stages.begin(), stage)->second;
    pb::Picture::Lane& lane = *picture.add_lanes();
    lane.set_rank(program.ranks()[rank].number);
    lane.set_role(program.role_of(rank).name());
    AddSlices(passes.of(rank), &lane);
  }
  ThinOut(&picture);
  for (const RankId rank : program.ranks().ids()) {
    if (program.ranks()[rank].number != run.memory.rank) continue;
    picture.set_memory_rank(run.memory.rank);
    AddMemory(run, spans, rank, always, &picture);
    break;
  }
  return picture;
}

}  // namespace orrery
