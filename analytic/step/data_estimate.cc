#include "analytic/step/data_estimate.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "workload/model/optimizer_ops.h"
#include "workload/plan/host_time.h"
#include "workload/plan/memory.h"

namespace orrery {

namespace {

class DataEstimate {
 public:
  DataEstimate(const DataQuestion& q, bool least) : q_(q), least_(least) {}

  DataTimes Estimate() const {
    DataTimes out;
    AddOptimizer(out);
    AddEnds(out);
    if (!q_.plan.reduces_every_micro_batch() && !q_.overlaps_reduction()) {
      for (const PieceTraffic& piece : Traffic()) {
        for (const UnitTraffic& unit : piece.units) {
          out.reduction_s += unit.reduce.seconds + unit.across.seconds;
        }
        out.reduction_s +=
            piece.rest.reduce.seconds + piece.rest.across.seconds;
      }
    }
    if (sharded(Sharding::kOptimizer) && !sharded(Sharding::kWeights) &&
        !q_.overlaps_gather(/*forward=*/true)) {
      out.gathering_s = GatherTime(Held()).seconds;
    }
    return out;
  }

  std::vector<PieceTraffic> Traffic() const {
    std::vector<PieceTraffic> pieces;
    pieces.reserve(q_.pieces.size());
    RankParameters open;
    for (const std::vector<RankParameters>& units : q_.pieces) {
      PieceTraffic& piece = pieces.emplace_back();
      piece.units.reserve(units.size());
      for (const RankParameters& unit : units) {
        UnitTraffic& traffic = piece.units.emplace_back();
        if (sharded(Sharding::kOptimizer)) traffic.gather = GatherTime(unit);
        open += unit;
        const Bytes full =
            StorageBytes(q_.plan.gradient_precision(), open.total());
        if (full < q_.plan.bucket() && !sharded(Sharding::kWeights)) continue;
        Fill(std::exchange(open, {}), traffic);
      }
      // After every micro-batch no bucket stays open.
      if (q_.plan.reduces_every_micro_batch() ||
          pieces.size() == q_.pieces.size()) {
        Fill(std::exchange(open, {}), piece.rest);
      }
    }
    return pieces;
  }

 private:
  bool sharded(Sharding from) const { return q_.plan.sharding() >= from; }
  TrafficTime Time(GroupFamily family, CommunicationKind kind,
                   Bytes bytes) const {
    bytes = std::max(Bytes(1), bytes);
    const double check =
        ToSeconds(CheckTime(q_.plan.framework(), q_.placement.Size(family)));
    if (!least_) {
      const PriceList::CallPrice price =
          q_.prices.PriceOf(kind, bytes, q_.spans.of(family, q_.pipeline_rank));
      return {check + price.seconds, price.wire};
    }
    double least = std::numeric_limits<double>::infinity();
    for (const GroupSpan& span : q_.spans.column(family)) {
      least = std::min(least, q_.prices.PriceOf(kind, bytes, span).least);
    }
    return {.seconds = check + least};
  }

  // Within the ranks that share one copy of the state, and between copies.
  void Reduce(int64_t parameters, bool experts, UnitTraffic& traffic) const {
    if (parameters == 0) return;
    const Bytes bytes = StorageBytes(q_.plan.gradient_precision(), parameters);
    if (!sharded(Sharding::kOptimizer)) {
      traffic.reduce +=
          Time(experts ? GroupFamily::kExpertData : GroupFamily::kData,
               CommunicationKind::kAllReduce, bytes);
      return;
    }
    const auto shard =
        experts ? GroupFamily::kExpertShard : GroupFamily::kShard;
    const auto replica =
        experts ? GroupFamily::kExpertReplica : GroupFamily::kReplica;
    traffic.reduce += Time(shard, CommunicationKind::kReduceScatter, bytes);
    traffic.across += Time(replica, CommunicationKind::kAllReduce,
                           Bytes(bytes.value() / q_.placement.Size(shard)));
  }

  void Fill(const RankParameters& bucket, UnitTraffic& traffic) const {
    if (bucket.total() == 0) return;
    if (!known_reduction_ || known_reduction_->first != bucket) {
      UnitTraffic filled{.fills = true};
      Reduce(bucket.dense, false, filled);
      Reduce(bucket.experts, true, filled);
      known_reduction_ = {bucket, filled};
    }
    const TrafficTime gather = traffic.gather;
    traffic = known_reduction_->second;
    traffic.gather = gather;
  }

  TrafficTime GatherTime(const RankParameters& unit) const {
    if (known_gather_ && known_gather_->first == unit) {
      return known_gather_->second;
    }
    const int width = WeightBytes(q_.plan);
    TrafficTime time;
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

  RankParameters Held() const {
    RankParameters held;
    for (const std::vector<RankParameters>& piece : q_.pieces) {
      for (const RankParameters& unit : piece) held += unit;
    }
    return held;
  }

  // The tied embedding and the norm of the whole model's gradient.
  void AddEnds(DataTimes& out) const {
    out.norm_s =
        Time(GroupFamily::kTensor, CommunicationKind::kAllReduce, Bytes(4))
            .seconds +
        Time(GroupFamily::kModel, CommunicationKind::kAllReduce, Bytes(4))
            .seconds;
    if (!q_.shares_tie) return;
    const int64_t count = EmbeddingParametersOf(q_.model, q_.plan.degrees());
    out.tie_s = Time(GroupFamily::kEmbedding, CommunicationKind::kAllReduce,
                     StorageBytes(q_.plan.gradient_precision(), count))
                    .seconds;
  }

  void AddOptimizer(DataTimes& out) const {
    const RankParameters held = Held();
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
  bool least_;
  // Of what was asked for last: layers follow layers of the same kind.
  mutable std::optional<std::pair<RankParameters, UnitTraffic>>
      known_reduction_;
  mutable std::optional<std::pair<RankParameters, TrafficTime>> known_gather_;
};

}  // namespace

DataTimes EstimateData(const DataQuestion& question, bool least) {
  return DataEstimate(question, least).Estimate();
}

std::vector<PieceTraffic> TrafficOf(const DataQuestion& question, bool least) {
  return DataEstimate(question, least).Traffic();
}

}  // namespace orrery
