#include "workload/program/lengthening.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"

namespace orrery {
namespace {

int32_t Number(TaskId id) { return static_cast<int32_t>(id); }
int32_t Number(PlaceId id) { return static_cast<int32_t>(id); }

bool operator==(const Task& a, const Task& b) {
  return a.kind == b.kind && a.has_memory_effects == b.has_memory_effects &&
         a.slot == b.slot && a.payload == b.payload;
}

}  // namespace

// Compares two roles, and makes the third.
class RoleLengthening {
 public:
  RoleLengthening(const Role& shorter, const Role& longer)
      : shorter_(shorter),
        longer_(longer),
        streams_(shorter.stream_begin_.size() - 1) {}

  std::optional<Role> Lengthen(int32_t times) {
    if (!HaveSameTables()) return std::nullopt;
    for (size_t s = 0; s < streams_; ++s) {
      const int32_t more = Length(longer_, s) - Length(shorter_, s);
      if (more < 0) return std::nullopt;
      more_.push_back(more);
    }
    if (!PlaceBodies()) return std::nullopt;
    RoleLoop loop{.turns = times + 1};
    for (size_t s = 0; s < streams_; ++s) {
      loop.bodies[s] = {.begin = At(shorter_, s, *begins_[s]),
                        .length = more_[s]};
    }
    Role role = shorter_;
    SetTurns(shorter_, loop, role);
    for (size_t s = 0; s < streams_; ++s) {
      for (int32_t i = Number(loop.bodies[s].end());
           i < Number(shorter_.place_begin_[s + 1]); ++i) {
        if (!MoveDependencies(s, i, times, role)) return std::nullopt;
      }
    }
    return role;
  }

  // Gives a copy of `of` other turns; what is after the loop waits as before.
  static void SetTurns(const Role& of, const RoleLoop& loop, Role& role) {
    role.loop_ = loop;
    int32_t begin = 0;
    for (size_t s = 0; s + 1 < of.place_begin_.size(); ++s) {
      role.stream_begin_[s] = static_cast<TaskId>(begin);
      begin +=
          Length(of, s) + (loop.turns - of.loop_.turns) * loop.bodies[s].length;
    }
    role.stream_begin_.back() = static_cast<TaskId>(begin);
    for (PlaceId p{}; Number(p) < of.place_count();
         p = static_cast<PlaceId>(Number(p) + 1)) {
      const auto first = static_cast<size_t>(of.dependencies_begin_[Index(p)]);
      const auto last =
          static_cast<size_t>(of.dependencies_begin_[Index(p) + 1]);
      for (size_t i = first; i < last; ++i) {
        const Dependency& needed = of.dependencies_[i];
        // From the beginning of its stream.
        Move(Number(role.stream_begin_[Index(needed.stream)]) -
                 Number(of.stream_begin_[Index(needed.stream)]),
             p, i, role);
      }
    }
    for (RoleSlot& slot : role.slots_) {
      const RoleLoop::Body& body = loop.bodies[Index(slot.stream)];
      for (TaskId& task : slot.sequence) {
        const LoopPlace found = of.Find(slot.stream, task);
        task = static_cast<TaskId>(
            Number(found.place) - Number(of.place_begin_[Index(slot.stream)]) +
            Number(role.stream_begin_[Index(slot.stream)]) +
            (found.place < body.end() ? 0 : (loop.turns - 1) * body.length));
      }
    }
  }

  // Moves the i-th of all dependencies, which is one of task `p`.
  static void Move(int32_t by, PlaceId p, size_t i, Role& role) {
    Dependency& needed = role.dependencies_[i];
    needed.task = static_cast<TaskId>(Number(needed.task) + by);
    if (i == static_cast<size_t>(role.dependencies_begin_[Index(p)])) {
      role.tasks_[p].first_dependency = needed.task;
    }
  }

  static Role WithTurns(const Role& of, int32_t turns) {
    Role role = of;
    RoleLoop loop = of.loop_;
    loop.turns = turns;
    SetTurns(of, loop, role);
    const int32_t fewer = of.loop_.turns - turns;
    for (size_t s = 0; s + 1 < of.place_begin_.size(); ++s) {
      for (PlaceId p = loop.bodies[s].end(); p < of.place_begin_[s + 1];
           p = static_cast<PlaceId>(Number(p) + 1)) {
        const auto first =
            static_cast<size_t>(of.dependencies_begin_[Index(p)]);
        const auto last =
            static_cast<size_t>(of.dependencies_begin_[Index(p) + 1]);
        for (size_t i = first; i < last; ++i) {
          const Dependency& needed = of.dependencies_[i];
          if (!IsLate(of, needed)) continue;
          Move(-fewer * loop.bodies[Index(needed.stream)].length, p, i, role);
        }
      }
    }
    return role;
  }

