#include "analytic/step/tape_writer.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "analytic/step/step_tape.h"
#include "analytic/step/unit_steps.h"
#include "base/check.h"
#include "workload/plan/host_time.h"
#include "workload/plan/memory.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

using What = TapeItem::What;

bool Releases(PipelinePass pass) {
  return pass == PipelinePass::kBackward ||
         pass == PipelinePass::kWeightGradient;
}

class TapeWriter {
 public:
  TapeWriter(const TapeQuestion& q, RankTapes& tapes)
      : q_(q),
        layout_(q.orders.layout),
        tapes_(tapes),
        out_(q.placement, q.prices, tapes) {
    const LayerShape shape = ShapeOf(q.plan);
    whole_ = StorageBytes(shape.activation, shape.tokens() * q.model.hidden());
    const bool shared = shape.sequence_parallel || q.plan.scatter_pipeline();
    tapes.transfer = shared ? whole_ / shape.tensor : whole_;
    NumberReceives();
  }

  // The tape of a pipeline rank, for ranks with these units.
  void Write(const PlanUnits& units, int rank) {
    units_ = &units;
    rank_ = rank;
    out_.Begin();
    bucket_ = {};
    postponed_.clear();
    const auto& order = q_.orders.of_rank[static_cast<size_t>(rank)];
    left_.assign(static_cast<size_t>(layout_.pieces()), 0);
    ran_forward_.assign(left_.size(), false);
    for (const PipelineAction& action : order) {
      if (Releases(action.pass)) ++left_[static_cast<size_t>(action.piece)];
    }
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t count = order[i].with_next ? 2 : 1;
      for (size_t k = 0; k < count; ++k) Pass(order[i + k]);
      for (size_t k = 0; k < count; ++k) EndPass(order[i + k]);
      i += count - 1;
    }
    Finish();
  }

 private:
  // The receives of each rank, in its order.
  void NumberReceives() {
    for (int rank = 0; rank < layout_.ranks(); ++rank) {
      int count = 0;
      for (const PipelineAction& action :
           q_.orders.of_rank[static_cast<size_t>(rank)]) {
        const auto from = SenderTo(rank, action);
        if (from) receives_[KeyOf(rank, action)] = count++;
      }
      tapes_.receives.push_back(count);
    }
  }
  // Stage, micro-batch and direction of what comes in.
  using ReceiveKey = std::tuple<int, int, int, bool>;
  ReceiveKey KeyOf(int rank, const PipelineAction& action) const {
    return {rank, layout_.StageOf(rank, action.piece), action.micro_batch,
            action.pass == PipelinePass::kForward};
  }
  int RankOf(int stage, int micro_batch) const {
    return layout_.PlaceOf(stage, q_.orders.IsSecondHalf(micro_batch)).rank;
  }
  // The rank that an action gets its input from, or sends its result to, if it
  // is another.
  std::optional<int> Neighbour(int rank, const PipelineAction& action,
                               int ahead) const {
    if (action.pass == PipelinePass::kWeightGradient) return std::nullopt;
    const bool forward = action.pass == PipelinePass::kForward;
    const int stage =
        layout_.StageOf(rank, action.piece) + (forward ? ahead : -ahead);
    if (stage < 0 || stage >= layout_.stages()) return std::nullopt;
    const int peer = RankOf(stage, action.micro_batch);
    if (peer == rank) return std::nullopt;
    return peer;
  }
  std::optional<int> SenderTo(int rank, const PipelineAction& action) const {
    return Neighbour(rank, action, -1);
  }

  bool sharded(Sharding from) const { return q_.plan.sharding() >= from; }

  // Of calls outside of layers: hosts compare them first.
  TapeCall Checked(TapeCall call) const {
    call.ahead_s = ToSeconds(
        CheckTime(q_.plan.framework(), q_.placement.Size(call.family)));
    return call;
  }

  void Gather(const RankParameters& parameters) {
    const int width = WeightBytes(q_.plan);
    const auto gather = [&](GroupFamily family, int64_t count) {
      if (count == 0) return;
      out_.AddCall(Checked({.family = family,
                            .kind = CommunicationKind::kAllGather,
                            .bytes = Bytes(count * width),
                            .gathers = true}));
    };
    gather(GroupFamily::kShard, parameters.dense);
    gather(GroupFamily::kExpertShard, parameters.experts);
  }

  // `after_work`: calls after the last work are not waited for.
  void Reduce(int64_t parameters, bool experts, bool across, bool after_work) {
    if (parameters == 0) return;
    const auto add = [&](GroupFamily family, CommunicationKind kind,
                         Bytes bytes) {
      out_.AddCall(Checked({.family = family, .kind = kind, .bytes = bytes}),
                   What::kReduce, after_work);
    };
    const Bytes bytes = StorageBytes(q_.plan.gradient_precision(), parameters);
    if (!sharded(Sharding::kOptimizer)) {
      add(experts ? GroupFamily::kExpertData : GroupFamily::kData,
          CommunicationKind::kAllReduce, bytes);
      return;
    }
    const auto shard =
        experts ? GroupFamily::kExpertShard : GroupFamily::kShard;
    add(shard, CommunicationKind::kReduceScatter, bytes);
    if (!across) return;
    add(experts ? GroupFamily::kExpertReplica : GroupFamily::kReplica,
        CommunicationKind::kAllReduce,
        Bytes(bytes.value() / q_.placement.Size(shard)));
  }
  void Reduce(const RankParameters& bucket, bool across, bool after_work) {
    Reduce(bucket.dense, false, across, after_work);
    Reduce(bucket.experts, true, across, after_work);
  }

  void Pass(const PipelineAction& action) {
    const bool forward = action.pass == PipelinePass::kForward;
    const auto piece = static_cast<size_t>(action.piece);
    const bool receives = SenderTo(rank_, action).has_value();
    if (receives) {
      out_.Add({.what = What::kReceive,
                .index = receives_.at(KeyOf(rank_, action))});
      if (q_.plan.scatter_pipeline()) {
        out_.AddCall({.family = GroupFamily::kTensor,
                      .kind = CommunicationKind::kAllGather,
                      .bytes = whole_});
      }
    }
    if (!q_.plan.overlap_pipeline()) out_.Add({.what = What::kAwaitSends});
    const auto of_stage =
        units_->of_stage(layout_.StageOf(rank_, action.piece));
    std::vector<int> units(of_stage.begin(), of_stage.end());
    if (!forward) std::reverse(units.begin(), units.end());
    host_waits_ = receives && q_.plan.framework().host_waits_for_receive;
    for (const int id : units) {
      Unit(id, action.pass, forward && !ran_forward_[piece], left_[piece] == 1);
    }
  }

  // `first`: of the forward passes of its piece; `last`: of those that complete
  // gradients.
  void Unit(int id, PipelinePass pass, bool first, bool last) {
    const LayerOps& ops = *(*units_)[id].ops;
    const std::vector<LayerStep> again = (*units_)[id].recomputes
                                             ? RecomputedSteps(ops, q_.plan)
                                             : std::vector<LayerStep>();
    const std::vector<const LayerStep*> steps = StepsOf(ops, again, pass);
    if (steps.empty()) return;
    const RankParameters& parameters = (*units_)[id].parameters;
    if (pass != PipelinePass::kWeightGradient) {
      if (q_.plan.reduces_every_micro_batch()) {
        out_.Add({.what = What::kAwaitReductions});
      }
      if (sharded(Sharding::kWeights) &&
          (q_.plan.reshards_after_forward() || first)) {
        Gather(parameters);
      }
    }
    const Framework& framework = q_.plan.framework();
    const double launches = ToSeconds(LaunchTime(ops, again, pass, q_.plan));
    if (framework.blocking_launches) {
      out_.Add({.what = What::kHost, .flag = true, .seconds = launches});
    }
    const bool has_host = framework.dispatch && !framework.blocking_launches;
    const auto last_work = std::find_if(
        steps.rbegin(), steps.rend(),
        [](const LayerStep* step) { return step->op() != nullptr; });
    const bool works = last_work != steps.rend();
    for (const LayerStep* step : steps) {
      if (has_host && works && step == *last_work) StartByHost(launches);
      out_.AddStep(*step);
    }
    if (works && Releases(pass)) GradientReady(parameters, last);
  }

  // Before the last work of a unit: by then the host has started it all.
  void StartByHost(double seconds) {
    if (std::exchange(host_waits_, false)) {
      out_.Add({.what = What::kHostReceives});
    }
    out_.Add({.what = What::kHost, .seconds = seconds});
  }

  void GradientReady(const RankParameters& parameters, bool last) {
    const bool every = q_.plan.reduces_every_micro_batch();
    if (parameters.total() == 0 || (!every && !last)) return;
    bucket_ += parameters;
    const Bytes full =
        StorageBytes(q_.plan.gradient_precision(), bucket_.total());
    if (full < q_.plan.bucket() && !sharded(Sharding::kWeights)) return;
    const RankParameters bucket = std::exchange(bucket_, {});
    if (every) {
      Reduce(bucket, last, /*after_work=*/false);
    } else {
      postponed_.push_back(bucket);
    }
  }

  void EndPass(const PipelineAction& action) {
    const auto piece = static_cast<size_t>(action.piece);
    const bool forward = action.pass == PipelinePass::kForward;
    if (forward) ran_forward_[piece] = true;
    if (const auto peer = Neighbour(rank_, action, 1)) {
      const int stage =
          layout_.StageOf(rank_, action.piece) + (forward ? 1 : -1);
      const int arm = layout_.arms() == 2 ? action.piece : 0;
      out_.Add(
          {.what = What::kSend,
           .way = static_cast<uint8_t>(2 * arm + (forward ? 1 : 0)),
           .index = receives_.at({*peer, stage, action.micro_batch, forward}),
           .peer = *peer});
    }
    if (!Releases(action.pass)) return;
    --left_[piece];
    if (q_.plan.reduces_every_micro_batch()) {
      Reduce(std::exchange(bucket_, {}), left_[piece] == 0,
             /*after_work=*/false);
    }
  }

  void Finish() {
    if (bucket_.total() > 0) postponed_.push_back(bucket_);
    for (const RankParameters& bucket : postponed_) {
      Reduce(bucket, /*across=*/true, /*after_work=*/true);
    }
    RankParameters held;
    bool ties = false;
    for (int piece = 0; piece < layout_.pieces(); ++piece) {
      const int stage = layout_.StageOf(rank_, piece);
      for (const int id : units_->of_stage(stage)) {
        held += (*units_)[id].parameters;
      }
      ties |= units_->ties_stages() &&
              (stage == 0 || stage == layout_.stages() - 1);
    }
    if (ties) {
      const int64_t count = EmbeddingParametersOf(q_.model, q_.plan.degrees());
      out_.AddCall(
          Checked({.family = GroupFamily::kEmbedding,
                   .kind = CommunicationKind::kAllReduce,
                   .bytes = StorageBytes(q_.plan.gradient_precision(), count)}),
          What::kReduce, /*flag=*/true);
    }
    out_.Add({.what = What::kForgetCalls});
    out_.Add({.what = What::kAwaitReductions});
    const DataTimes& data = q_.data[static_cast<size_t>(rank_)];
    out_.AddWork(data.own_norm_s);
    for (const auto family : {GroupFamily::kTensor, GroupFamily::kModel}) {
      out_.AddCall(Checked({.family = family,
                            .kind = CommunicationKind::kAllReduce,
                            .bytes = Bytes(4)}));
    }
    out_.AddWork(data.update_s);
    if (sharded(Sharding::kOptimizer) && !sharded(Sharding::kWeights)) {
      Gather(held);
    }
  }

  const TapeQuestion& q_;
  const StageLayout& layout_;
  RankTapes& tapes_;
  const PlanUnits* units_ = nullptr;  // of the class that is written
  Bytes whole_;
  std::map<ReceiveKey, int> receives_;
  // Of the rank that is written.
  int rank_ = 0;
  StepTape out_;
  RankParameters bucket_;
  std::vector<RankParameters> postponed_;
  std::vector<int> left_;  // passes that complete gradients, by piece
  std::vector<bool> ran_forward_;
  bool host_waits_ = false;
};

}  // namespace

RankTapes WriteTapes(const TapeQuestion& question) {
  RankTapes tapes;
  TapeWriter writer(question, tapes);
  for (const PlanUnits* units : question.units) {
    for (int rank = 0; rank < question.orders.layout.ranks(); ++rank) {
      writer.Write(*units, rank);
    }
  }
  return tapes;
}

}  // namespace orrery
