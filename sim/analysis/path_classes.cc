#include "sim/analysis/path_classes.h"

#include <absl/container/flat_hash_map.h>

#include <bit>
#include <utility>

#include "base/mix_bits.h"

namespace orrery {
namespace {

// Two independent hashes, of which no pair will ever coincide by chance.
struct Colour {
  uint64_t a = 0;
  uint64_t b = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Colour& c) {
    return H::combine(std::move(h), c.a, c.b);
  }
  // In this order.
  void Then(uint64_t value) {
    a = MixBits(a ^ MixBits(value));
    b = MixBits(b + MixBits(value * 3 + 1));
  }
  void Then(const Colour& other) {
    Then(other.a);
    Then(other.b);
  }
  // In any order.
  void Add(const Colour& other) {
    a += MixBits(other.a);
    b += MixBits(other.b + 1);
  }
};

// Numbers in the order of first appearance, and how many there are.
template <class Colours>
int32_t Number(const Colours& colours, std::vector<int32_t>& numbers) {
  absl::flat_hash_map<Colour, int32_t> known;
  numbers.clear();
  for (const Colour& colour : colours) {
    const auto next = static_cast<int32_t>(known.size());
    numbers.push_back(known.try_emplace(colour, next).first->second);
  }
  return static_cast<int32_t>(known.size());
}

// `call_colour` tells calls apart that do not take as long.
template <class CallColour>
PathClasses Refine(const Program& program, CallColour call_colour) {
  IdVector<GroupId, Colour> calls_of;
  for (const ProgramGroup& group : program.groups()) {
    Colour& colour = calls_of[calls_of.Add({})];
    for (int32_t i = 0; i < group.call_count; ++i) {
      colour.Then(call_colour(
          static_cast<CallId>(static_cast<int32_t>(group.first_call) + i)));
    }
  }
  std::vector<Colour> ranks(program.ranks().size());
  for (const RankId rank : program.ranks().ids()) {
    const ProgramRank& of = program.ranks()[rank];
    ranks[Index(rank)].Then(static_cast<uint64_t>(of.role));
    ranks[Index(rank)].Then(std::bit_cast<uint64_t>(of.slowness));
  }
  std::vector<int32_t> class_of_rank;
  IdVector<GroupId, Colour> groups;
  int32_t count = Number(ranks, class_of_rank);
  for (int32_t before = 0; before != count;) {
    before = count;
    groups = calls_of;
    for (const RankId rank : program.ranks().ids()) {
      const auto& slots = program.role_of(rank).slots();
      for (const SlotId slot : slots.ids()) {
        Colour member;
        member.Then(static_cast<uint64_t>(class_of_rank[Index(rank)]));
        member.Then(static_cast<uint64_t>(slot));
        groups[program.group_of(rank, slot)].Add(member);
      }
    }
    for (const RankId rank : program.ranks().ids()) {
      Colour colour;
      colour.Then(static_cast<uint64_t>(class_of_rank[Index(rank)]));
      for (const SlotId slot : program.role_of(rank).slots().ids()) {
        colour.Then(groups[program.group_of(rank, slot)]);
      }
      ranks[Index(rank)] = colour;
    }
    count = Number(ranks, class_of_rank);
  }
  PathClasses classes;
  std::vector<int32_t> class_of_group;
  classes.members.resize(static_cast<size_t>(Number(groups, class_of_group)));
  for (const int32_t of : class_of_group) classes.class_of.Add(of);
  for (const RankId rank : program.ranks().ids()) {
    // Classes are numbered by their first ranks.
    const auto place = static_cast<int32_t>(classes.ranks.size());
    if (class_of_rank[Index(rank)] != place) continue;
    classes.ranks.push_back(rank);
    const auto& slots = program.role_of(rank).slots();
    for (const SlotId slot : slots.ids()) {
      const int32_t group = classes.class_of[program.group_of(rank, slot)];
      classes.members[static_cast<size_t>(group)].push_back(
          {place, slots[slot].stream});
    }
  }
  return classes;
}

}  // namespace

PathClasses ClassesOf(const Program& program,
                      const IdVector<CallId, Duration>& calls) {
  return Refine(program, [&](CallId call) {
    return static_cast<uint64_t>(calls[call].count());
  });
}

std::vector<RankId> RanksIfAlike(const Program& program) {
  return Refine(program,
                [&](CallId id) {
                  const Communication& what = program.calls()[id].what;
                  return MixBits(static_cast<uint64_t>(what.bytes.value())) ^
                         static_cast<uint64_t>(what.kind) << 8 ^
                         static_cast<uint64_t>(what.shape);
                })
      .ranks;
}

}  // namespace orrery
