#include "workload/program/program_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "workload/program/group_linker.h"
#include "workload/program/role_compiler.h"

namespace orrery {
namespace {

// Beyond this many mistakes a list of them helps nobody.
constexpr size_t kMaxMessages = 20;

absl::Status Summary(const Violations& violations) {
  if (violations.messages().size() <= kMaxMessages) {
    return violations.ToStatus();
  }
  Violations first;
  for (size_t i = 0; i < kMaxMessages; ++i) {
    first.Add(violations.messages()[i]);
  }
  first.Add(
      fmt::format("and {} more", violations.messages().size() - kMaxMessages));
  return first.ToStatus();
}

// Sorts by key; see ProgramBuilder::Order.
template <class Key>
std::pair<std::vector<size_t>, std::vector<size_t>> SortBy(
    const std::vector<Key>& keys) {
  std::vector<size_t> sorted(keys.size());
  std::vector<size_t> place(keys.size());
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  for (size_t i = 0; i < keys.size(); ++i) place[sorted[i]] = i;
  return {std::move(sorted), std::move(place)};
}

}  // namespace

ProgramBuilder::ProgramBuilder(std::vector<Stream> streams)
    : streams_(std::move(streams)) {
  CHECK(!streams_.empty() && streams_.size() <= size_t{kMaxStreams})
      << streams_.size() << " streams";
}

RoleBuilder& ProgramBuilder::AddRole(absl::string_view name) {
  roles_.push_back(std::unique_ptr<RoleBuilder>(
      new RoleBuilder(std::string(name), streams_.size(),
                      static_cast<int32_t>(roles_.size()), table_)));
  // Most often it will be about as long as the one before.
  if (roles_.size() > 1) roles_.back()->Reserve(*roles_[roles_.size() - 2]);
  return *roles_.back();
}

RankRef ProgramBuilder::AddRank(int32_t number, const RoleBuilder& role,
                                int64_t multiplicity, double slowness) {
  CHECK(ranks_.size() < (size_t{1} << 30)) << "too many ranks";
  ranks_.push_back({number, role.index_, multiplicity, slowness});
  return static_cast<RankRef>(ranks_.size() - 1);
}

GroupRef ProgramBuilder::AddGroup(absl::string_view family, int64_t index) {
  CHECK(groups_.size() < (size_t{1} << 30)) << "too many groups";
  groups_.push_back({std::string(family), index});
  return static_cast<GroupRef>(groups_.size() - 1);
}

void ProgramBuilder::Bind(RankRef rank, SlotRef slot, GroupRef group) {
  CHECK(Index(rank) < ranks_.size() && Index(group) < groups_.size());
  const auto role = static_cast<size_t>(ranks_[Index(rank)].role);
  CHECK(Index(slot) < roles_[role]->slots_.size()) << "no such slot";
  bindings_.push_back({rank, slot, group});
}

absl::StatusOr<Program> ProgramBuilder::Build() && {
  Program program;
  program.streams_ = IdVector<StreamId, Stream>(streams_);
  InternNames(program);
  // Each part needs the ones before it to be right.
  for (const auto part :
       {&ProgramBuilder::CompileRoles, &ProgramBuilder::PlaceRanks,
        &ProgramBuilder::BindSlots, &ProgramBuilder::LinkGroups}) {
    Violations violations;
    (this->*part)(program, violations);
    if (!violations.empty()) return Summary(violations);
  }
  return program;
}

void ProgramBuilder::InternNames(Program& program) {
  for (const PendingGroup& group : groups_) {
    table_.Use(table_.Name(group.family));
  }
  std::vector<NameRef> sorted;
  for (size_t i = 0; i < table_.names(); ++i) {
    const auto ref = static_cast<NameRef>(i);
    if (table_.is_used(ref)) sorted.push_back(ref);
  }
  std::sort(sorted.begin(), sorted.end(), [&](NameRef a, NameRef b) {
    return table_.name(a) < table_.name(b);
  });
  names_.resize(table_.names());
  for (const NameRef ref : sorted) {
    names_[Index(ref)] = program.names_.Add(table_.name(ref));
  }
}

void ProgramBuilder::CompileRoles(Program& program, Violations& violations) {
  std::vector<std::string> names;
  for (const auto& role : roles_) names.push_back(role->name_);
  std::tie(role_order_.sorted, role_order_.place) = SortBy(names);
  for (size_t i = 0; i < names.size(); ++i) {
    std::unique_ptr<RoleBuilder>& owner = roles_[role_order_.sorted[i]];
    const RoleBuilder& source = *owner;
    if (i > 0 && source.name_ == names[role_order_.sorted[i - 1]]) {
      violations.Add(fmt::format("two roles are named '{}'", source.name_));
    }
    std::optional<Role> role =
        RoleCompiler(streams_, source, table_, names_).Compile(violations);
    if (role.has_value()) program.roles_.Add(*std::move(role));
    owner.reset();  // its memory serves the next one
  }
}

void ProgramBuilder::PlaceRanks(Program& program, Violations& violations) {
  std::vector<int32_t> numbers;
  for (const PendingRank& rank : ranks_) numbers.push_back(rank.number);
  std::tie(rank_order_.sorted, rank_order_.place) = SortBy(numbers);
  int64_t slots = 0;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const PendingRank& rank = ranks_[rank_order_.sorted[i]];
    if (i > 0 && rank.number == numbers[rank_order_.sorted[i - 1]]) {
      violations.Add(fmt::format("two ranks have the number {}", rank.number));
    }
    if (rank.multiplicity < 1 || !(rank.slowness > 0) ||
        !std::isfinite(rank.slowness)) {
      violations.Add(fmt::format(
          "rank {}: multiplicity {} must be at least 1 and slowness {} "
          "positive",
          rank.number, rank.multiplicity, rank.slowness));
    }
    const auto role =
        static_cast<RoleId>(role_order_.place[static_cast<size_t>(rank.role)]);
    program.ranks_.Add(
        {rank.number, role, rank.multiplicity, rank.slowness, slots});
    slots += static_cast<int64_t>(program.roles_[role].slots().size());
    program.task_count_ += program.roles_[role].task_count();
  }
  slot_count_ = static_cast<size_t>(slots);
}

