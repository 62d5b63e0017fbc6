#include "analytic/step/memory_walk.h"

#include <algorithm>
#include <array>
#include <utility>

namespace orrery {
namespace {

// What is held, and the most so far.
class Level {
 public:
  void AddActivations(int64_t bytes) {
    activations_ += bytes;
    Note();
  }
  void AddState(int64_t bytes) {
    state_ += bytes;
    Note();
  }
  int64_t activations() const { return activations_; }
  const WalkPeak& peak() const { return peak_; }

 private:
  void Note() {
    if (activations_ + state_ > peak_.total) {
      peak_ = {activations_ + state_, activations_};
    }
  }

  int64_t activations_ = 0;
  int64_t state_ = 0;
  WalkPeak peak_;
};

class RankWalk {
 public:
  // `rounds`: micro-batches that a piece sees.
  RankWalk(const std::vector<PipelineAction>& order,
           absl::Span<const uint32_t> repeats, int rounds,
           absl::Span<const std::vector<UnitMemory>> pieces,
           absl::Span<const double> pass_ends)
      : order_(order),
        repeats_(repeats),
        units_(pieces),
        pass_ends_(pass_ends),
        pieces_(pieces.size()) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      int64_t done = 0;
      pieces_[i].backwards_left = rounds;
      for (auto unit = pieces[i].rbegin(); unit != pieces[i].rend(); ++unit) {
        pieces_[i].kept += unit->kept;
        pieces_[i].recomputed += unit->recomputed;
        pieces_[i].rise = std::max(pieces_[i].rise, unit->recomputed - done);
        done += unit->kept;
        has_state_ |= unit->unreduced > 0 || unit->gathered > 0;
      }
      for (const UnitMemory& unit : pieces[i]) {
        pieces_[i].pass_s += unit.gather_s + unit.backward_s;
      }
    }
  }

  WalkPeak Walk() {
    bool was_plain = false;
    int64_t before = 0;  // the pass before
    for (size_t i = 0; i < order_.size(); ++i) {
      if (!pass_ends_.empty()) GoTo(i);
      if (order_[i].with_next) {
        if (IsPlain(order_[i]) && IsPlain(order_[i + 1])) {
          RunPlainPair(order_[i], order_[i + 1]);
        } else {
          RunPair(order_[i], order_[i + 1]);
        }
        ++i;
        was_plain = false;
        continue;
      }
      const bool plain = IsPlain(order_[i]);
      const int64_t level = level_.activations();
      Run(order_[i]);
      if (plain && was_plain && level_.activations() == before && !reducing()) {
        i = SkipTurns(i);
      }
      was_plain = plain;
      before = level;
    }
    return level_.peak();
  }

 private:
  struct Piece {
    int64_t kept = 0;
    int64_t recomputed = 0;
    int64_t rise = 0;   // above where a backward pass begins, at the most
    double pass_s = 0;  // that completes gradients, with what it gathers
    int backwards_left = 0;
    bool has_run_forward = false;
    bool has_run_backward = false;
  };

  struct KnownPair {
    PipelineAction a;
    PipelineAction b;
    int64_t rise;    // at the most
    int64_t change;  // in the end
  };

  static bool Completes(PipelinePass pass) {
    return pass == PipelinePass::kBackward ||
           pass == PipelinePass::kWeightGradient;
  }
  Piece& PieceOf(const PipelineAction& action) {
    return pieces_[static_cast<size_t>(action.piece)];
  }
  const std::vector<UnitMemory>& UnitsOf(const PipelineAction& action) const {
    return units_[static_cast<size_t>(action.piece)];
  }

  // To the beginning of a pass.
  void GoTo(size_t i) {
    const double pass_s =
        Completes(order_[i].pass) ? PieceOf(order_[i]).pass_s : 0;
    clock_s_ = std::max(clock_s_, pass_ends_[i] - pass_s);
    // A pass of another kind is over by then, and was not in the way before.
    if (!Completes(order_[i].pass) && i > 0) {
      clock_s_ = std::max(clock_s_, pass_ends_[i - 1]);
    }
    ReleaseReduced();
  }

