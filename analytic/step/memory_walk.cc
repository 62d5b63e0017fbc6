#include "analytic/step/memory_walk.h"

#include <algorithm>

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
  RankWalk(const std::vector<PipelineAction>& order,
           absl::Span<const std::vector<UnitMemory>> pieces)
      : order_(order), units_(pieces), pieces_(pieces.size()) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      int64_t done = 0;
      for (auto unit = pieces[i].rbegin(); unit != pieces[i].rend(); ++unit) {
        pieces_[i].kept += unit->kept;
        pieces_[i].recomputed += unit->recomputed;
        pieces_[i].rise = std::max(pieces_[i].rise, unit->recomputed - done);
        done += unit->kept;
      }
    }
    for (const PipelineAction& action : order) {
      if (Completes(action.pass)) ++PieceOf(action).backwards_left;
    }
  }

  WalkPeak Walk() {
    for (size_t i = 0; i < order_.size(); ++i) {
      if (!order_[i].with_next) {
        Run(order_[i]);
        continue;
      }
      RunPair(order_[i], order_[i + 1]);
      ++i;
    }
    return level_.peak();
  }

 private:
  struct Piece {
    int64_t kept = 0;
    int64_t recomputed = 0;
    int64_t rise = 0;  // above where a backward pass begins, at the most
    int backwards_left = 0;
    bool has_run_forward = false;
    bool has_run_backward = false;
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

  // State comes and goes in the first and the last pass of a piece.
  bool IsPlain(const PipelineAction& action) {
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

  // Two passes whose units take turns.
  void RunPair(const PipelineAction& a, const PipelineAction& b) {
    const size_t of_a = UnitsOf(a).size();
    const size_t of_b = UnitsOf(b).size();
    for (size_t i = 0, k = 0; i < of_a || k < of_b;) {
      const bool first = k == of_b || (i < of_a && i * of_b <= k * of_a);
      const PipelineAction& action = first ? a : b;
      size_t& unit = first ? i : k;
      Begin(action, unit);
      End(action, unit);
      ++unit;
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
    open_ += unit.unreduced;
    if (!unit.fills_bucket) return;
    level_.AddState(-open_);
    open_ = 0;
  }

  void Finish(const PipelineAction& action) {
    Piece& piece = PieceOf(action);
    if (action.pass == PipelinePass::kForward) piece.has_run_forward = true;
    if (!Completes(action.pass)) return;
    piece.has_run_backward = true;
    --piece.backwards_left;
  }

  const std::vector<PipelineAction>& order_;
  absl::Span<const std::vector<UnitMemory>> units_;
  std::vector<Piece> pieces_;
  Level level_;
  int64_t open_ = 0;  // of the bucket that fills
};

}  // namespace

WalkPeak WalkMemory(const PipelineOrders& orders, int rank,
                    absl::Span<const std::vector<UnitMemory>> pieces) {
  return RankWalk(orders.of_rank[static_cast<size_t>(rank)], pieces).Walk();
}

}  // namespace orrery