void ProgramBuilder::BindSlots(Program& program, Violations& violations) {
  std::vector<std::pair<std::string, int64_t>> keys;
  for (const PendingGroup& group : groups_) {
    keys.push_back({group.family, group.index});
  }
  std::tie(group_order_.sorted, group_order_.place) = SortBy(keys);
  std::vector<std::optional<GroupId>> bound(slot_count_);
  const auto place_of = [&](RankId rank, SlotId slot) -> auto& {
    return bound[static_cast<size_t>(program.ranks_[rank].slots_begin) +
                 Index(slot)];
  };
  members_.resize(groups_.size());
  for (const Binding& binding : bindings_) {
    const auto rank =
        static_cast<RankId>(rank_order_.place[Index(binding.rank)]);
    const size_t group = group_order_.place[Index(binding.group)];
    const auto slot = static_cast<SlotId>(binding.slot);
    std::optional<GroupId>& place = place_of(rank, slot);
    if (place.has_value()) {
      violations.Add(fmt::format("rank {}: slot '{}' is bound twice",
                                 program.ranks_[rank].number,
                                 program.role_of(rank).slots()[slot].name));
    }
    place = static_cast<GroupId>(group);
    members_[group].push_back({rank, slot});
  }
  for (const RankId rank : program.ranks_.ids()) {
    const Role& role = program.role_of(rank);
    for (const SlotId slot : role.slots().ids()) {
      const std::optional<GroupId>& group = place_of(rank, slot);
      if (!group.has_value()) {
        violations.Add(fmt::format(
            "rank {}: slot '{}' of role '{}' is bound to no group",
            program.ranks_[rank].number, role.slots()[slot].name, role.name()));
      }
      program.slot_groups_.push_back(group.value_or(GroupId{}));
    }
  }
}

void ProgramBuilder::LinkGroups(Program& program, Violations& violations) {
  GroupLinker linker(program.roles_, program.ranks_, program.names_);
  for (size_t i = 0; i < groups_.size(); ++i) {
    const PendingGroup& source = groups_[group_order_.sorted[i]];
    if (i > 0 && source == groups_[group_order_.sorted[i - 1]]) {
      violations.Add(fmt::format("two groups are named {}[{}]", source.family,
                                 source.index));
    }
    std::vector<Attachment>& attached = members_[i];
    std::sort(attached.begin(), attached.end());
    if (const auto wrong = linker.Disagreement(attached); wrong.has_value()) {
      violations.Add(
          fmt::format("group {}[{}]: {}", source.family, source.index, *wrong));
      continue;
    }
    const auto slot_of = [&](const Attachment& a) -> const RoleSlot& {
      return program.role_of(a.rank).slots()[a.slot];
    };
    if (slot_of(attached.front()).side == RoleSlot::Side::kReceiver) {
      std::swap(attached[0], attached[1]);
    }
    const RoleSlot& slot = slot_of(attached.front());
    const GroupId id = program.groups_.Add(
        {.family = names_[Index(table_.Name(source.family))],
         .index = source.index,
         .first_call = static_cast<CallId>(program.calls_.size()),
         .call_count = static_cast<int32_t>(slot.calls.size()),
         .members_begin = static_cast<int64_t>(program.members_.size()),
         .member_count = static_cast<int32_t>(attached.size())});
    for (const Communication& what : slot.calls) program.calls_.Add({id, what});
    for (const Attachment& a : attached) {
      program.members_.push_back({a.rank, slot_of(a).stream});
    }
  }
}

}  // namespace orrery
