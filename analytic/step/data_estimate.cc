#include "analytic/step/data_estimate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "workload/model/optimizer_ops.h"
#include "workload/plan/host_time.h"
#include "workload/plan/memory.h"

namespace orrery {

namespace {

class DataEstimate {
 public:
  explicit DataEstimate(const DataQuestion& q) : q_(q) {}

  DataTimes Estimate() {
    DataTimes out;
    AddOptimizer(out);
    const Moved reduced = Reduction();
    const Moved gathered = Gathering();
    out.reduction_s = reduced.left_s;
    out.gathering_s = gathered.left_s;
    // Both take the same links: what a backward pass hides of the one it does
    // not hide of the other.
    if (gathered.beside_passes_s > 0) {
      const double together = reduced.beside_passes_s +
                              gathered.beside_passes_s - q_.step_forward_s -
                              q_.step_backward_s;
      out.gathering_s = std::max(out.gathering_s, together - out.reduction_s);
    }
    AddEnds(out);
    return out;
  }

  std::vector<std::optional<double>> BucketsOf(
      const std::vector<UnitParameters>& piece) const {
    std::vector<std::optional<double>> times(piece.size());
    RankParameters open;
    VisitBuckets(piece, open, [&](const RankParameters& bucket, size_t unit) {
      times[unit] = Reduce(bucket).shard;
    });
    return times;
  }

  std::vector<double> GathersOf(
      const std::vector<UnitParameters>& piece) const {
    std::vector<double> times(piece.size());
    if (!sharded(Sharding::kWeights) || gathers_ahead_backward() ||
        !q_.plan.reshards_after_forward() ||
        q_.plan.layout().stages.splits_gradients()) {
      return times;
    }
    for (size_t i = 0; i < piece.size(); ++i) {
      times[i] = GatherTime(piece[i].parameters);
    }
    return times;
  }

  void AddPasses(const std::vector<UnitParameters>& piece,
                 StageTimes& times) const {
    if (reduces_in_passes()) AddReductions(piece, times);
    if (!sharded(Sharding::kWeights) || gathers_ahead_backward()) return;
    const bool again = q_.plan.reshards_after_forward();
    const bool waits_forward = !gathers_ahead();
    for (const UnitParameters& unit : piece) {
      const double time = GatherTime(unit.parameters);
      if (!again) {
        if (waits_forward) times.first_forward += time;
        continue;
      }
      if (waits_forward) times.forward += time;
      if (unit.in_input_gradient ||
          !q_.plan.layout().stages.splits_gradients()) {
        times.input_gradient += time;
      }
    }
  }

 private:
  bool sharded(Sharding from) const { return q_.plan.sharding() >= from; }
  bool gathers_ahead() const {
    return q_.overlap && q_.plan.overlap_parameter_gather();
  }
  bool gathers_ahead_backward() const {
    return q_.overlap && q_.plan.overlap_backward_gather();
  }
  bool reduces_in_passes() const {
    return q_.plan.reduces_every_micro_batch() &&
           !(q_.overlap && q_.plan.overlap_gradient_reduction());
  }
  double Time(GroupFamily family, CommunicationKind kind, Bytes bytes) const {
    return q_.prices.Call(kind, std::max(Bytes(1), bytes),
                          q_.spans.of(family, q_.pipeline_rank)) +
           ToSeconds(CheckTime(q_.plan.framework(), q_.placement.Size(family)));
  }

  // Within the ranks that share one copy of the state, and between copies.
  struct ReductionTime {
    double shard = 0;
    double across = 0;
    double total() const { return shard + across; }
    void operator+=(const ReductionTime& other) {
      shard += other.shard;
      across += other.across;
    }
  };

