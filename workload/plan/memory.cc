#include "workload/plan/memory.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

// Parameters of which a rank keeps the state, rounded up.
int64_t Share(int64_t parameters, int ranks) {
  return (parameters + ranks - 1) / ranks;
}

}  // namespace

int WeightBytes(const TrainingPlan& plan) {
  return Bits(plan.precision()) > 16 ? 4 : 2;
}

int OptimizerBytes(const TrainingPlan& plan) {
  constexpr int kMaster = 4;
  const int moments = 2 * Bits(plan.moment_precision()) / 8;
  return WeightBytes(plan) == 4 ? moments : moments + kMaster;
}

StaticMemory StaticBytes(const TrainingPlan& plan, const Placement& placement,
                         const RankParameters& held,
                         const RankParameters& largest) {
  const int weight = WeightBytes(plan);
  const int gradient = Bits(plan.gradient_precision()) / 8;
  const int64_t shard =
      Share(held.dense, placement.Size(GroupFamily::kShard)) +
      Share(held.experts, placement.Size(GroupFamily::kExpertShard));
  const auto kept = [&](Sharding from) {
    return plan.sharding() >= from ? shard : held.total();
  };
  StaticMemory memory;
  memory.weights = Bytes(kept(Sharding::kWeights) * weight);
  memory.gradients = Bytes(kept(Sharding::kGradients) * gradient);
  memory.optimizer = Bytes(kept(Sharding::kOptimizer) * OptimizerBytes(plan));
  if (plan.framework().keeps_buckets && plan.sharding() == Sharding::kNone &&
      placement.Size(GroupFamily::kShard) > 1) {
    memory.buffers += Bytes(held.total() * weight);
  }
  const Framework& framework = plan.framework();
  const bool wider = gradient > weight;
  if (wider && framework.keeps_gradients) {
    memory.buffers += Bytes(held.total() * weight);
  }
  if (plan.sharding() != Sharding::kNone) {
    const auto copied = [](double each, int64_t parameters) {
      return Bytes(std::llround(each * static_cast<double>(parameters)));
    };
    memory.buffers += framework.bucket_memory;
    if (!wider) memory.buffers += copied(framework.widening_bytes, shard);
    if (wider && placement.Size(GroupFamily::kShard) > 1) {
      memory.buffers += copied(framework.reduction_bytes, held.total());
    }
  }
  if (plan.sharding() == Sharding::kWeights && plan.reshards_after_forward()) {
    memory.buffers += Bytes(2 * largest.total() * weight);
  }
  if (plan.reduces_every_micro_batch()) {
    // Gradients before they are reduced: a bucket, or the layer of ZeRO-3.
    const int64_t unreduced =
        std::min(std::max(largest.total() * gradient, plan.bucket().value()),
                 held.total() * gradient);
    memory.buffers += Bytes(unreduced);
  }
  return memory;
}

Bytes AllocatorBytes(const TrainingPlan& plan, Bytes allocated,
                     Bytes activations) {
  return allocated +
         Bytes(std::llround(plan.framework().fragmentation *
                            static_cast<double>(activations.value())));
}

Bytes GroupBufferBytes(const TrainingPlan& plan, const Placement& placement) {
  int groups = plan.degrees().pipeline > 1 ? 1 : 0;
  for (const GroupFamily family :
       {GroupFamily::kTensor, GroupFamily::kContext, GroupFamily::kExpert,
        GroupFamily::kExpertTensor, GroupFamily::kData}) {
    if (placement.Size(family) > 1) ++groups;
  }
  return plan.framework().group_memory * groups;
}

Bytes UnreducedBytes(const TrainingPlan& plan, const Placement& placement,
                     const RankParameters& parameters) {
  if (!plan.accumulates_locally()) return Bytes(0);
  const auto apart = [&](GroupFamily family, int64_t count) {
    return placement.Size(family) > 1 ? count : 0;
  };
  return StorageBytes(plan.gradient_precision(),
                      apart(GroupFamily::kShard, parameters.dense) +
                          apart(GroupFamily::kExpertShard, parameters.experts));
}

Bytes GatheredBytes(const TrainingPlan& plan, const Placement& placement,
                    const RankParameters& parameters) {
  if (plan.sharding() != Sharding::kWeights || plan.reshards_after_forward()) {
    return Bytes(0);
  }
  const auto apart = [&](GroupFamily family, int64_t count) {
    return placement.Size(family) > 1 ? count : 0;
  };
  return Bytes(WeightBytes(plan) *
               (apart(GroupFamily::kShard, parameters.dense) +
                apart(GroupFamily::kExpertShard, parameters.experts)));
}

}  // namespace orrery
