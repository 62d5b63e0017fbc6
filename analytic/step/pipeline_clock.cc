#include "analytic/step/pipeline_clock.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/check.h"

namespace orrery {
namespace {

// Not yet known.
constexpr double kLater = -1;

class Clock {
 public:
  explicit Clock(const PipelineQuestion& q)
      : q_(q),
        layout_(q.orders.layout),
        has_arms_(layout_.arms() == 2),
        arrivals_(2 * static_cast<size_t>(q.orders.micro_batches) *
                      static_cast<size_t>(layout_.stages()),
                  kLater),
        ranks_(static_cast<size_t>(layout_.ranks())),
        pieces_(static_cast<size_t>(layout_.ranks() * layout_.pieces())) {
    for (int rank = 0; rank < layout_.ranks(); ++rank) {
      for (const PipelineAction& action : OrderOf(rank)) {
        if (Completes(action.pass)) ++PieceOf(rank, action).backwards_left;
      }
    }
  }

  std::vector<RankEnd> Run() {
    for (bool all = false; !all;) {
      all = true;
      bool any = false;
      for (int rank = 0; rank < layout_.ranks(); ++rank) {
        while (Advance(rank)) any = true;
        all &= StateOf(rank).next == OrderOf(rank).size();
      }
      CHECK(all || any) << "an order waits for itself";
    }
    std::vector<RankEnd> ends;
    ends.reserve(ranks_.size());
    for (const Rank& rank : ranks_) ends.push_back({rank.free, rank.reduced});
    return ends;
  }

 private:
  struct Rank {
    size_t next = 0;
    double free = 0;     // its last pass ends
    double reduced = 0;  // its last reduction ends
    double sent = 0;     // its last transfer has come, if it waits for that
    // Transfers by direction and arm: those of one kind follow one another.
    std::array<double, 4> transferred{};
  };
  struct Piece {
    int backwards_left = 0;
    bool has_run_forward = false;
  };

  // When it comes, and what its receiver does with it.
  struct Input {
    double arrival = 0;
    double gather = 0;
  };

  static bool Completes(PipelinePass pass) {
    return pass == PipelinePass::kBackward ||
           pass == PipelinePass::kWeightGradient;
  }
  const std::vector<PipelineAction>& OrderOf(int rank) const {
    return q_.orders.of_rank[static_cast<size_t>(rank)];
  }
  Rank& StateOf(int rank) { return ranks_[static_cast<size_t>(rank)]; }
  Piece& PieceOf(int rank, const PipelineAction& action) {
    return pieces_[static_cast<size_t>(rank * layout_.pieces() + action.piece)];
  }
  int StageOf(int rank, const PipelineAction& action) const {
    return layout_.StageOf(rank, action.piece);
  }
  const StageTimes& TimesOf(int rank, const PipelineAction& action) const {
    return q_.stages[static_cast<size_t>(StageOf(rank, action))];
  }
  // When the input of a stage is there.
  double& Arrival(bool forward, int stage, int micro_batch) {
    const size_t row = static_cast<size_t>(micro_batch) *
                           static_cast<size_t>(layout_.stages()) +
                       static_cast<size_t>(stage);
    return arrivals_[2 * row + (forward ? 0 : 1)];
  }
  int RankOf(int stage, int micro_batch) const {
    return layout_.PlaceOf(stage, q_.orders.IsSecondHalf(micro_batch)).rank;
  }
  double Hop(int from, int to) const {
    const int boundary =
        std::abs(from - to) == 1 ? std::min(from, to) : layout_.ranks() - 1;
    return q_.hops[static_cast<size_t>(boundary)];
  }

  // Whether it is known when the input of an action is there.
  bool Has(int rank, const PipelineAction& action, Input* input) {
    if (action.pass == PipelinePass::kWeightGradient) return true;
    const int stage = StageOf(rank, action);
    const bool forward = action.pass == PipelinePass::kForward;
    if (forward ? stage == 0 : stage == layout_.stages() - 1) return true;
    const int from = forward ? stage - 1 : stage + 1;
    if (RankOf(from, action.micro_batch) != rank) input->gather = q_.gather;
    input->arrival = Arrival(forward, stage, action.micro_batch);
    return input->arrival != kLater;
  }