  ReductionTime Reduce(int64_t parameters, bool experts) const {
    if (parameters == 0) return {};
    const Bytes bytes = StorageBytes(q_.plan.gradient_precision(), parameters);
    if (!sharded(Sharding::kOptimizer)) {
      return {.shard =
                  Time(experts ? GroupFamily::kExpertData : GroupFamily::kData,
                       CommunicationKind::kAllReduce, bytes)};
    }
    const auto shard =
        experts ? GroupFamily::kExpertShard : GroupFamily::kShard;
    const auto replica =
        experts ? GroupFamily::kExpertReplica : GroupFamily::kReplica;
    return {.shard = Time(shard, CommunicationKind::kReduceScatter, bytes),
            .across = Time(replica, CommunicationKind::kAllReduce,
                           Bytes(bytes.value() / q_.placement.Size(shard)))};
  }

  // The buckets of a piece, one by one, in the order in which they fill.
  template <class Visit>
  void VisitBuckets(const std::vector<UnitParameters>& piece,
                    RankParameters& bucket, Visit visit) const {
    for (size_t i = 0; i < piece.size(); ++i) {
      bucket += piece[i].parameters;
      const Bytes full =
          StorageBytes(q_.plan.gradient_precision(), bucket.total());
      if (full < q_.plan.bucket() && !sharded(Sharding::kWeights)) continue;
      if (bucket.total() > 0) visit(bucket, i);
      bucket = {};
    }
  }
  ReductionTime Reduce(const RankParameters& bucket) const {
    if (known_reduction_ && known_reduction_->first == bucket) {
      return known_reduction_->second;
    }
    ReductionTime time = Reduce(bucket.dense, false);
    time += Reduce(bucket.experts, true);
    known_reduction_ = {bucket, time};
    return time;
  }

  // After every micro-batch no bucket stays open; copies of the state add
  // their sums up once.
  void AddReductions(const std::vector<UnitParameters>& piece,
                     StageTimes& times) const {
    RankParameters open;
    double passed = 0;
    size_t units = 0;
    const auto add = [&](const RankParameters& bucket, size_t unit) {
      const ReductionTime time = Reduce(bucket);
      const bool after = unit + 1 >= piece.size();
      (after ? times.reduce_after : times.reduce_within) += time.shard;
      (after ? times.last_after : times.last_within) += time.across;
      for (; units < piece.size() && units <= unit; ++units) {
        passed += piece[units].weight_gradient_s;
      }
      times.reduce_beside = std::max(times.reduce_beside, passed) + time.shard;
      times.last_beside = std::max(times.last_beside, passed) + time.total();
    };
    VisitBuckets(piece, open, add);
    if (open.total() > 0) add(open, piece.size());
  }

  struct Moved {
    double left_s = 0;  // of it after the passes
    // All of it, if it goes beside the passes of every micro-batch, backward
    // ones among them.
    double beside_passes_s = 0;
  };

  Moved Reduction() const {
    if (reduces_in_passes()) return {};
    const bool every = q_.plan.reduces_every_micro_batch();
    ReductionTime all, last;
    RankParameters open;
    const auto add = [&](const RankParameters& bucket) {
      if (bucket.total() == 0) return;
      last = Reduce(bucket);
      all += last;
    };
    for (const std::vector<UnitParameters>& piece : q_.pieces) {
      VisitBuckets(piece, open,
                   [&](const RankParameters& bucket, size_t) { add(bucket); });
      if (every) add(std::exchange(open, {}));
    }
    add(open);
    const double times = every ? q_.rounds : 1;
    const double whole = all.shard * times + all.across;
    if (!q_.overlap || !q_.plan.overlap_gradient_reduction()) return {whole};
    const double behind = every ? q_.step_backward_s : q_.last_backward_s;
    return {std::max(last.total(), whole - behind), every ? whole : 0};
  }

  double GatherTime(const RankParameters& unit) const {
    if (known_gather_ && known_gather_->first == unit) {
      return known_gather_->second;
    }
    const int width = WeightBytes(q_.plan);
    double time = 0;
    if (unit.dense > 0) {
      time += Time(GroupFamily::kShard, CommunicationKind::kAllGather,
                   Bytes(unit.dense * width));
    }
    if (unit.experts > 0) {
      time += Time(GroupFamily::kExpertShard, CommunicationKind::kAllGather,
                   Bytes(unit.experts * width));
    }
    known_gather_ = {unit, time};
    return time;
  }

