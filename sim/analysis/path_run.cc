#include "sim/analysis/path_run.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "sim/analysis/path_classes.h"
#include "sim/analysis/role_overlap.h"
#include "sim/analysis/role_times.h"
#include "sim/engine/chip_sharing.h"
#include "sim/engine/engine_state.h"
#include "workload/program/loop_cursor.h"

namespace orrery {
namespace {

class PathRun {
 public:
  // Keeps the ends of `kept` turns, a power of two above one.
  PathRun(const Program& program, const TaskTimes& times,
          const PathClasses& classes, int32_t kept)
      : program_(program),
        times_(times),
        classes_(classes),
        kept_(kept),
        streams_(program.streams().size()),
        heads_(classes.ranks.size() * streams_),
        groups_(classes.members.size()) {
    for (const RoleId id : program.roles().ids()) {
      const Role& role = program.roles()[id];
      first_.Add(FirstOf(role));
      kernels_.Add(
          RoleTimes(role, streams_,
                    times.slowness.empty() ? nullptr : &times.slowness[id]));
    }
    for (size_t rank = 0; rank < classes.ranks.size(); ++rank) {
      const Role& role = RoleOf(rank);
      ends_.push_back(
          std::make_unique<Duration[]>(first_[Of(rank).role][streams_]));
      for (size_t s = 0; s < streams_; ++s) {
        static_cast<LoopCursor&>(At(rank, s)) =
            LoopCursor::AtBeginning(role, static_cast<StreamId>(s));
      }
    }
  }

  // Nothing if too few turns are kept.
  std::optional<Duration> Run() {
    for (size_t rank = 0; rank < ends_.size(); ++rank) {
      for (size_t s = 0; s < streams_; ++s) Wake(rank, s);
    }
    while (true) {
      while (!awake_.empty()) {
        const auto [rank, stream] = awake_.back();
        awake_.pop_back();
        At(rank, stream).awake = false;
        while (Advance(rank, stream)) {
        }
      }
      if (forgotten_) return std::nullopt;
      if (held_.empty()) break;
      EndRound();
    }
    Duration end{};
    for (size_t rank = 0; rank < ends_.size(); ++rank) {
      const Role& role = RoleOf(rank);
      for (size_t s = 0; s < streams_; ++s) {
        if (At(rank, s).next != role.stream_end(static_cast<StreamId>(s))) {
          return kBeyondTime;  // it stalls
        }
        end = std::max(end, At(rank, s).end);
      }
    }
    return end;
  }

 private:
  struct Head : LoopCursor {
    Duration end{};          // of the task before
    StreamMask waiters = 0;  // streams of the rank that wait for this one
    bool arrived = false;
    bool awake = false;
    bool held = false;  // until the others have done as many turns
  };
  struct Meeting {
    int32_t arrived = 0;
    Duration ready{};
  };
  // Of a stream, to be compared with that of a round before.
  struct Standing {
    PlaceId place;
    int32_t turn;  // behind the round
    bool arrived;
    friend bool operator==(const Standing&, const Standing&) = default;
  };

  // Ranks are known by their place among those of the classes.
  Head& At(size_t rank, size_t stream) {
    return heads_[rank * streams_ + stream];
  }
  const ProgramRank& Of(size_t rank) const {
    return program_.ranks()[classes_.ranks[rank]];
  }
  const Role& RoleOf(size_t rank) const {
    return program_.roles()[Of(rank).role];
  }

  // Where the ends of each stream begin among those of its rank, and how many
  // these are.
  using Firsts = std::array<size_t, kMaxStreams + 1>;
  Firsts FirstOf(const Role& role) const {
    Firsts first{};
    for (size_t s = 0; s < streams_; ++s) {
      const auto id = static_cast<StreamId>(s);
      const int32_t body = role.loop().bodies[s].length;
      first[s + 1] = first[s] + Index(role.place_end(id)) -
                     Index(role.place_begin(id)) +
                     static_cast<size_t>(body * (kept_ - 1));
    }
    return first;
  }
  Duration& EndOf(size_t rank, const Role& role, StreamId stream,
                  LoopPlace of) {
    Duration* const ends = ends_[rank].get();
    if (role.loop().turns == 1) return ends[Index(of.place)];
    const RoleLoop::Body& body = role.loop().bodies[Index(stream)];
    const Firsts& first = first_[Of(rank).role];
    const size_t at = first[Index(stream)] + Index(of.place) -
                      Index(role.place_begin(stream));
    if (of.place < body.begin) return ends[at];
    const int32_t turn =
        of.place < body.end() ? of.turn & (kept_ - 1) : kept_ - 1;
    return ends[at + static_cast<size_t>(turn * body.length)];
  }

  static bool IsInLoop(const Head& head, const RoleLoop::Body& body) {
    return head.wrap != kNoPlace && head.place >= body.begin;
  }

