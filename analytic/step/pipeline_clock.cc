#include "analytic/step/pipeline_clock.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/check.h"

namespace orrery {
namespace {

bool Completes(PipelinePass pass) {
  return pass == PipelinePass::kBackward ||
         pass == PipelinePass::kWeightGradient;
}

}  // namespace

// Walks the orders, each rank as far as it can, and notes who goes when.
class PipelineClock::Compiler {
 public:
  Compiler(const PipelineOrders& orders, PipelineClock* clock)
      : orders_(orders),
        layout_(orders.layout),
        clock_(*clock),
        row_(2 * static_cast<uint32_t>(layout_.stages())),
        has_arrived_(2 * static_cast<size_t>(orders.micro_batches) *
                     static_cast<size_t>(layout_.stages())),
        next_(orders.of_rank.size(), 0),
        pieces_(static_cast<size_t>(layout_.ranks() * layout_.pieces())) {
    clock_.ranks_ = orders.of_rank.size();
    clock_.arrivals_ = has_arrived_.size();
    CHECK(has_arrived_.size() < kNone) << "micro-batches and stages";
    size_t passes = 0;
    const int rounds = layout_.bidirectional() ? orders.micro_batches / 2
                                               : orders.micro_batches;
    for (int rank = 0; rank < layout_.ranks(); ++rank) {
      passes += OrderOf(rank).size();
      for (int piece = 0; piece < layout_.pieces(); ++piece) {
        PieceOf(rank, piece) = {.forward = LegOf(rank, piece, true),
                                .backward = LegOf(rank, piece, false),
                                .backwards_left = rounds};
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
  // What passes of a piece in one direction have in common.
  struct Leg {
    Pass pass{};
    // Where input and output of the first micro-batch are among the arrivals,
    // if it has them.
    uint32_t input = kNone;
    uint32_t output = kNone;
  };
  struct Piece {
    Leg forward;
    Leg backward;
    int backwards_left = 0;
    bool has_run_forward = false;
  };

  const std::vector<PipelineAction>& OrderOf(int rank) const {
    return orders_.of_rank[static_cast<size_t>(rank)];
  }
  Piece& PieceOf(int rank, int piece) {
    return pieces_[static_cast<size_t>(rank * layout_.pieces() + piece)];
  }
  // Where the input of a stage is among the arrivals, in the first micro-batch.
  static uint32_t Arrival(bool forward, int stage) {
    return static_cast<uint32_t>(2 * stage + (forward ? 0 : 1));
  }
  int Hop(int from, int to) const {
    return std::abs(from - to) == 1 ? std::min(from, to) : layout_.ranks() - 1;
  }

  Leg LegOf(int rank, int piece, bool forward) const {
    const int stage = layout_.StageOf(rank, piece);
    // The two pieces of a bidirectional layout see a half each.
    const auto rank_of = [&](int other) {
      return layout_.PlaceOf(other, layout_.bidirectional() && piece == 1).rank;
    };
    const auto exists = [&](int other) {
      return other >= 0 && other < layout_.stages();
    };
    Leg leg;
    leg.pass.rank = static_cast<uint32_t>(rank);
    leg.pass.stage = static_cast<uint32_t>(stage);
    leg.pass.input = leg.pass.output = leg.pass.hop = kNone;
    const int before = forward ? stage - 1 : stage + 1;
    if (exists(before)) {
      leg.input = Arrival(forward, stage);
      leg.pass.gathers = rank_of(before) != rank;
    } else if (!forward) {
      // The gradient of the loss starts where the forward pass ended.
      leg.input = Arrival(false, stage);
    }
    const int after = forward ? stage + 1 : stage - 1;
    if (!exists(after)) {
      if (forward) leg.output = Arrival(false, stage);
      return leg;
    }
    leg.output = Arrival(forward, after);
    const int receiver = rank_of(after);
    if (receiver == rank) return leg;
    leg.pass.hop = static_cast<uint32_t>(Hop(rank, receiver));
    const int arm = layout_.arms() == 2 ? piece : 0;
    leg.pass.way = static_cast<uint8_t>(2 * arm + (forward ? 1 : 0));
    return leg;
  }

  // Of the micro-batch of an action.
  uint32_t At(uint32_t first, const PipelineAction& action) const {
    return first == kNone
               ? kNone
               : first + static_cast<uint32_t>(action.micro_batch) * row_;
  }
  bool HasInput(int rank, const PipelineAction& action) {
    if (action.pass == PipelinePass::kWeightGradient) return true;
    const Piece& piece = PieceOf(rank, action.piece);
    const uint32_t input =
        At(action.pass == PipelinePass::kForward ? piece.forward.input
                                                 : piece.backward.input,
           action);
    return input == kNone || has_arrived_[input] != 0;
  }

  // The next action of a rank, with the one it is interleaved with; false if it
  // must wait for another rank, or there is none.
  bool Advance(int rank) {
    size_t& next = next_[static_cast<size_t>(rank)];
    const std::vector<PipelineAction>& order = OrderOf(rank);
    if (next == order.size() || !HasInput(rank, order[next])) return false;
    if (order[next].with_next) {
      if (!HasInput(rank, order[next + 1])) return false;
      Add(rank, order[next++]);
    }
    Add(rank, order[next++]);
    return true;
  }

  void Add(int rank, const PipelineAction& action) {
    Piece& piece = PieceOf(rank, action.piece);
    const bool forward = action.pass == PipelinePass::kForward;
    const Leg& leg = forward ? piece.forward : piece.backward;
    Pass& pass = clock_.passes_.emplace_back(leg.pass);
    pass.pass = action.pass;
    pass.with_next = action.with_next;
    if (forward) {
      pass.is_first = !piece.has_run_forward;
      piece.has_run_forward = true;
    } else if (Completes(action.pass)) {
      pass.is_last = piece.backwards_left-- == 1;
    }
    if (action.pass == PipelinePass::kWeightGradient) {
      pass.gathers = false;
      pass.hop = kNone;
      return;
    }
    pass.input = At(leg.input, action);
    pass.output = At(leg.output, action);
    if (pass.output != kNone) has_arrived_[pass.output] = 1;
  }

  const PipelineOrders& orders_;
  const StageLayout& layout_;
  PipelineClock& clock_;
  uint32_t row_;  // arrivals of a micro-batch
  std::vector<uint8_t> has_arrived_;
  std::vector<size_t> next_;  // of each rank
  std::vector<Piece> pieces_;
};

StageTimes StageTimes::Serial(double forward, double input_gradient,
                              double weight_gradient) {
  const double backward = input_gradient + weight_gradient;
  return {.forward = forward,
          .first_forward = forward,
          .input_gradient = input_gradient,
          .weight_gradient = weight_gradient,
          .backward = backward,
          .last_backward = backward};
}

PipelineClock::PipelineClock(const PipelineOrders& orders) {
  Compiler(orders, this).Compile();
}

namespace {

// The same moment in two pipelines: with hops as they are, and free ones.
using Both __attribute__((vector_size(2 * sizeof(double)))) = double;

double Latest(double a, double b) { return std::max(a, b); }
Both Latest(Both a, Both b) { return a < b ? b : a; }

// A time of hops or gathers.
template <class Moment>
struct PassEnd {
  Moment kernels{};
  Moment result{};
};
template <class Moment>
PassEnd<Moment> After(const PassDelays& delays, Moment kernels, Moment input) {
  const PassMoment& a = delays.after_kernels;
  const PassMoment& b = delays.after_input;
  return {Latest(kernels + a.kernels, input + b.kernels),
          Latest(kernels + a.result, input + b.result)};
}

// The same in both.
template <class Moment>
Moment At(double time) {
  return Moment{} + time;
}

template <class Moment>
Moment OfHops(double time);
template <>
double OfHops(double time) {
  return time;
}
template <>
Both OfHops(double time) {
  return Both{time, 0};
}

}  // namespace

// Goes along the row of passes. Arrivals are written before they are read.
template <class Moment>
class PipelineClock::Walk {
 public:
  Walk(const PipelineClock& clock, const PipelineTimes& times)
      : passes_(clock.passes_),
        times_(times),
        arrivals_(std::make_unique_for_overwrite<Moment[]>(clock.arrivals_)),
        ranks_(clock.ranks_) {}

  struct Rank {
    Moment free{};     // its last pass ends
    Moment result{};   // and what it yields is there
    Moment host{};     // its host has started it
    Moment reduced{};  // its last reduction ends
    Moment sent{};     // its last transfer has come, if it waits for that
    std::array<Moment, 4> transferred{};  // by way
  };

  template <class Note>
  const std::vector<Rank>& Go(Note note) {
    for (size_t i = 0; i < passes_.size(); ++i) {
      const Pass& pass = passes_[i];
      Rank& rank = ranks_[pass.rank];
      if (!pass.with_next) {
        Start(pass, rank);
        note(pass, rank);
        End(pass, rank);
        continue;
      }
      const Pass& other = passes_[++i];
      if (!times_.pairs.empty()) {
        StartPair(pass, other, rank);
        note(pass, rank);
      } else {
        Start(pass, rank);
        note(pass, rank);
        const Moment result = rank.result;
        Start(other, rank);
        rank.result = Latest(rank.result, Latest(result, rank.free));
      }
      note(other, rank);
      End(pass, rank);
      End(other, rank);
    }
    return ranks_;
  }

 private:
  using Ends = PassEnd<Moment>;

  const StageTimes& TimesOf(const Pass& pass) const {
    return times_.kinds[times_.kind_of_stage[pass.stage]];
  }

  // When what the pass needs is there, beside the kernels before it.
  Moment InputOf(const Pass& pass, Rank& rank) {
    Moment input = rank.sent;
    if (times_.results_are_waited_for) input = Latest(input, rank.result);
    if (times_.reductions_are_waited_for &&
        pass.pass != PipelinePass::kWeightGradient) {
      input = Latest(input, rank.reduced);
    }
    if (pass.input == kNone) return input;
    const Moment arrival = arrivals_[pass.input];
    if (!pass.gathers) return Latest(input, arrival);
    if (times_.host_waits_for_receive) rank.host = Latest(rank.host, arrival);
    if (times_.gather == 0) return Latest(input, arrival);
    // In line with the kernels, and behind the last exchange of the pass
    // before.
    const Moment before = Latest(rank.free, rank.result);
    return Latest(input,
                  Latest(before, arrival) + OfHops<Moment>(times_.gather));
  }

  Ends EndsOf(const Pass& pass, Rank& rank, Moment input) {
    const StageTimes& stage = TimesOf(pass);
    const Moment kernels = rank.free;
    Ends ends;
    const LaunchTimes* launch = nullptr;
    switch (pass.pass) {
      case PipelinePass::kForward:
        launch = &stage.forward_launch;
        if (pass.is_first) {
          ends = After(stage.first_forward, kernels, input);
          ends.kernels =
              Latest(ends.kernels, At<Moment>(stage.gathered.kernels));
          ends.result = Latest(ends.result, At<Moment>(stage.gathered.result));
        } else {
          ends = After(stage.forward, kernels, input);
        }
        break;
      case PipelinePass::kInputGradient:
        launch = &stage.input_gradient_launch;
        ends = After(stage.input_gradient, kernels, input);
        break;
      case PipelinePass::kWeightGradient:
        launch = &stage.weight_gradient_launch;
        ends = After(stage.weight_gradient, kernels, input);
        break;
      case PipelinePass::kBackward:
        launch = &stage.backward_launch;
        ends = After(pass.is_last ? stage.last_backward : stage.backward,
                     kernels, input);
        break;
    }
    if (launch->all > 0) {
      ends.kernels =
          Latest(ends.kernels, rank.host + launch->after_host.kernels);
      ends.result = Latest(ends.result, rank.host + launch->after_host.result);
      rank.host += launch->all;
    }
    return ends;
  }

  void Start(const Pass& pass, Rank& rank) {
    const Moment input = InputOf(pass, rank);
    const Moment kernels = rank.free;
    const Ends ends = EndsOf(pass, rank, input);
    Complete(pass, kernels, input, rank);
    rank.free = ends.kernels;
    rank.result = ends.result;
  }

  // A forward pass takes turns with a backward pass, and what the pair yields
  // is there when both are done. Neither is sooner than by itself, with the
  // calls for its weights and gradients.
  void StartPair(const Pass& a, const Pass& b, Rank& rank) {
    const Moment kernels = rank.free;
    // The host starts their units in turns: either may be the first.
    const Moment host = rank.host;
    const Moment input_a = InputOf(a, rank);
    const Ends ends_a = EndsOf(a, rank, input_a);
    const Moment started_a = rank.host;
    rank.host = host;
    const Moment input_b = InputOf(b, rank);
    const Moment ready_b = rank.host;
    const Ends ends_b = EndsOf(b, rank, input_b);
    rank.host = Latest(rank.host, started_a + (rank.host - ready_b));
    Complete(b, kernels, input_b, rank);
    const PairDelays& pair = times_.pairs[a.stage];
    const auto both = [&](double PassMoment::*end) {
      return Latest(kernels + pair.after_kernels.*end,
                    Latest(input_a + pair.after_first.*end,
                           input_b + pair.after_second.*end));
    };
    rank.free = Latest(Latest(both(&PassMoment::kernels), rank.host),
                       Latest(ends_a.kernels, ends_b.kernels));
    rank.result = Latest(Latest(rank.free, both(&PassMoment::result)),
                         Latest(ends_a.result, ends_b.result));
  }

  // Gradients that a pass completes go into the row of reductions.
  void Complete(const Pass& pass, Moment kernels, Moment input, Rank& rank) {
    if (!Completes(pass.pass)) return;
    const StageTimes& stage = TimesOf(pass);
    const bool whole = pass.pass == PipelinePass::kBackward;
    const RowDelays& row =
        pass.is_last
            ? (whole ? stage.reduce_last_backward
                     : stage.reduce_last_weight_gradient)
            : (whole ? stage.reduce_backward : stage.reduce_weight_gradient);
    if (row.after_row == 0) return;
    rank.reduced =
        Latest(rank.reduced + row.after_row,
               Latest(kernels + row.after_kernels, input + row.after_input));
  }

  // The result of a pass goes on.
  void End(const Pass& pass, Rank& rank) {
    if (pass.output != kNone) {
      Moment& arrival = arrivals_[pass.output];
      arrival = rank.result;
      if (pass.hop != kNone) {
        Moment& before = rank.transferred[pass.way];
        before =
            Latest(before, rank.result) + OfHops<Moment>(times_.hops[pass.hop]);
        arrival = before;
        if (times_.sends_are_waited_for) rank.sent = before;
      }
    }
  }

  const std::vector<Pass>& passes_;
  const PipelineTimes& times_;
  std::unique_ptr<Moment[]> arrivals_;
  std::vector<Rank> ranks_;
};

std::vector<RankEnd> PipelineClock::Run(
    const PipelineTimes& times,
    std::vector<std::vector<double>>* pass_ends) const {
  if (pass_ends != nullptr) {
    pass_ends->resize(ranks_);
    for (auto& ends : *pass_ends) ends.reserve(passes_.size() / ranks_);
  }
  Walk<double> walk(*this, times);
  std::vector<RankEnd> ends;
  ends.reserve(ranks_);
  for (const auto& rank : walk.Go([&](const Pass&pass, const auto&at) {
         if (pass_ends != nullptr) (*pass_ends)[pass.rank].push_back(at.free);
       })) {
    ends.push_back({rank.free, rank.reduced});
  }
  return ends;
}

PipelineEnds PipelineClock::RunBoth(const PipelineTimes& times) const {
  Walk<Both> walk(*this, times);
  PipelineEnds both;
  both.ends.reserve(ranks_);
  both.with_free_hops.reserve(ranks_);
  for (const auto& rank : walk.Go([](const Pass&, const auto&) {})) {
    both.ends.push_back({rank.free[0], rank.reduced[0]});
    both.with_free_hops.push_back({rank.free[1], rank.reduced[1]});
  }
  return both;
}

}  // namespace orrery