  // The next action of a rank, with the one it is interleaved with; false if it
  // must wait for another rank, or there is none.
  bool Advance(int rank) {
    Rank& state = StateOf(rank);
    const std::vector<PipelineAction>& order = OrderOf(rank);
    if (state.next == order.size()) return false;
    const PipelineAction& action = order[state.next];
    Input input, other;
    if (!Has(rank, action, &input)) return false;
    if (!action.with_next) {
      Run(rank, action, input);
      End(rank, action);
      ++state.next;
      return true;
    }
    const PipelineAction& next = order[state.next + 1];
    if (!Has(rank, next, &other)) return false;
    Run(rank, action, input);
    Run(rank, next, other);
    // What a pair sends leaves when both are done.
    End(rank, action);
    End(rank, next);
    state.next += 2;
    return true;
  }

  void Run(int rank, const PipelineAction& action, const Input& input) {
    Rank& state = StateOf(rank);
    Piece& piece = PieceOf(rank, action);
    const StageTimes& times = TimesOf(rank, action);
    const bool last = Completes(action.pass) && piece.backwards_left == 1;
    double start = std::max(std::max(state.free, input.arrival) + input.gather,
                            state.sent);
    if (action.pass != PipelinePass::kWeightGradient) {
      start = std::max(start, state.reduced);
    }
    switch (action.pass) {
      case PipelinePass::kForward:
        if (!piece.has_run_forward) start += times.first_forward;
        piece.has_run_forward = true;
        state.free = start + times.forward;
        return;
      case PipelinePass::kInputGradient:
        state.free = start + times.input_gradient;
        return;
      case PipelinePass::kBackward:
        state.free = start + times.input_gradient + times.weight_gradient +
                     times.reduce_within + (last ? times.last_within : 0);
        return;
      case PipelinePass::kWeightGradient:
        state.free = start + times.weight_gradient;
        state.reduced =
            std::max(state.reduced + times.reduce_within + times.reduce_after,
                     start + times.reduce_beside) +
            (last ? times.last_within + times.last_after : 0);
        return;
    }
  }

  // What follows a pass: its result goes on, its gradients are reduced.
  void End(int rank, const PipelineAction& action) {
    Rank& state = StateOf(rank);
    const int stage = StageOf(rank, action);
    const bool forward = action.pass == PipelinePass::kForward;
    const int to = forward ? stage + 1 : stage - 1;
    if (action.pass != PipelinePass::kWeightGradient && to >= 0 &&
        to < layout_.stages()) {
      Arrival(forward, to, action.micro_batch) =
          Transfer(rank, RankOf(to, action.micro_batch), forward, action.piece);
    }
    if (!Completes(action.pass)) return;
    Piece& piece = PieceOf(rank, action);
    --piece.backwards_left;
    if (action.pass == PipelinePass::kWeightGradient) return;
    const StageTimes& times = TimesOf(rank, action);
    const double after =
        times.reduce_after + (piece.backwards_left == 0 ? times.last_after : 0);
    if (after > 0) state.reduced = std::max(state.reduced, state.free) + after;
  }

  double Transfer(int from, int to, bool forward, int piece) {
    Rank& state = StateOf(from);
    if (to == from) return state.free;
    const int arm = has_arms_ ? piece : 0;
    double& before = state.transferred[static_cast<size_t>(2 * arm + forward)];
    before = std::max(before, state.free) + Hop(from, to);
    if (q_.sends_are_waited_for) state.sent = before;
    return before;
  }

  const PipelineQuestion& q_;
  const StageLayout& layout_;
  const bool has_arms_;
  std::vector<double> arrivals_;
  std::vector<Rank> ranks_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::vector<RankEnd> RunPipeline(const PipelineQuestion& question) {
  return Clock(question).Run();
}

}  // namespace orrery