  void Wake(size_t rank, size_t stream) {
    Head& head = At(rank, stream);
    if (std::exchange(head.awake, true)) return;
    awake_.emplace_back(rank, stream);
  }

  // When a task that is done ended.
  Duration Ended(size_t rank, const Role& role, const Head& head,
                 const Dependency& needed) {
    if (role.loop().turns == 1) {
      return EndOf(rank, role, needed.stream,
                   {static_cast<PlaceId>(needed.task), 0});
    }
    const LoopPlace found = role.Find(needed.stream, needed.task);
    if (role.loop().bodies[Index(needed.stream)].Has(found.place)) {
      const int32_t last =
          head.wrap == kNoPlace ? role.loop().turns - 1 : head.turn;
      forgotten_ |= found.turn <= last - kept_;
    }
    return EndOf(rank, role, needed.stream, found);
  }

  // Runs the head of a stream if it can; whether another may follow at once.
  bool Advance(size_t rank, size_t stream) {
    Head& head = At(rank, stream);
    const Role& role = RoleOf(rank);
    if (head.arrived ||
        head.next == role.stream_end(static_cast<StreamId>(stream))) {
      return false;
    }
    if (head.turn > round_) {
      if (!std::exchange(head.held, true)) held_.emplace_back(rank, stream);
      return false;
    }
    Duration ready = head.end;
    const Task& task = role.at(head.place);
    const auto is_met = [&](const Dependency& first_turn) {
      const Dependency needed = role.loop().InTurn(first_turn, head.turn);
      Head& other = At(rank, Index(needed.stream));
      if (other.next <= needed.task) {
        other.waiters = static_cast<StreamMask>(
            other.waiters | Bit(static_cast<StreamId>(stream)));
        return false;
      }
      ready = std::max(ready, Ended(rank, role, other, needed));
      return true;
    };
    if (task.dependency_count > 0 &&
        !is_met({static_cast<StreamId>(task.first_dependency_stream),
                 task.first_dependency})) {
      return false;
    }
    if (task.dependency_count > 1) {
      for (const Dependency& needed :
           role.dependencies_at(head.place).subspan(1)) {
        if (!is_met(needed)) return false;
      }
    }
    if (!IsCommunication(task.kind)) {
      if (task.kind == TaskKind::kKernel) {
        ready += Kernels(rank, role, static_cast<StreamId>(stream), head);
      }
      End(rank, stream, ready);
      return true;
    }
    const RankId id = classes_.ranks[rank];
    const GroupId group = program_.group_of(id, static_cast<SlotId>(task.slot));
    const auto of = static_cast<size_t>(classes_.class_of[group]);
    const auto& members = classes_.members[of];
    Meeting& meeting = groups_[of];
    meeting.ready = std::max(meeting.ready, ready);
    head.arrived = true;
    if (++meeting.arrived < static_cast<int32_t>(members.size())) return false;
    const Duration end =
        meeting.ready + times_.calls[program_.call_of(id, task)];
    meeting = {};
    for (const PathClasses::Member& member : members) {
      const auto who = static_cast<size_t>(member.rank);
      At(who, Index(member.stream)).arrived = false;
      End(who, Index(member.stream), end);
      Wake(who, Index(member.stream));
    }
    return false;
  }

  // How long the kernel at the head takes and those of its chain, of which the
  // last becomes the head.
  Duration Kernels(size_t rank, const Role& role, StreamId stream, Head& head) {
    const ProgramRank& of = Of(rank);
    const RoleTimes& kernels = kernels_[of.role];
    const LoopPlace first{head.place, head.turn};
    if (of.slowness != 1) {
      return SoloDuration(role.kernel(role.at(head.place)),
                          of.slowness * kernels.Slowness(stream, first));
    }
    const int32_t length = kernels.length(head.place);
    head.next =
        static_cast<TaskId>(static_cast<int32_t>(head.next) + length - 1);
    head.place =
        static_cast<PlaceId>(static_cast<int32_t>(head.place) + length - 1);
    return kernels.Of(stream, first, length);
  }

  void End(size_t rank, size_t stream, Duration end) {
    Head& head = At(rank, stream);
    const Role& role = RoleOf(rank);
    const auto id = static_cast<StreamId>(stream);
    EndOf(rank, role, id, {head.place, head.turn}) = end;
    if (role.loop().turns > 1 && IsInLoop(head, role.loop().bodies[stream])) {
      Compare(rank, role, id, head, end);
    }
    head.end = end;
    head.MoveOn(role.loop(), id);
    if (head.waiters != 0) {
      ForEachStream(std::exchange(head.waiters, StreamMask{0}),
                    [&](StreamId waiter) { Wake(rank, Index(waiter)); });
    }
  }

