#include "workload/program/group_linker.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {

std::string GroupLinker::Describe(const Attachment& a) const {
  return fmt::format("rank {} (role '{}', slot '{}')", ranks_[a.rank].number,
                     roles_[ranks_[a.rank].role].name(), SlotOf(a).name);
}

std::string GroupLinker::DescribeCall(const Attachment& a, size_t n) const {
  const RoleSlot& slot = SlotOf(a);
  if (n >= slot.sequence.size()) {
    return fmt::format("{} makes only {} calls", Describe(a),
                       slot.sequence.size());
  }
  const Role& role = roles_[ranks_[a.rank].role];
  const TaskId task = slot.sequence[n];
  const Communication& what = role.communication(role.task(task));
  return fmt::format("{} makes {} of {} bytes (share {}/{}, {}) in task '{}'",
                     Describe(a), NameOf(what.kind), what.bytes.value(),
                     what.share.compute, what.share.memory, NameOf(what.shape),
                     names_[role.name_of(task)]);
}

std::optional<size_t> GroupLinker::FirstDifference(const Attachment& a,
                                                   const Attachment& b) const {
  const Role& role_a = roles_[ranks_[a.rank].role];
  const Role& role_b = roles_[ranks_[b.rank].role];
  const std::vector<TaskId>& tasks_a = SlotOf(a).sequence;
  const std::vector<TaskId>& tasks_b = SlotOf(b).sequence;
  for (size_t n = 0; n < std::max(tasks_a.size(), tasks_b.size()); ++n) {
    if (n >= tasks_a.size() || n >= tasks_b.size() ||
        role_a.communication(role_a.task(tasks_a[n])) !=
            role_b.communication(role_b.task(tasks_b[n]))) {
      return n;
    }
  }
  return std::nullopt;
}

std::optional<std::string> GroupLinker::Disagreement(
    const std::vector<Attachment>& members) {
  if (members.empty()) return "no rank is bound to it";
  for (size_t i = 1; i < members.size(); ++i) {
    if (members[i].rank == members[i - 1].rank) {
      return fmt::format("{} is bound to it twice", Describe(members[i]));
    }
  }
  const Attachment& first = members.front();
  const bool is_channel = std::any_of(
      members.begin(), members.end(), [&](const Attachment& member) {
        return SlotOf(member).side != RoleSlot::Side::kMember;
      });
  if (is_channel) {
    if (members.size() == 1) {
      const bool sends = SlotOf(first).side == RoleSlot::Side::kSender;
      return fmt::format("{} {} and nobody {}", Describe(first),
                         sends ? "sends" : "receives",
                         sends ? "receives" : "sends");
    }
    if (members.size() > 2) {
      return fmt::format("sends and receives need two members, not {}",
                         members.size());
    }
    if (SlotOf(first).side == SlotOf(members[1]).side ||
        SlotOf(first).side == RoleSlot::Side::kMember ||
        SlotOf(members[1]).side == RoleSlot::Side::kMember) {
      return fmt::format("{} and {} are not one sender and one receiver",
                         Describe(first), Describe(members[1]));
    }
  }
  for (size_t i = 1; i < members.size(); ++i) {
    const Attachment& other = members[i];
    const auto [found, is_new] = differences_.try_emplace(
        std::make_tuple(ranks_[first.rank].role, first.slot,
                        ranks_[other.rank].role, other.slot));
    if (is_new) found->second = FirstDifference(first, other);
    if (found->second.has_value()) {
      return fmt::format("members disagree on call #{}: {}; {}", *found->second,
                         DescribeCall(first, *found->second),
                         DescribeCall(other, *found->second));
    }
  }
  return std::nullopt;
}

}  // namespace orrery
