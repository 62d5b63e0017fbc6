#include "analytic/step/rank_kinds.h"

#include <algorithm>

namespace orrery {
namespace {

// Where a backward pass is one pass there is one wait: the host's time by
// where the chip's goes.
void LaunchTogether(const StageLayout& layout, UnitEstimate& sum) {
  if (layout.splits_gradients()) return;
  PassEstimate& inputs = sum.input_gradient;
  PassEstimate& weights = sum.weight_gradient;
  const double host = inputs.launching + weights.launching;
  const double of_inputs = inputs.kernels + inputs.communication();
  const double of_weights = weights.kernels + weights.communication();
  if (host <= 0 || of_inputs + of_weights <= 0) return;
  inputs.launching = host * of_inputs / (of_inputs + of_weights);
  weights.launching = host - inputs.launching;
}

StageTimes TimesOf(const UnitEstimate& work) {
  return {.forward = work.forward.total(),
          .input_gradient = work.input_gradient.total(),
          .weight_gradient = work.weight_gradient.total()};
}

// While weights are gathered and gradients reduced the host goes on: what of
// its time is over by then. Takes it from the times.
double StartMeanwhile(const UnitEstimate& work, StageTimes& times) {
  double sum = 0;
  const auto take = [&](double& time, const PassEstimate& pass,
                        double meanwhile) {
    const double over = std::clamp(meanwhile, 0.0, pass.host());
    time -= over;
    sum += over;
    return over;
  };
  take(times.forward, work.forward, times.forward - work.forward.total());
  const double meanwhile =
      times.input_gradient - work.input_gradient.total() + times.reduce_within;
  const double over =
      take(times.input_gradient, work.input_gradient, meanwhile);
  take(times.weight_gradient, work.weight_gradient, meanwhile - over);
  return sum;
}

class KindFinder {
 public:
  explicit KindFinder(const RankQuestion& question)
      : q_(question), layout_(question.plan.layout().stages) {}

  double rounds() const { return rounds_; }
  // Whether two ranks have the same units and groups alike.
  bool DoTheSame(int a, int b) const {
    if (q_.spans.any_differ() || SharesTie(a) != SharesTie(b) ||
        q_.slow.SlowdownOf(a) != q_.slow.SlowdownOf(b) ||
        q_.pipeline.Completion(a) != q_.pipeline.Completion(b)) {
      return false;
    }
    for (int piece = 0; piece < layout_.pieces(); ++piece) {
      if (q_.units.FirstLike(layout_.StageOf(a, piece)) !=
          q_.units.FirstLike(layout_.StageOf(b, piece))) {
        return false;
      }
    }
    return true;
  }

  RankKind KindOf(int rank, std::vector<StageTimes>& stages) {
    const double of_all = q_.prices.slowness();
    q_.prices.SetSlowness(of_all * q_.slow.SlowdownOf(rank));
    const UnitEstimate work = WorkOfRank(layout_, UnitsOf(rank), rank);
    RankKind kind{rank, work, QuestionOf(rank, work), {}};
    kind.data = EstimateData(kind.question);
    for (int piece = 0; piece < layout_.pieces(); ++piece) {
      StageTimes& stage =
          stages[static_cast<size_t>(layout_.StageOf(rank, piece))];
      const UnitEstimate of_piece =
          layout_.pieces() == 1 ? work : WorkOfPiece(rank, piece);
      stage = TimesOf(of_piece);
      AddSharding(kind.question, q_.pipeline.PlaceOf(rank, piece), stage);
      kind.started += rounds_ * StartMeanwhile(of_piece, stage);
    }
    q_.prices.SetSlowness(of_all);
    return kind;
  }

 private:
  const PlanUnits& UnitsOf(int rank) const {
    return q_.slow.UnitsOf(rank, q_.units);
  }

  DataQuestion QuestionOf(int rank, const UnitEstimate& work) const {
    const double m = q_.plan.micro_batches();
    return {.model = q_.model,
            .plan = q_.plan,
            .placement = q_.placement,
            .spans = q_.spans,
            .pipeline_rank = rank,
            .prices = q_.prices,
            .pieces = ParametersInBackwardOrder(rank),
            .rounds = rounds_,
            .step_backward_s = m * work.backward(),
            .last_backward_s = work.backward(),
            .step_forward_s = m * work.forward.total(),
            .overlap = q_.overlap,
            .shares_tie = SharesTie(rank)};
  }