  // By how much later than in the turn before.
  void Compare(size_t rank, const Role& role, StreamId stream, const Head& head,
               Duration end) {
    if (head.turn == 0) {
      is_even_ = false;
      return;
    }
    const Duration later =
        end - EndOf(rank, role, stream, {head.place, head.turn - 1});
    if (later != period_) {
      is_even_ &= std::exchange(has_period_, true) == false;
      period_ = later;
    } else {
      has_period_ = true;
    }
  }

  // All have done as many turns as they can: on to the next.
  void EndRound() {
    std::vector<Standing> standing;
    standing.reserve(heads_.size());
    ForEachHead([&](size_t, const Head& head, const RoleLoop::Body& body) {
      const bool in_loop = IsInLoop(head, body);
      standing.push_back(
          {head.place, in_loop ? head.turn - round_ : 0, head.arrived});
    });
    const bool repeats = is_even_ && has_period_ && period_ == last_period_ &&
                         standing == standing_;
    repeated_ = repeats ? repeated_ + 1 : 0;
    last_period_ = period_;
    standing_ = std::move(standing);
    is_even_ = true;
    has_period_ = false;
    if (repeated_ >= kept_) Skip();
    ++round_;
    for (const auto& [rank, stream] : std::exchange(held_, {})) {
      At(rank, stream).held = false;
      Wake(rank, stream);
    }
  }

  template <class Visit>
  void ForEachHead(Visit visit) {
    for (size_t rank = 0; rank < ends_.size(); ++rank) {
      const Role& role = RoleOf(rank);
      for (size_t s = 0; s < streams_; ++s) {
        visit(rank, At(rank, s), role.loop().bodies[s]);
      }
    }
  }

  // Leaves out turns, each of which would be the last one again, later. As many
  // as are kept at a time, so that ends stay where they are.
  void Skip() {
    int32_t turns = std::numeric_limits<int32_t>::max();
    ForEachHead([&](size_t rank, const Head& head, const RoleLoop::Body& body) {
      if (!IsInLoop(head, body)) return;
      const RoleLoop& loop = RoleOf(rank).loop();
      turns = std::min(turns, loop.turns - 2 - kTurnsAtEnds - head.turn);
    });
    turns = turns / kept_ * kept_;
    if (turns <= 0) return;
    const Duration later = period_ * turns;
    std::vector<int32_t> meeting;
    ForEachHead([&](size_t rank, Head& head, const RoleLoop::Body& body) {
      if (!IsInLoop(head, body)) return;
      const Role& role = RoleOf(rank);
      head.turn += turns;
      head.next = static_cast<TaskId>(static_cast<int32_t>(head.next) +
                                      turns * body.length);
      head.end += later;
      const auto stream =
          static_cast<StreamId>(&body - role.loop().bodies.data());
      for (int32_t turn = 0; turn < kept_; ++turn) {
        Duration* const ends = &EndOf(rank, role, stream, {body.begin, turn});
        for (int32_t i = 0; i < body.length; ++i) ends[i] += later;
      }
      if (!head.arrived) return;
      meeting.push_back(classes_.class_of[program_.group_of(
          classes_.ranks[rank],
          static_cast<SlotId>(role.at(head.place).slot))]);
    });
    std::sort(meeting.begin(), meeting.end());
    meeting.erase(std::unique(meeting.begin(), meeting.end()), meeting.end());
    for (const int32_t of : meeting) {
      groups_[static_cast<size_t>(of)].ready += later;
    }
    round_ += turns;
    repeated_ = 0;
  }

  const Program& program_;
  const TaskTimes& times_;
  const PathClasses& classes_;
  int32_t kept_;
  size_t streams_;
  IdVector<RoleId, Firsts> first_;
  IdVector<RoleId, RoleTimes> kernels_;
  std::vector<Head> heads_;
  std::vector<Meeting> groups_;                    // by class
  std::vector<std::unique_ptr<Duration[]>> ends_;  // by rank
  std::vector<std::pair<size_t, size_t>> awake_;
  std::vector<std::pair<size_t, size_t>> held_;
  // What was needed is no longer kept.
  bool forgotten_ = false;
  // Turns that may be gone through.
  int32_t round_ = 0;
  // In this round, by how much tasks ended later than a turn before; whether
  // there were any, and all by the same.
  Duration period_{-1};
  bool has_period_ = false;
  bool is_even_ = true;
  Duration last_period_{-1};
  std::vector<Standing> standing_;
  int32_t repeated_ = 0;  // rounds that were like the one before
};

}  // namespace

Duration PathEnd(const Program& program, const TaskTimes& times) {
  constexpr int32_t kLeastKept = 4;
  const PathClasses classes = ClassesOf(program, times.calls);
  for (int32_t kept = kLeastKept;; kept *= 2) {
    const auto end = PathRun(program, times, classes, kept).Run();
    if (end) return *end;
  }
}

}  // namespace orrery
