#include "analytic/step/rank_kinds.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analytic/step/pass_walk.h"
#include "analytic/step/stage_passes.h"

namespace orrery {
namespace {

// Seconds from the kernels before a micro-batch to those after it.
double ThroughKernels(const StageLayout& layout, const PassSet& passes) {
  const double forward = passes.forward.after_kernels.kernels;
  if (!layout.splits_gradients()) {
    return forward + passes.backward.after_kernels.kernels;
  }
  return forward + passes.input_gradient.after_kernels.kernels +
         passes.weight_gradient.after_kernels.kernels;
}
PassSet PassesOf(const StageTimes& times) {
  return {.forward = times.forward,
          .input_gradient = times.input_gradient,
          .weight_gradient = times.weight_gradient,
          .backward = times.backward};
}

class KindFinder {
 public:
  explicit KindFinder(const RankQuestion& question)
      : q_(question), layout_(question.plan.layout().stages) {}

  // Whether two ranks have the same units and groups alike.
  bool DoTheSame(int a, int b) const {
    if (q_.spans.any_differ() || SharesTie(a) != SharesTie(b) ||
        q_.slow.SlowdownOf(a) != q_.slow.SlowdownOf(b) ||
        &UnitsOf(a) != &UnitsOf(b) ||
        q_.pipeline.Completion(a) != q_.pipeline.Completion(b) ||
        q_.pipeline.Beginning(a) != q_.pipeline.Beginning(b)) {
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

  // A forward pass of a stage and a backward pass of the other one of its rank.
  PairDelays PairOf(int stage, bool least) const {
    const int rank = layout_.PlaceOf(stage, /*second_half=*/false).rank;
    const PlanUnits& units = UnitsOf(rank);
    std::vector<const PassTasks*> forward, backward;
    for (const int id : q_.units.of_stage(stage)) {
      forward.push_back(&units[id].turns->forward);
    }
    const absl::Span<const int> others =
        q_.units.of_stage(layout_.StageOf(rank, 1));
    for (auto id = others.rbegin(); id != others.rend(); ++id) {
      backward.push_back(&units[*id].turns->backward);
    }
    return WalkPair(forward, backward, least);
  }

  // Seconds of the step in which kernels of a rank wait for calls of its
  // layers, all of whose passes take turns.
  double ExposedOfPairs(int rank, absl::Span<const PairDelays> pairs) const {
    const PlanUnits& units = UnitsOf(rank);
    double kernels = 0;
    double together = 0;
    for (int piece = 0; piece < layout_.pieces(); ++piece) {
      const int stage = layout_.StageOf(rank, piece);
      together += pairs[static_cast<size_t>(stage)].after_kernels.kernels;
      for (const int id : q_.units.of_stage(stage)) {
        kernels += units[id].time.kernels();
      }
    }
    return rounds_ * std::max(0.0, together - kernels);
  }

  // Adds the times of its stages to `stages` and `least`.
  RankKind KindOf(int rank, StageKinds& stages, StageKinds& least) {
    const double of_all = q_.prices.slowness();
    q_.prices.SetSlowness(of_all * q_.slow.SlowdownOf(rank));
    RankKind kind{rank, WorkOfRank(layout_, UnitsOf(rank), rank),
                  QuestionOf(rank)};
    kind.data = EstimateData(kind.question);
    kind.least_data = EstimateData(kind.question, /*least=*/true);
    const std::vector<PieceTraffic> traffic = TrafficOf(kind.question);
    const std::vector<PieceTraffic> least_traffic =
        TrafficOf(kind.question, /*least=*/true);
    double gathered = 0;
    double least_gathered = 0;
    for (const int piece : q_.pipeline.Beginning(rank)) {
      const auto place = static_cast<size_t>(q_.pipeline.PlaceOf(rank, piece));
      const int stage = layout_.StageOf(rank, piece);
      AddStage(rank, piece,
               {.data = kind.question,
                .traffic = traffic[place],
                .gathered_before = gathered},
               stages, &kind);
      AddStage(rank, piece,
               {.data = kind.question,
                .traffic = least_traffic[place],
                .gathered_before = least_gathered,
                .least = true},
               least, nullptr);
      gathered += GathersOf(traffic[place]);
      least_gathered += GathersOf(least_traffic[place]);
      const auto number = static_cast<uint16_t>(stages.kinds.size() - 1);
      stages.of_stage[static_cast<size_t>(stage)] = number;
      least.of_stage[static_cast<size_t>(stage)] = number;
    }
    q_.prices.SetSlowness(of_all);
    return kind;
  }

 private:
  const PlanUnits& UnitsOf(int rank) const {
    return q_.slow.UnitsOf(rank, q_.units);
  }

  DataQuestion QuestionOf(int rank) const {
    return {.model = q_.model,
            .plan = q_.plan,
            .placement = q_.placement,
            .spans = q_.spans,
            .pipeline_rank = rank,
            .prices = q_.prices,
            .pieces = ParametersInBackwardOrder(rank),
            .overlap = q_.overlap,
            .shares_tie = SharesTie(rank)};
  }

  static double GathersOf(const PieceTraffic& traffic) {
    double sum = 0;
    for (const UnitTraffic& unit : traffic.units) sum += unit.gather.seconds;
    return sum;
  }

  // `kind`, if given, is told what its kernels wait for.
  void AddStage(int rank, int piece, StageQuestion question, StageKinds& stages,
                RankKind* kind) const {
    const PlanUnits& units = UnitsOf(rank);
    const int stage = layout_.StageOf(rank, piece);
    std::vector<const PassSet*> passes;
    UnitEstimate work;
    PassSet plain;
    for (const int id : q_.units.of_stage(stage)) {
      const PlanUnits::Unit& unit = units[id];
      passes.push_back(question.least ? &unit.least : &unit.passes);
      work += unit.time;
    }
    question.units = passes;
    StageTimes& times = stages.kinds.emplace_back(ComposeStage(question));
    AddLaunches(units, q_.units.of_stage(stage), question.least, times);
    if (kind == nullptr) return;
    const size_t count = passes.size();
    for (size_t i = 0; i < count; ++i) {
      const PassSet& up = *passes[i];
      const PassSet& down = *passes[count - 1 - i];
      plain.forward = plain.forward.Then(up.forward);
      plain.input_gradient = plain.input_gradient.Then(down.input_gradient);
      plain.weight_gradient = plain.weight_gradient.Then(down.weight_gradient);
      plain.backward = plain.backward.Then(down.backward);
    }
    const double kernels = work.kernels();
    const double alone = ThroughKernels(layout_, plain);
    const double together = ThroughKernels(layout_, PassesOf(times));
    kind->exposed += rounds_ * std::max(0.0, alone - kernels);
    kind->waits_for_data += rounds_ * std::max(0.0, together - alone) +
                            times.first_forward.after_kernels.kernels -
                            times.forward.after_kernels.kernels;
  }

  // What the host starts in each pass.
  void AddLaunches(const PlanUnits& units, absl::Span<const int> ids,
                   bool least, StageTimes& times) const {
    if (!q_.plan.framework().dispatch ||
        q_.plan.framework().blocking_launches) {
      return;
    }
    const auto add = [&](PassDelays PassSet::*pass, PassMoment LaunchTails::*of,
                         auto launching, int id, LaunchTimes& launch) {
      const PlanUnits::Unit& unit = units[id];
      const PassDelays& delays = (least ? unit.least : unit.passes).*pass;
      if (delays.empty()) return;
      const PassMoment& tail = (least ? unit.least_tails : unit.tails).*of;
      PassMoment& end = launch.after_host;
      end = delays.After(end);
      // Calls are not started one by one.
      if (tail.kernels == PassDelays::kNever) return;
      launch.all += launching(unit.time);
      end.kernels = std::max(end.kernels, launch.all + tail.kernels);
      end.result = std::max(end.result, launch.all + tail.result);
    };
    const auto forward = [](const UnitEstimate& time) {
      return time.forward.launching;
    };
    const auto inputs = [](const UnitEstimate& time) {
      return time.input_gradient.launching;
    };
    const auto weights = [](const UnitEstimate& time) {
      return time.weight_gradient.launching;
    };
    const auto both = [&](const UnitEstimate& time) {
      return inputs(time) + weights(time);
    };
    for (size_t i = 0; i < ids.size(); ++i) {
      const int up = ids[i];
      const int down = ids[ids.size() - 1 - i];
      add(&PassSet::forward, &LaunchTails::forward, forward, up,
          times.forward_launch);
      add(&PassSet::input_gradient, &LaunchTails::input_gradient, inputs, down,
          times.input_gradient_launch);
      add(&PassSet::weight_gradient, &LaunchTails::weight_gradient, weights,
          down, times.weight_gradient_launch);
      add(&PassSet::backward, &LaunchTails::backward, both, down,
          times.backward_launch);
    }
  }

  std::vector<std::vector<RankParameters>> ParametersInBackwardOrder(
      int rank) const {
    std::vector<std::vector<RankParameters>> pieces;
    for (const int piece : q_.pipeline.Completion(rank)) {
      const absl::Span<const int> units =
          q_.units.of_stage(layout_.StageOf(rank, piece));
      std::vector<RankParameters>& parameters = pieces.emplace_back();
      parameters.reserve(units.size());
      for (auto it = units.rbegin(); it != units.rend(); ++it) {
        parameters.push_back(q_.units[*it].parameters);
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

RankKinds::RankKinds(const RankQuestion& question) {
  const StageLayout& layout = question.plan.layout().stages;
  KindFinder finder(question);
  stages_.of_stage.resize(static_cast<size_t>(layout.stages()));
  least_stages_.of_stage = stages_.of_stage;
  of_rank_.reserve(static_cast<size_t>(layout.ranks()));
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    // Most often of the same kind as the rank before.
    auto kind = static_cast<int>(kinds_.size()) - 1;
    while (kind >= 0 &&
           !finder.DoTheSame(kinds_[static_cast<size_t>(kind)].first, rank)) {
      --kind;
    }
    if (kind < 0) {
      kind = static_cast<int>(kinds_.size());
      kinds_.push_back(finder.KindOf(rank, stages_, least_stages_));
    }
    of_rank_.push_back(kind);
    const int first = kinds_[static_cast<size_t>(kind)].first;
    for (int piece = 0; piece < layout.pieces(); ++piece) {
      const auto to = static_cast<size_t>(layout.StageOf(rank, piece));
      const auto from = static_cast<size_t>(layout.StageOf(first, piece));
      stages_.of_stage[to] = stages_.of_stage[from];
      least_stages_.of_stage[to] = least_stages_.of_stage[from];
    }
  }
  if (!layout.bidirectional() || !question.pairs_hide) return;
  for (StageKinds* of : {&stages_, &least_stages_}) {
    // Pairs of the same kinds are alike.
    std::map<std::pair<int, int>, PairDelays> known;
    for (int stage = 0; stage < layout.stages(); ++stage) {
      const int rank = layout.PlaceOf(stage, /*second_half=*/false).rank;
      const int other = layout.StageOf(rank, 1);
      const auto kind = [&](int at) {
        return of->of_stage[static_cast<size_t>(at)];
      };
      const auto [found, added] = known.try_emplace({kind(stage), kind(other)});
      if (added) found->second = finder.PairOf(stage, of == &least_stages_);
      of->pairs.push_back(found->second);
    }
  }
  for (RankKind& kind : kinds_) {
    kind.exposed = finder.ExposedOfPairs(kind.first, stages_.pairs);
  }
}

}  // namespace orrery
