#include "analytic/step/data_estimate.h"

#include <algorithm>

#include "workload/model/optimizer_ops.h"
#include "workload/plan/memory.h"

namespace orrery {

const GroupSpan& GroupSpans::of(GroupFamily family) {
  std::optional<GroupSpan>& span = known_[static_cast<size_t>(family)];
  if (span) return *span;
  if (placement_.Size(family) == 1) return span.emplace();
  std::vector<int> chips = placement_.Members(family, 0);
  for (int& member : chips) member = placement_.ChipOf(member);
  return span.emplace(prices_.Span(chips));
}

namespace {

class DataEstimate {
 public:
  explicit DataEstimate(const DataQuestion& q) : q_(q) {}

  DataTimes Estimate() {
    DataTimes out;
    out.optimizer_s = Optimizer();
    out.reduction_s = Reduction();
    out.gathering_s = Gathering();
    out.ends_s = Ends();
    return out;
  }

 private:
  bool sharded(Sharding from) const { return q_.plan.sharding() >= from; }
  double Time(GroupFamily family, CommunicationKind kind, Bytes bytes) const {
    return q_.prices.Call(kind, std::max(Bytes(1), bytes), q_.spans.of(family));
  }

  double Reduce(int64_t parameters, bool experts) const {
    if (parameters == 0) return 0;
    const Bytes bytes = StorageBytes(q_.plan.gradient_precision(), parameters);
    if (!sharded(Sharding::kOptimizer)) {
      return Time(experts ? GroupFamily::kExpertData : GroupFamily::kData,
                  CommunicationKind::kAllReduce, bytes);
    }
    const auto shard =
        experts ? GroupFamily::kExpertShard : GroupFamily::kShard;
    const auto replica =
        experts ? GroupFamily::kExpertReplica : GroupFamily::kReplica;
    return Time(shard, CommunicationKind::kReduceScatter, bytes) +
           Time(replica, CommunicationKind::kAllReduce,
                Bytes(bytes.value() / q_.placement.Size(shard)));
  }

  // Buckets of one micro-batch, and the last of them.
  double Reduction() const {
    double all = 0;
    double last = 0;
    RankParameters bucket;
    const auto flush = [&] {
      last = Reduce(bucket.dense, false) + Reduce(bucket.experts, true);
      all += last;
      bucket = {};
    };
    for (const RankParameters& unit : q_.units) {
      bucket += unit;
      const Bytes full =
          StorageBytes(q_.plan.gradient_precision(), bucket.total());
      if (full >= q_.plan.bucket() || sharded(Sharding::kWeights)) flush();
    }
    if (bucket.total() > 0) flush();
    const bool every = q_.plan.reduces_every_micro_batch();
    const double times = every ? q_.plan.micro_batches() : 1;
    const bool hides =
        q_.overlap && (every || q_.plan.overlap_gradient_reduction());
    if (!hides) return all * times;
    const double behind = every ? q_.step_backward_s : q_.last_backward_s;
    return std::max(last, all * times - behind);
  }

  double GatherTime(const RankParameters& unit) const {
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
    return time;
  }

  double Gathering() const {
    if (!sharded(Sharding::kOptimizer)) return 0;
    RankParameters held;
    double units = 0;
    for (const RankParameters& unit : q_.units) {
      held += unit;
      units += GatherTime(unit);
    }
    const double first = q_.units.empty() ? 0 : GatherTime(q_.units.back());
    if (sharded(Sharding::kWeights)) {
      const bool again = q_.plan.reshards_after_forward();
      const double all = again ? 2 * units * q_.plan.micro_batches() : units;
      if (!q_.overlap) return all;
      return std::max(
          first, all - q_.step_forward_s - (again ? q_.step_backward_s : 0));
    }
    if (!q_.overlap || !q_.plan.overlap_parameter_gather()) {
      return GatherTime(held);
    }
    return std::max(first, units - q_.step_forward_s);
  }

  // The tied embedding and the norm of the whole model's gradient.
  double Ends() const {
    double time =
        Time(GroupFamily::kTensor, CommunicationKind::kAllReduce, Bytes(4)) +
        Time(GroupFamily::kModel, CommunicationKind::kAllReduce, Bytes(4));
    if (q_.shares_tie) {
      const int64_t count = EmbeddingParametersOf(q_.model, q_.plan.degrees());
      time += Time(GroupFamily::kEmbedding, CommunicationKind::kAllReduce,
                   StorageBytes(q_.plan.gradient_precision(), count));
    }
    return time;
  }

  double Optimizer() const {
    RankParameters held;
    for (const RankParameters& unit : q_.units) held += unit;
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
    double time = 0;
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
      time += q_.prices.Kernel(op).seconds;
    }
    return time;
  }

  const DataQuestion& q_;
};

}  // namespace

DataTimes EstimateData(const DataQuestion& question) {
  return DataEstimate(question).Estimate();
}

}  // namespace orrery
