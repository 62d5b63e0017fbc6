#include "workload/lowering/assembler.h"

#include <algorithm>

#include "base/check.h"
#include "base/format.h"
#include "base/status.h"

namespace orrery {

Assembler::Assembler(const ParallelLayout& layout, bool fold, bool host,
                     absl::Span<const RankMark> marks,
                     absl::Span<const SlowRank> slow)
    : layout_(layout),
      fold_(fold),
      placement_(layout),
      classes_(layout, placement_),
      parts_(layout, placement_, fold ? marks : absl::Span<const RankMark>()),
      slow_(slow.begin(), slow.end()),
      builder_(RankStreams(layout.stages, host)) {}

std::vector<RoleKey> Assembler::roles() const {
  std::vector<RoleKey> keys;
  for (int pipeline = 0; pipeline < layout_.degrees.pipeline; ++pipeline) {
    for (int of = 0; of < classes_.count(); ++of)
      keys.push_back({pipeline, of});
  }
  return keys;
}

RoleBuilder& Assembler::AddRole(const RoleKey& key) {
  // The program numbers roles by their names: in the order of roles().
  return builder_.AddRole(classes_.count() == 1
                              ? fmt::format("stage {:04}", key.pipeline)
                              : fmt::format("stage {:04} load {:04}",
                                            key.pipeline, key.rank_class));
}

void Assembler::AddRanks(const RoleKey& key, const RoleBuilder& role,
                         const RoleSlots& slots, const WorkSplit& passes,
                         const WorkSplit& optimizer, Duration host) {
  const std::vector<int> stage = StageRanks(key.pipeline);
  std::vector<int64_t> ranks_of(static_cast<size_t>(parts_.count()));
  int64_t all = 0;
  for (const int rank : stage) {
    if (classes_.ClassOf(rank) != key.rank_class) continue;
    ++ranks_of[static_cast<size_t>(parts_.ClassOf(rank))];
    ++all;
  }
  for (const int rank : stage) {
    if (classes_.ClassOf(rank) != key.rank_class) continue;
    const int part = parts_.ClassOf(rank);
    if (fold_ && rank != parts_.Representative(part, key.pipeline)) continue;
    const RankRef ref = builder_.AddRank(
        rank, role, fold_ ? ranks_of[static_cast<size_t>(part)] : 1,
        SlowdownOf(rank, slow_));
    for (const auto& slot : slots.groups()) {
      builder_.Bind(ref, slot.slot, CollectiveGroup(slot, rank, stage));
    }
    for (const auto& slot : slots.channels()) {
      builder_.Bind(ref, slot.slot, ChannelGroup(slot, rank, stage));
    }
  }
  work_.Add({key.pipeline, all, passes, optimizer, host});
}

absl::StatusOr<PlacedProgram> Assembler::Build(
    std::optional<ExpertTraffic> traffic) && {
  ASSIGN_OR_RETURN(Program program, std::move(builder_).Build());
  CHECK_EQ(program.roles().size(), work_.size());
  IdVector<GroupId, PlacedGroup> groups;
  for (const GroupId id : program.groups().ids()) {
    const ProgramGroup& group = program.groups()[id];
    groups.Add(
        std::move(placed_.at({program.name(group.family), group.index})));
  }
  return PlacedProgram{std::move(program), std::move(groups), std::move(work_),
                       fold_, std::move(traffic)};
}

std::vector<int> Assembler::Chips(std::vector<int> ranks) const {
  for (int& rank : ranks) rank = placement_.ChipOf(rank);
  return ranks;
}

std::vector<int> Assembler::StageRanks(int pipeline) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < placement_.ranks(); ++rank) {
    if (placement_.CoordinatesOf(rank).pipeline == pipeline) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

GroupRef Assembler::CollectiveGroup(const RoleSlots::GroupSlot& slot, int rank,
                                    const std::vector<int>& stage) {
  const std::string family =
      fmt::format("{}{}", Name(slot.family), slot.gathers ? " gather" : "");
  // Folded, groups alike are one: that of the lowest class among them.
  const int lowest = fold_ ? parts_.LowestIn(slot.family, rank) : 0;
  const int first = fold_ ? parts_.Representative(
                                lowest, placement_.CoordinatesOf(rank).pipeline)
                          : rank;
  const int leader = placement_.Leader(slot.family, first);
  return GroupFor({family, leader}, [&] {
    std::vector<int> own = placement_.Members(slot.family, first);
    PlacedGroup group{.members = Chips(own), .replicas = {}};
    group.replicas.push_back(group.members);
    if (!fold_) return group;
    // Each group once: when its first member in this stage comes by.
    std::vector<bool> seen(static_cast<size_t>(placement_.ranks()));
    for (const int member : own) seen[static_cast<size_t>(member)] = true;
    for (const int other : stage) {
      if (seen[static_cast<size_t>(other)]) continue;
      std::vector<int> members = placement_.Members(slot.family, other);
      for (const int member : members) seen[static_cast<size_t>(member)] = true;
      if (parts_.LowestIn(slot.family, other) != lowest) continue;
      group.replicas.push_back(Chips(std::move(members)));
    }
    return group;
  });
}

GroupRef Assembler::ChannelGroup(const RoleSlots::ChannelSlot& slot, int rank,
                                 const std::vector<int>& stage) {
  const int own = placement_.CoordinatesOf(rank).pipeline;
  // The sender of a forward channel holds the earlier stage.
  const int sender_stage = slot.forward ? slot.boundary : slot.boundary + 1;
  const int sender = layout_.stages.PlaceOf(sender_stage, slot.mirrored).rank;
  const auto ends = [&](int of) {
    const int peer = placement_.PeerOf(of, slot.peer);
    return own == sender ? std::vector<int>{of, peer}
                         : std::vector<int>{peer, of};
  };
  const std::vector<int> members = ends(rank);
  // Channels of all boundaries are one family each way; the index tells them
  // apart.
  const int64_t index = (int64_t{slot.boundary} * 2 + (slot.mirrored ? 1 : 0)) *
                            placement_.ranks() +
                        members.front();
  const std::string family =
      slot.forward ? "pipeline forward" : "pipeline backward";
  return GroupFor({family, index}, [&] {
    PlacedGroup group{.members = Chips(members), .replicas = {Chips(members)}};
    if (!fold_) return group;
    for (const int other : stage) {
      if (other != rank && parts_.ClassOf(other) == parts_.ClassOf(rank)) {
        group.replicas.push_back(Chips(ends(other)));
      }
    }
    return group;
  });
}

template <class Make>
GroupRef Assembler::GroupFor(GroupKey key, Make make) {
  const auto it = refs_.find(key);
  if (it != refs_.end()) return it->second;
  const GroupRef ref = builder_.AddGroup(key.first, key.second);
  refs_.emplace(key, ref);
  placed_.emplace(std::move(key), make());
  return ref;
}

}  // namespace orrery