 private:
  static int32_t Length(const Role& role, size_t stream) {
    return Number(role.stream_begin_[stream + 1]) -
           Number(role.stream_begin_[stream]);
  }
  static PlaceId At(const Role& role, size_t stream, int32_t position) {
    return static_cast<PlaceId>(Number(role.place_begin_[stream]) + position);
  }
  // In its own stream.
  static int32_t PositionOf(const Role& role, const Dependency& needed) {
    return Number(needed.task) -
           Number(role.stream_begin_[Index(needed.stream)]);
  }
  // Whether the loop is rather done than begun when this is.
  static bool IsLate(const Role& role, const Dependency& needed) {
    const RoleLoop::Body& body = role.loop_.bodies[Index(needed.stream)];
    const int32_t before =
        Number(body.begin) - Number(role.place_begin_[Index(needed.stream)]);
    return PositionOf(role, needed) >=
           before + role.loop_.turns / 2 * body.length;
  }

  bool HaveSameTables() const {
    return shorter_.name_ == longer_.name_ &&
           shorter_.stream_begin_.size() == longer_.stream_begin_.size() &&
           shorter_.kernels_ == longer_.kernels_ &&
           shorter_.initial_memory_ == longer_.initial_memory_ &&
           std::equal(shorter_.slots_.begin(), shorter_.slots_.end(),
                      longer_.slots_.begin(), longer_.slots_.end(),
                      [](const RoleSlot& a, const RoleSlot& b) {
                        return a.name == b.name && a.stream == b.stream &&
                               a.side == b.side && a.calls == b.calls;
                      });
  }

  enum class Waiting : uint8_t { kSame, kLater, kEither };

  // Whether a task of the shorter role and one of the longer are the same, but
  // for what they wait for: the same, what was inserted later, or either.
  bool AreAlike(PlaceId a, PlaceId b, Waiting waiting) const {
    if (!(shorter_.tasks_[a] == longer_.tasks_[b]) ||
        shorter_.task_names_[a] != longer_.task_names_[b]) {
      return false;
    }
    const auto needed_a = shorter_.dependencies_at(a);
    const auto needed_b = longer_.dependencies_at(b);
    if (needed_a.size() != needed_b.size()) return false;
    for (size_t i = 0; i < needed_a.size(); ++i) {
      if (needed_a[i].stream != needed_b[i].stream) return false;
      const int32_t later =
          PositionOf(longer_, needed_b[i]) - PositionOf(shorter_, needed_a[i]);
      const bool same = later == 0 && waiting != Waiting::kLater;
      const bool moved = later == more_[Index(needed_a[i].stream)] &&
                         waiting != Waiting::kSame;
      if (!same && !moved) return false;
    }
    return !shorter_.tasks_[a].has_memory_effects ||
           shorter_.memory_effects_at(a) == longer_.memory_effects_at(b);
  }

  // Bodies that have to do with one another lie beside each other, so that what
  // a turn waits for is in about the same turn. The first stream's is as late
  // as can be; whether there is one for each stream.
  bool PlaceBodies() {
    begins_.assign(streams_, std::nullopt);
    for (size_t placed = 0; placed < streams_; ++placed) {
      size_t next = streams_;
      int32_t wanted = std::numeric_limits<int32_t>::max();
      for (size_t s = 0; s < streams_; ++s) {
        if (begins_[s]) continue;
        if (next == streams_) next = s;
        if (const std::optional<int32_t> beside = BesideOthers(s)) {
          next = s;
          wanted = *beside;
          break;
        }
      }
      begins_[next] = BodyBegin(next, wanted);
      if (!begins_[next]) return false;
    }
    return true;
  }

  // Where a stream's body would begin for those that have theirs: with the
  // first task that one of them waits for, or that waits for one of them.
  std::optional<int32_t> BesideOthers(size_t stream) const {
    std::optional<int32_t> first;
    for (size_t s = 0; s < streams_; ++s) {
      if (!begins_[s] || more_[s] == 0) continue;
      for (int32_t i = *begins_[s]; i < *begins_[s] + more_[s]; ++i) {
        for (const Dependency& needed :
             shorter_.dependencies_at(At(shorter_, s, i))) {
          if (Index(needed.stream) != stream) continue;
          const int32_t position = PositionOf(shorter_, needed);
          first = std::min(first.value_or(position), position);
        }
      }
    }
    for (int32_t i = 0; !first && i < Length(shorter_, stream); ++i) {
      for (const Dependency& needed :
           shorter_.dependencies_at(At(shorter_, stream, i))) {
        const std::optional<int32_t>& begin = begins_[Index(needed.stream)];
        if (!begin || more_[Index(needed.stream)] == 0) continue;
        if (PositionOf(shorter_, needed) >= *begin) first = i;
      }
    }
    return first;
  }

