#include "topology/collectives/collective.h"

#include <fmt/format.h>

#include "base/check.h"
#include "topology/collectives/collective_schedules.h"

namespace orrery {

absl::Span<const Round> Schedule::rounds_of(const Phase& phase) const {
  return absl::MakeConstSpan(rounds).subspan(
      static_cast<size_t>(phase.rounds_begin),
      static_cast<size_t>(phase.rounds_end - phase.rounds_begin));
}

absl::Span<const Message> Schedule::messages_of(const Round& round) const {
  return absl::MakeConstSpan(messages).subspan(
      static_cast<size_t>(round.messages_begin),
      static_cast<size_t>(round.messages_end - round.messages_begin));
}

double Schedule::ShareOf(const Message& message, const Round& round) const {
  double share = 0;
  for (int32_t i = message.ranges_begin; i < message.ranges_end; ++i) {
    const ChunkRange& range = ranges[static_cast<size_t>(i)];
    if (chunk_share.size() == 1) {
      share += range.count * chunk_share[0];
      continue;
    }
    CHECK_EQ(round.repeat, 1);
    for (int32_t c = 0; c < range.count; ++c) {
      const int32_t chunk =
          round.chunk_base +
          (range.begin + c * range.stride) % round.chunk_modulus;
      share += chunk_share[static_cast<size_t>(chunk)];
    }
  }
  return share;
}

ScheduleBuilder::ScheduleBuilder(CommunicationKind kind, int32_t ranks,
                                 int32_t chunks, int32_t segments) {
  CHECK(ranks >= 1 && chunks >= 1 && segments >= 1);
  schedule_.kind = kind;
  schedule_.ranks = ranks;
  schedule_.chunks = chunks;
  schedule_.segments = segments;
  schedule_.chunk_share = {1.0 / chunks / segments};
}

void ScheduleBuilder::BeginPhase(bool streams) {
  const int32_t rounds = static_cast<int32_t>(schedule_.rounds.size());
  schedule_.phases.push_back({rounds, rounds, streams});
}

void ScheduleBuilder::BeginRound(int32_t repeat, int32_t shift, int32_t base,
                                 int32_t modulus) {
  CHECK(!schedule_.phases.empty() && repeat >= 1);
  const int32_t messages = static_cast<int32_t>(schedule_.messages.size());
  schedule_.rounds.push_back({messages, messages, repeat, shift, base,
                              modulus == 0 ? schedule_.chunks : modulus,
                              std::nullopt});
  ++schedule_.phases.back().rounds_end;
}

void ScheduleBuilder::AddExchange(const RankExchange& exchange, bool streams) {
  CHECK_GE(exchange.block, 1);
  BeginPhase(streams);
  BeginRound();
  schedule_.rounds.back().exchange = exchange;
}

void ScheduleBuilder::Send(int32_t source, int32_t destination,
                           absl::Span<const ChunkRange> ranges, bool reduces) {
  CHECK(!schedule_.rounds.empty());
  SendIn(0, schedule_.rounds.back().repeat, source, destination, ranges,
         reduces);
}

void ScheduleBuilder::SendIn(int32_t first, int32_t times, int32_t source,
                             int32_t destination,
                             absl::Span<const ChunkRange> ranges,
                             bool reduces) {
  CHECK(source != destination && !ranges.empty());
  CHECK(!schedule_.rounds.empty());
  CHECK(first >= 0 && times >= 1 &&
        first + times <= schedule_.rounds.back().repeat);
  const int32_t begin = static_cast<int32_t>(schedule_.ranges.size());
  schedule_.ranges.insert(schedule_.ranges.end(), ranges.begin(), ranges.end());
  schedule_.messages.push_back({source, destination, begin,
                                static_cast<int32_t>(schedule_.ranges.size()),
                                reduces, first, times});
  ++schedule_.rounds.back().messages_end;
}

absl::StatusOr<Schedule> MakeSchedule(CommunicationKind kind,
                                      CollectiveAlgorithm algorithm,
                                      const GroupLayout& layout,
                                      int32_t segments, Detail detail) {
  const auto refuse = [&](std::string_view why) {
    return absl::InvalidArgumentError(
        fmt::format("{} by {} over {} ranks: {}", NameOf(kind),
                    NameOf(algorithm), layout.ranks, why));
  };
  if (layout.ranks < 2) return refuse("a group has at least two ranks");
  if (segments < 1) return refuse("needs at least one segment");
  if (layout.island_size > 0 && layout.ranks % layout.island_size != 0) {
    return refuse("islands are not equally filled");
  }
  if (layout.root < 0 || layout.root >= layout.ranks) {
    return refuse("the root is none of them");
  }
  const ScheduleRequest request = {kind, layout, segments, detail};
  absl::StatusOr<Schedule> schedule = [&]() -> absl::StatusOr<Schedule> {
    switch (algorithm) {
      case CollectiveAlgorithm::kRing:
        return RingSchedule(request);
      case CollectiveAlgorithm::kBidirectionalRing:
        return BidirectionalRingSchedule(request);
      case CollectiveAlgorithm::kRecursiveDoubling:
        return RecursiveDoublingSchedule(request);
      case CollectiveAlgorithm::kHalvingDoubling:
        return HalvingDoublingSchedule(request);
      case CollectiveAlgorithm::kDoubleBinaryTree:
        return DoubleBinaryTreeSchedule(request);
      case CollectiveAlgorithm::kDirect:
        return DirectSchedule(request);
      case CollectiveAlgorithm::kPairwise:
        return PairwiseSchedule(request);
      case CollectiveAlgorithm::kBruck:
        return BruckSchedule(request);
      case CollectiveAlgorithm::kBinomial:
        return BinomialSchedule(request);
      case CollectiveAlgorithm::kScatterAllGather:
        return ScatterAllGatherSchedule(request);
      case CollectiveAlgorithm::kChain:
        return ChainSchedule(request);
      case CollectiveAlgorithm::kTorusBucket:
        return TorusBucketSchedule(request);
      case CollectiveAlgorithm::kGrid:
        return GridSchedule(request);
      case CollectiveAlgorithm::kShardRing:
        return ShardRingSchedule(request);
      case CollectiveAlgorithm::kSwing:
        return SwingSchedule(request);
      case CollectiveAlgorithm::kHierarchical:
        return HierarchicalSchedule(request);
      case CollectiveAlgorithm::kSwitchMulticast:
        return SwitchMulticastSchedule(request);
      case CollectiveAlgorithm::kReductionTree:
        return ReductionTreeSchedule(request);
      case CollectiveAlgorithm::kPxn:
        return PxnSchedule(request);
      case CollectiveAlgorithm::kOneShot:
        return OneShotSchedule(request);
      case CollectiveAlgorithm::kHierarchicalDirect:
        return HierarchicalDirectSchedule(request);
      case CollectiveAlgorithm::kSwitchTree:
        return SwitchTreeSchedule(request);
    }
    return absl::InternalError("no such algorithm");
  }();
  if (!schedule.ok()) return refuse(std::string(schedule.status().message()));
  schedule->root = layout.root;
  return schedule;
}

std::vector<CollectiveAlgorithm> Applicable(CommunicationKind kind,
                                            const GroupLayout& layout) {
  return Applicable(kind, layout,
                    [](CollectiveAlgorithm) { return Detail::kMessages; });
}

std::vector<CollectiveAlgorithm> Applicable(
    CommunicationKind kind, const GroupLayout& layout,
    absl::FunctionRef<Detail(CollectiveAlgorithm)> detail) {
  std::vector<CollectiveAlgorithm> algorithms;
  for (int i = 0; i <= static_cast<int>(kLastCollectiveAlgorithm); ++i) {
    const auto algorithm = static_cast<CollectiveAlgorithm>(i);
    if (Applies(algorithm, {kind, layout, 1, detail(algorithm)}).ok()) {
      algorithms.push_back(algorithm);
    }
  }
  return algorithms;
}

}  // namespace orrery