  // The pass and the one before it left the level as it was: as long as the
  // same two follow, they go through the same levels again. The last of them,
  // but for those that complete gradients.
  size_t SkipTurns(size_t last) {
    if (last + 2 >= order_.size()) return last;
    const std::array<const PipelineAction*, 2> turn = {&order_[last - 1],
                                                       &order_[last]};
    const auto completed = [&](int16_t piece) {
      int count = 0;
      for (const PipelineAction* action : turn) {
        if (action->piece == piece && Completes(action->pass)) ++count;
      }
      return count;
    };
    int turns = static_cast<int>(repeats_[last + 1] / 2);
    for (const PipelineAction* action : turn) {
      const int each = completed(action->piece);
      if (each == 0) continue;
      const int left = PieceOf(*action).backwards_left;
      turns = std::min(turns, std::max(0, (left - 2) / each));
    }
    for (const PipelineAction* action : turn) {
      if (Completes(action->pass)) PieceOf(*action).backwards_left -= turns;
    }
    return last + 2 * static_cast<size_t>(turns);
  }

  // State comes and goes in the first and the last pass of a piece.
  bool IsPlain(const PipelineAction& action) {
    if (!has_state_) return true;
    const Piece& piece = PieceOf(action);
    if (action.pass == PipelinePass::kForward) return piece.has_run_forward;
    return piece.has_run_backward && piece.backwards_left > 1;
  }

  void Run(const PipelineAction& action) {
    Piece& piece = PieceOf(action);
    if (IsPlain(action)) {
      switch (action.pass) {
        case PipelinePass::kForward:
          level_.AddActivations(piece.kept);
          break;
        case PipelinePass::kBackward:
          level_.AddActivations(piece.rise);
          level_.AddActivations(-piece.rise - piece.kept);
          break;
        case PipelinePass::kInputGradient:
          level_.AddActivations(piece.recomputed);
          break;
        case PipelinePass::kWeightGradient:
          level_.AddActivations(-piece.kept - piece.recomputed);
          break;
      }
    } else {
      for (size_t i = 0; i < UnitsOf(action).size(); ++i) {
        Begin(action, i);
        End(action, i);
      }
    }
    Finish(action);
  }

  // Where state neither comes nor goes, what a pair does to the level is always
  // the same.
  void RunPlainPair(const PipelineAction& a, const PipelineAction& b) {
    ReleaseReduced();
    const auto known =
        std::find_if(pairs_.begin(), pairs_.end(), [&](const KnownPair& pair) {
          return pair.a.pass == a.pass && pair.a.piece == a.piece &&
                 pair.b.pass == b.pass && pair.b.piece == b.piece;
        });
    if (known != pairs_.end()) {
      level_.AddActivations(known->rise);
      level_.AddActivations(known->change - known->rise);
      Finish(a);
      Finish(b);
      return;
    }
    const Level before = std::exchange(level_, Level());
    RunPair(a, b);
    const KnownPair pair{a, b, level_.peak().total, level_.activations()};
    level_ = before;
    level_.AddActivations(pair.rise);
    level_.AddActivations(pair.change - pair.rise);
    pairs_.push_back(pair);
  }

  // Two passes that take turns, task by task, each as far as the other: a unit
  // begins before its first task and ends after its last.
  void RunPair(const PipelineAction& a, const PipelineAction& b) {
    struct Turn {
      const PipelineAction* action;
      size_t unit = 0;
      int64_t done = 0;  // tasks, those of units before it
      int64_t total = 0;
      bool begun = false;
    };
    std::array<Turn, 2> turns{Turn{&a}, Turn{&b}};
    const auto tasks = [&](const Turn& turn, size_t i) {
      const UnitMemory& unit = Unit(*turn.action, i);
      return turn.action->pass == PipelinePass::kForward ? unit.forward_tasks
                                                         : unit.backward_tasks;
    };
    for (Turn& turn : turns) {
      for (size_t i = 0; i < UnitsOf(*turn.action).size(); ++i) {
        turn.total += tasks(turn, i);
      }
    }
    const auto over = [&](const Turn& turn) {
      return turn.unit == UnitsOf(*turn.action).size();
    };
    // The task with which a unit begins or ends.
    const auto next = [&](const Turn& turn) {
      return turn.begun ? turn.done + tasks(turn, turn.unit) - 1 : turn.done;
    };
    while (!over(turns[0]) || !over(turns[1])) {
      const bool first =
          over(turns[1]) ||
          (!over(turns[0]) &&
           next(turns[0]) * turns[1].total <= next(turns[1]) * turns[0].total);
      Turn& turn = turns[first ? 0 : 1];
      if (!turn.begun) {
        Begin(*turn.action, turn.unit);
        turn.begun = true;
        continue;
      }
      End(*turn.action, turn.unit);
      turn.done += tasks(turn, turn.unit);
      turn.begun = false;
      ++turn.unit;
    }
    Finish(a);
    Finish(b);
  }