  // One micro-batch in one piece of a rank.
  UnitEstimate WorkOfPiece(int rank, int piece) const {
    UnitEstimate sum;
    for (const int unit : q_.units.of_stage(layout_.StageOf(rank, piece))) {
      sum += UnitsOf(rank)[unit].time;
    }
    LaunchTogether(layout_, sum);
    return sum;
  }

  std::vector<std::vector<UnitParameters>> ParametersInBackwardOrder(
      int rank) const {
    std::vector<std::vector<UnitParameters>> pieces;
    for (const int piece : q_.pipeline.Completion(rank)) {
      const absl::Span<const int> units =
          q_.units.of_stage(layout_.StageOf(rank, piece));
      std::vector<UnitParameters>& parameters = pieces.emplace_back();
      parameters.reserve(units.size());
      for (auto it = units.rbegin(); it != units.rend(); ++it) {
        const UnitEstimate& time = UnitsOf(rank)[*it].time;
        const PassEstimate& inputs = time.input_gradient;
        parameters.push_back({q_.units[*it].parameters,
                              inputs.kernels + inputs.communication() > 0,
                              time.weight_gradient.total()});
      }
    }
    return pieces;
  }

  bool SharesTie(int rank) const {
    if (!q_.units.ties_stages()) return false;
    for (int piece = 0; piece < layout_.pieces(); ++piece) {
      const int stage = layout_.StageOf(rank, piece);
      if (stage == 0 || stage == layout_.stages() - 1) return true;
    }
    return false;
  }

  const RankQuestion& q_;
  const StageLayout& layout_;
  const double rounds_ = layout_.bidirectional() ? q_.plan.micro_batches() / 2.0
                                                 : q_.plan.micro_batches();
};

}  // namespace

UnitEstimate WorkOfRank(const StageLayout& layout, const PlanUnits& units,
                        int rank) {
  UnitEstimate sum;
  for (int piece = 0; piece < layout.pieces(); ++piece) {
    for (const int unit : units.of_stage(layout.StageOf(rank, piece))) {
      sum += units[unit].time;
    }
  }
  LaunchTogether(layout, sum);
  if (!layout.bidirectional()) return sum;
  const auto halve = [](PassEstimate& pass) {
    pass.kernels /= 2;
    pass.launching /= 2;
    for (double& exposed : pass.exposed) exposed /= 2;
  };
  halve(sum.forward);
  halve(sum.input_gradient);
  halve(sum.weight_gradient);
  sum.recomputed = sum.recomputed / 2;
  return sum;
}

RankKinds::RankKinds(const RankQuestion& question)
    : layout_(question.plan.layout().stages),
      stages_(static_cast<size_t>(layout_.stages())) {
  KindFinder finder(question);
  rounds_ = finder.rounds();
  of_rank_.reserve(static_cast<size_t>(layout_.ranks()));
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    // Most often of the same kind as the rank before.
    auto kind = static_cast<int>(kinds_.size()) - 1;
    while (kind >= 0 &&
           !finder.DoTheSame(kinds_[static_cast<size_t>(kind)].first, rank)) {
      --kind;
    }
    if (kind < 0) {
      kind = static_cast<int>(kinds_.size());
      kinds_.push_back(finder.KindOf(rank, stages_));
    }
    of_rank_.push_back(kind);
    const int first = kinds_[static_cast<size_t>(kind)].first;
    for (int piece = 0; piece < layout_.pieces(); ++piece) {
      stages_[static_cast<size_t>(layout_.StageOf(rank, piece))] =
          stages_[static_cast<size_t>(layout_.StageOf(first, piece))];
    }
  }
}

double RankKinds::AmongPasses(int rank) const {
  double sum = 0;
  for (int piece = 0; piece < layout_.pieces(); ++piece) {
    const StageTimes& times =
        stages_[static_cast<size_t>(layout_.StageOf(rank, piece))];
    sum += rounds_ *
               (times.forward + times.input_gradient + times.weight_gradient +
                times.reduce_within + times.reduce_after) +
           times.first_forward + times.last_within + times.last_after;
  }
  return sum;
}

}  // namespace orrery
