#include "analytic/step/pipeline_clock.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/check.h"

namespace orrery {
namespace {

bool Completes(PipelinePass pass) {
  return pass == PipelinePass::kBackward ||
         pass == PipelinePass::kWeightGradient;
}

}  // namespace

struct PipelineClock::Rank {
  double free = 0;     // its last pass ends
  double reduced = 0;  // its last reduction ends
  double sent = 0;     // its last transfer has come, if it waits for that
  std::array<double, 4> transferred{};  // by way
};

// Walks the orders, each rank as far as it can, and notes who goes when.
class PipelineClock::Compiler {
 public:
  Compiler(const PipelineOrders& orders, PipelineClock* clock)
      : orders_(orders),
        layout_(orders.layout),
        clock_(*clock),
        has_arrived_(2 * static_cast<size_t>(orders.micro_batches) *
                     static_cast<size_t>(layout_.stages())),
        next_(orders.of_rank.size(), 0),
        pieces_(static_cast<size_t>(layout_.ranks() * layout_.pieces())) {
    clock_.ranks_ = orders.of_rank.size();
    clock_.arrivals_ = has_arrived_.size();
    CHECK(has_arrived_.size() < kNone) << "micro-batches and stages";
    size_t passes = 0;
    for (int rank = 0; rank < layout_.ranks(); ++rank) {
      passes += OrderOf(rank).size();
      for (const PipelineAction& action : OrderOf(rank)) {
        if (Completes(action.pass)) ++PieceOf(rank, action).backwards_left;
      }
    }
    clock_.passes_.reserve(passes);
  }

  void Compile() {
    for (bool all = false; !all;) {
      all = true;
      bool any = false;
      for (int rank = 0; rank < layout_.ranks(); ++rank) {
        while (Advance(rank)) any = true;
        all &= next_[static_cast<size_t>(rank)] == OrderOf(rank).size();
      }
      CHECK(all || any) << "an order waits for itself";
    }
  }

 private:
  struct Piece {
    int backwards_left = 0;
    bool has_run_forward = false;
  };

  const std::vector<PipelineAction>& OrderOf(int rank) const {
    return orders_.of_rank[static_cast<size_t>(rank)];
  }
  Piece& PieceOf(int rank, const PipelineAction& action) {
    return pieces_[static_cast<size_t>(rank * layout_.pieces() + action.piece)];
  }
  // Where the input of a stage is among the arrivals.
  uint32_t Arrival(bool forward, int stage, int micro_batch) const {
    const int64_t row = int64_t{micro_batch} * layout_.stages() + stage;
    return static_cast<uint32_t>(2 * row + (forward ? 0 : 1));
  }
  int RankOf(int stage, int micro_batch) const {
    return layout_.PlaceOf(stage, orders_.IsSecondHalf(micro_batch)).rank;
  }
  int Hop(int from, int to) const {
    return std::abs(from - to) == 1 ? std::min(from, to) : layout_.ranks() - 1;
  }

  // Where the input of an action comes from; kNone: from nowhere.
  uint32_t InputOf(int rank, const PipelineAction& action,
                   bool* gathers) const {
    if (action.pass == PipelinePass::kWeightGradient) return kNone;
    const int stage = layout_.StageOf(rank, action.piece);
    const bool forward = action.pass == PipelinePass::kForward;
    if (forward ? stage == 0 : stage == layout_.stages() - 1) return kNone;
    const int from = forward ? stage - 1 : stage + 1;
    *gathers = RankOf(from, action.micro_batch) != rank;
    return Arrival(forward, stage, action.micro_batch);
  }
  bool Has(uint32_t input) const {
    return input == kNone || has_arrived_[static_cast<size_t>(input)];
  }

  // The next action of a rank, with the one it is interleaved with; false if it
  // must wait for another rank, or there is none.
  bool Advance(int rank) {
    size_t& next = next_[static_cast<size_t>(rank)];
    const std::vector<PipelineAction>& order = OrderOf(rank);
    if (next == order.size()) return false;
    const size_t count = order[next].with_next ? 2 : 1;
    for (size_t i = 0; i < count; ++i) {
      bool gathers = false;
      if (!Has(InputOf(rank, order[next + i], &gathers))) return false;
    }
    for (size_t i = 0; i < count; ++i) Add(rank, order[next + i]);
    for (size_t i = 0; i < count; ++i) {
      const Pass& pass = clock_.passes_[clock_.passes_.size() - count + i];
      if (pass.output != kNone) {
        has_arrived_[pass.output] = true;
      }
    }
    next += count;
    return true;
  }