  // The i-th unit of a pass: backward passes go from the last to the first.
  const UnitMemory& Unit(const PipelineAction& action, size_t i) const {
    const std::vector<UnitMemory>& units = UnitsOf(action);
    return action.pass == PipelinePass::kForward ? units[i]
                                                 : units[units.size() - 1 - i];
  }

  void Begin(const PipelineAction& action, size_t i) {
    const Piece& piece = PieceOf(action);
    const UnitMemory& unit = Unit(action, i);
    if (Completes(action.pass) && piece.backwards_left == 1) {
      clock_s_ += unit.gather_s;
    }
    ReleaseReduced();
    if (action.pass == PipelinePass::kForward) {
      if (!piece.has_run_forward) level_.AddState(unit.gathered);
      level_.AddActivations(unit.kept);
      return;
    }
    if (action.pass != PipelinePass::kWeightGradient) {
      level_.AddActivations(unit.recomputed);
    }
    if (Completes(action.pass) && !piece.has_run_backward) {
      level_.AddState(unit.unreduced);
    }
  }

  void End(const PipelineAction& action, size_t i) {
    if (!Completes(action.pass)) return;
    const UnitMemory& unit = Unit(action, i);
    level_.AddActivations(-unit.kept - unit.recomputed);
    if (PieceOf(action).backwards_left > 1) return;
    level_.AddState(-unit.gathered);
    clock_s_ += unit.backward_s;
    open_ += unit.unreduced;
    if (!unit.bucket_s) return;
    reduced_s_ = std::max(reduced_s_, clock_s_) + *unit.bucket_s;
    reducing_.push_back({reduced_s_, open_});
    open_ = 0;
  }

  // Gradients whose reduction is over.
  void ReleaseReduced() {
    while (reducing() && reducing_[released_].end_s <= clock_s_) {
      level_.AddState(-reducing_[released_++].bytes);
    }
  }

  void Finish(const PipelineAction& action) {
    Piece& piece = PieceOf(action);
    if (action.pass == PipelinePass::kForward) piece.has_run_forward = true;
    if (!Completes(action.pass)) return;
    piece.has_run_backward = true;
    --piece.backwards_left;
  }

  const std::vector<PipelineAction>& order_;
  absl::Span<const uint32_t> repeats_;
  absl::Span<const std::vector<UnitMemory>> units_;
  absl::Span<const double> pass_ends_;
  std::vector<Piece> pieces_;
  bool has_state_ = false;
  std::vector<KnownPair> pairs_;
  Level level_;
  // Of the last backward passes of pieces: time so far, the bucket that fills,
  // and those that are being reduced, one after the other.
  struct Bucket {
    double end_s;
    int64_t bytes;
  };
  double clock_s_ = 0;
  double reduced_s_ = 0;
  int64_t open_ = 0;
  bool reducing() const { return released_ < reducing_.size(); }
  std::vector<Bucket> reducing_;
  size_t released_ = 0;  // of them
};

}  // namespace

std::vector<uint32_t> RepeatsInPairs(const std::vector<PipelineAction>& order) {
  std::vector<uint32_t> repeats(order.size(), 0);
  for (size_t i = order.size(); i-- > 2;) {
    const PipelineAction& action = order[i];
    const PipelineAction& before = order[i - 2];
    if (action.pass != before.pass || action.piece != before.piece ||
        action.with_next) {
      continue;
    }
    repeats[i] = 1 + (i + 1 < order.size() ? repeats[i + 1] : 0);
  }
  return repeats;
}

WalkPeak WalkMemory(const PipelineOrders& orders, int rank,
                    absl::Span<const uint32_t> repeats,
                    absl::Span<const std::vector<UnitMemory>> pieces,
                    absl::Span<const double> pass_ends) {
  const int rounds = orders.layout.bidirectional() ? orders.micro_batches / 2
                                                   : orders.micro_batches;
  return RankWalk(orders.of_rank[static_cast<size_t>(rank)], repeats, rounds,
                  pieces, pass_ends)
      .Walk();
}

}  // namespace orrery