  // Where in the shorter role the body of a stream can begin, as near as
  // possible to where it should.
  std::optional<int32_t> BodyBegin(size_t stream, int32_t wanted) const {
    const int32_t length = Length(shorter_, stream);
    const int32_t more = more_[stream];
    const auto alike = [&](int32_t i, int32_t inserted, Waiting waiting) {
      return AreAlike(At(shorter_, stream, i),
                      At(longer_, stream, i + inserted), waiting);
    };
    int32_t end = 0;
    while (end < length && alike(end, 0, Waiting::kSame)) ++end;
    int32_t first = length;  // of those that can be after the loop
    while (first > 0 && alike(first - 1, more, Waiting::kEither)) --first;
    // A run of `more` tasks that are like those inserted.
    std::optional<int32_t> best;
    int32_t run = 0;
    for (int32_t i = end; i >= std::max(0, first - more); --i) {
      if (run >= more &&
          (!best || std::abs(i - wanted) < std::abs(*best - wanted))) {
        best = i;
      }
      if (i == 0) break;
      run = alike(i - 1, more, Waiting::kLater) ? run + 1 : 0;
    }
    return best;
  }

  // Of a task after the loop: what is later in the longer role is so with
  // every turn.
  bool MoveDependencies(size_t stream, int32_t place, int32_t times,
                        Role& role) const {
    const auto p = static_cast<PlaceId>(place);
    const auto other = static_cast<PlaceId>(
        place - Number(shorter_.place_begin_[stream]) +
        Number(longer_.place_begin_[stream]) + more_[stream]);
    const auto needed_a = shorter_.dependencies_at(p);
    const auto needed_b = longer_.dependencies_at(other);
    for (size_t i = 0; i < needed_a.size(); ++i) {
      const size_t s = Index(needed_a[i].stream);
      const auto entry =
          static_cast<size_t>(shorter_.dependencies_begin_[Index(p)]) + i;
      const bool moved =
          PositionOf(longer_, needed_b[i]) != PositionOf(shorter_, needed_a[i]);
      if (moved) Move(times * more_[s], p, entry, role);
      // Else another number of turns would not be understood.
      if (more_[s] > 0 && IsLate(role, role.dependencies_[entry]) != moved) {
        return false;
      }
    }
    return true;
  }

  const Role& shorter_;
  const Role& longer_;
  size_t streams_;
  std::vector<int32_t> more_;  // tasks inserted, by stream
  // Of bodies, in their streams.
  std::vector<std::optional<int32_t>> begins_;
};

class ProgramLengthening {
 public:
  static std::optional<Program> Lengthen(const Program& shorter,
                                         const Program& longer, int32_t times) {
    if (!HaveSameParts(shorter, longer)) return std::nullopt;
    Program program;
    program.streams_ = shorter.streams_;
    program.ranks_ = shorter.ranks_;
    program.slot_groups_ = shorter.slot_groups_;
    program.groups_ = shorter.groups_;
    program.members_ = shorter.members_;
    program.calls_ = shorter.calls_;
    program.names_ = shorter.names_;
    for (const RoleId id : shorter.roles_.ids()) {
      if (!FitsIds(shorter.roles_[id], longer.roles_[id], times)) {
        return std::nullopt;
      }
      std::optional<Role> role =
          RoleLengthening(shorter.roles_[id], longer.roles_[id])
              .Lengthen(times);
      if (!role) return std::nullopt;
      program.roles_.Add(*std::move(role));
    }
    for (const ProgramRank& rank : program.ranks_) {
      program.task_count_ += program.roles_[rank.role].task_count();
    }
    return program;
  }

 private:
  static bool FitsIds(const Role& shorter, const Role& longer, int64_t times) {
    const int64_t more = longer.task_count() - shorter.task_count();
    return shorter.task_count() + more * times <=
           std::numeric_limits<int32_t>::max();
  }

  static bool HaveSameParts(const Program& a, const Program& b) {
    const auto same_rank = [](const ProgramRank& x, const ProgramRank& y) {
      return x.number == y.number && x.role == y.role &&
             x.multiplicity == y.multiplicity && x.slowness == y.slowness;
    };
    const auto same_group = [](const ProgramGroup& x, const ProgramGroup& y) {
      return x.family == y.family && x.index == y.index &&
             x.first_call == y.first_call && x.call_count == y.call_count &&
             x.member_count == y.member_count;
    };
    const auto same_member = [](const GroupMember& x, const GroupMember& y) {
      return x.rank == y.rank && x.stream == y.stream;
    };
    const auto equal = [](const auto& x, const auto& y, auto same) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
    };
    return a.roles_.size() == b.roles_.size() &&
           a.streams_.size() == b.streams_.size() &&
           equal(a.ranks_, b.ranks_, same_rank) &&
           equal(a.groups_, b.groups_, same_group) &&
           equal(a.members_, b.members_, same_member) &&
           a.slot_groups_ == b.slot_groups_ &&
           equal(a.calls_, b.calls_, std::equal_to<>()) &&
           equal(a.names_, b.names_, std::equal_to<>());
  }
};

std::optional<Program> Lengthen(const Program& shorter, const Program& longer,
                                int32_t times) {
  CHECK_GE(times, 1);
  return ProgramLengthening::Lengthen(shorter, longer, times);
}

Role WithTurns(const Role& role, int32_t turns) {
  CHECK(turns >= 1 && turns <= role.loop().turns);
  return RoleLengthening::WithTurns(role, turns);
}

}  // namespace orrery