  void Add(int rank, const PipelineAction& action) {
    const int stage = layout_.StageOf(rank, action.piece);
    const bool forward = action.pass == PipelinePass::kForward;
    Piece& piece = PieceOf(rank, action);
    Pass pass{.input = kNone,
              .output = kNone,
              .rank = static_cast<uint32_t>(rank),
              .stage = static_cast<uint32_t>(stage),
              .hop = kNone,
              .pass = action.pass,
              .way = 0,
              .with_next = action.with_next,
              .gathers = false,
              .is_first = forward && !piece.has_run_forward,
              .is_last = Completes(action.pass) && piece.backwards_left == 1};
    bool gathers = false;
    pass.input = InputOf(rank, action, &gathers);
    pass.gathers = gathers;
    piece.has_run_forward |= forward;
    if (Completes(action.pass)) --piece.backwards_left;
    const int to = forward ? stage + 1 : stage - 1;
    if (action.pass != PipelinePass::kWeightGradient && to >= 0 &&
        to < layout_.stages()) {
      pass.output = Arrival(forward, to, action.micro_batch);
      const int receiver = RankOf(to, action.micro_batch);
      if (receiver != rank) {
        pass.hop = static_cast<uint32_t>(Hop(rank, receiver));
        const int arm = layout_.arms() == 2 ? action.piece : 0;
        pass.way = static_cast<uint8_t>(2 * arm + (forward ? 1 : 0));
      }
    }
    clock_.passes_.push_back(pass);
  }

  const PipelineOrders& orders_;
  const StageLayout& layout_;
  PipelineClock& clock_;
  std::vector<bool> has_arrived_;
  std::vector<size_t> next_;  // of each rank
  std::vector<Piece> pieces_;
};

PipelineClock::PipelineClock(const PipelineOrders& orders) {
  Compiler(orders, this).Compile();
}

void PipelineClock::Start(const Pass& pass, const PipelineTimes& times,
                          const std::vector<double>& arrivals, Rank& rank) {
  const StageTimes& stage = times.stages[pass.stage];
  double start = rank.free;
  if (pass.input != kNone) {
    start = std::max(start, arrivals[pass.input]);
    if (pass.gathers) start += times.gather;
  }
  start = std::max(start, rank.sent);
  switch (pass.pass) {
    case PipelinePass::kForward:
      start = std::max(start, rank.reduced);
      if (pass.is_first) start += stage.first_forward;
      rank.free = start + stage.forward;
      return;
    case PipelinePass::kInputGradient:
      rank.free = std::max(start, rank.reduced) + stage.input_gradient;
      return;
    case PipelinePass::kBackward:
      rank.free = std::max(start, rank.reduced) + stage.input_gradient +
                  stage.weight_gradient + stage.reduce_within +
                  (pass.is_last ? stage.last_within : 0);
      return;
    case PipelinePass::kWeightGradient:
      rank.free = start + stage.weight_gradient;
      if (pass.is_last) {
        rank.reduced =
            std::max(rank.reduced + stage.reduce_within + stage.reduce_after +
                         stage.last_within + stage.last_after,
                     start + stage.last_beside);
      } else {
        rank.reduced =
            std::max(rank.reduced + stage.reduce_within + stage.reduce_after,
                     start + stage.reduce_beside);
      }
      return;
  }
}

// What follows a pass: its result goes on, its gradients are reduced.
void PipelineClock::End(const Pass& pass, const PipelineTimes& times,
                        std::vector<double>& arrivals, Rank& rank) {
  if (pass.output != kNone) {
    double& arrival = arrivals[pass.output];
    arrival = rank.free;
    if (pass.hop != kNone) {
      double& before = rank.transferred[pass.way];
      before = std::max(before, rank.free) + times.hops[pass.hop];
      arrival = before;
      if (times.sends_are_waited_for) rank.sent = before;
    }
  }
  if (pass.pass != PipelinePass::kBackward) return;
  const StageTimes& stage = times.stages[pass.stage];
  const double after =
      stage.reduce_after + (pass.is_last ? stage.last_after : 0);
  if (after > 0) rank.reduced = std::max(rank.reduced, rank.free) + after;
}

std::vector<RankEnd> PipelineClock::Run(
    const PipelineTimes& times,
    std::vector<std::vector<double>>* pass_ends) const {
  std::vector<double> arrivals(arrivals_);
  std::vector<Rank> ranks(ranks_);
  if (pass_ends != nullptr) pass_ends->resize(ranks_);
  const auto note = [&](const Pass& pass) {
    if (pass_ends != nullptr) {
      (*pass_ends)[pass.rank].push_back(ranks[pass.rank].free);
    }
  };
  for (size_t i = 0; i < passes_.size(); ++i) {
    const Pass& pass = passes_[i];
    Rank& rank = ranks[pass.rank];
    Start(pass, times, arrivals, rank);
    note(pass);
    if (pass.with_next) {
      const Pass& other = passes_[++i];
      Start(other, times, arrivals, rank);
      note(other);
      End(pass, times, arrivals, rank);
      End(other, times, arrivals, rank);
    } else {
      End(pass, times, arrivals, rank);
    }
  }
  std::vector<RankEnd> ends;
  ends.reserve(ranks_);
  for (const Rank& rank : ranks) ends.push_back({rank.free, rank.reduced});
  return ends;
}

}  // namespace orrery