  Moved Gathering() const {
    if (!sharded(Sharding::kOptimizer)) return {};
    RankParameters held;
    double units = 0;
    double first = 0;
    for (const std::vector<UnitParameters>& piece : q_.pieces) {
      for (const UnitParameters& unit : piece) {
        held += unit.parameters;
        first = GatherTime(unit.parameters);
        units += first;
      }
    }
    if (sharded(Sharding::kWeights)) {
      if (!gathers_ahead()) return {};  // among the passes
      const bool again = q_.plan.reshards_after_forward();
      // Behind what they are gathered; the others are among the passes.
      double all = again ? units * q_.rounds : units;
      double behind = q_.step_forward_s;
      const bool backward_too = again && gathers_ahead_backward();
      if (backward_too) {
        all += units * q_.rounds;
        behind += q_.step_backward_s;
      }
      return {std::max(first, all - behind), backward_too ? all : 0};
    }
    if (!gathers_ahead()) return {GatherTime(held)};
    return {std::max(first, units - q_.step_forward_s)};
  }

  // The tied embedding and the norm of the whole model's gradient.
  void AddEnds(DataTimes& out) const {
    out.norm_s =
        Time(GroupFamily::kTensor, CommunicationKind::kAllReduce, Bytes(4)) +
        Time(GroupFamily::kModel, CommunicationKind::kAllReduce, Bytes(4));
    if (!q_.shares_tie) return;
    const int64_t count = EmbeddingParametersOf(q_.model, q_.plan.degrees());
    out.tie_s = Time(GroupFamily::kEmbedding, CommunicationKind::kAllReduce,
                     StorageBytes(q_.plan.gradient_precision(), count));
  }

  void AddOptimizer(DataTimes& out) const {
    RankParameters held;
    for (const std::vector<UnitParameters>& piece : q_.pieces) {
      for (const UnitParameters& unit : piece) held += unit.parameters;
    }
    const auto share = [](int64_t count, int ranks) {
      return (count + ranks - 1) / ranks;
    };
    const int64_t own =
        sharded(Sharding::kOptimizer)
            ? share(held.dense, q_.placement.Size(GroupFamily::kShard)) +
                  share(held.experts,
                        q_.placement.Size(GroupFamily::kExpertShard))
            : held.total();
    const bool wide = WeightBytes(q_.plan) == 4;
    bool normed = false;
    for (const Op& op : OptimizerOps({.parameters = own,
                        .gradients = own,
                        .weight = wide ? DType::kFp32 : DType::kBf16,
                        .gradient = q_.plan.gradient_precision(),
                        .moments = q_.plan.moment_precision(),
                        .master_weights = !wide,
                        .fused_clip = false,
                        .loss_scaling = q_.plan.precision() == DType::kFp16,
                        .narrow_copy = Bits(q_.plan.precision()) < 16,
                        .separate = q_.plan.framework().separate_optimizer})) {
      (normed ? out.update_s : out.own_norm_s) +=
          q_.prices.KernelOnce(op).seconds;
      normed |= op.name == OpName::kGradientNorm;
    }
  }

  const DataQuestion& q_;
  // Of what was asked for last: layers follow layers of the same kind.
  mutable std::optional<std::pair<RankParameters, ReductionTime>>
      known_reduction_;
  mutable std::optional<std::pair<RankParameters, double>> known_gather_;
};

}  // namespace

DataTimes EstimateData(const DataQuestion& question) {
  return DataEstimate(question).Estimate();
}

std::vector<std::optional<double>> BucketTimes(const DataQuestion& question,
                                               int piece) {
  return DataEstimate(question).BucketsOf(
      question.pieces[static_cast<size_t>(piece)]);
}

std::vector<double> BackwardGathers(const DataQuestion& question, int piece) {
  return DataEstimate(question).GathersOf(
      question.pieces[static_cast<size_t>(piece)]);
}

void AddSharding(const DataQuestion& question, int piece, StageTimes& times) {
  DataEstimate(question).AddPasses(question.pieces[static_cast<size_t>(piece)],
                                   times);
}

}  // namespace orrery
