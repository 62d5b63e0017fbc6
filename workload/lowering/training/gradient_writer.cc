#include "workload/lowering/training/gradient_writer.h"

#include <algorithm>

#include "workload/lowering/rank_streams.h"
#include "workload/model/optimizer_ops.h"
#include "workload/plan/host_time.h"

namespace orrery {

GradientWriter::GradientWriter(const StepContext& context, RoleBuilder& role,
                               RoleSlots& slots)
    : context_(context), role_(role), slots_(slots) {}

Communication GradientWriter::Call(CommunicationKind kind, Bytes bytes) const {
  return {.kind = kind,
          .bytes = std::max(Bytes(1), bytes),
          .share = context_.options.exchange_share};
}

std::optional<TaskRef> GradientWriter::Collective(
    GroupFamily family, CommunicationKind kind, Bytes bytes, const char* name,
    WorkPhase phase, absl::Span<const TaskRef> after, bool gathers) {
  const int ranks = context_.placement.Size(family);
  if (ranks == 1) return std::nullopt;
  const Duration checks = CheckTime(plan().framework(), ranks);
  std::optional<TaskRef> check;
  if (checks > Duration(0)) {
    check = role_.AddKernel(StreamOf(family, gathers), "check",
                            KernelWork{.duration = checks, .demand = {0, 0}});
    role_.SetMark(*check, {.phase = phase});
    check_work_ += checks;
  }
  const TaskRef task = role_.AddCollective(slots_.Group(family, gathers), name,
                                           Call(kind, bytes));
  role_.SetMark(task, {.phase = phase});
  for (const TaskRef& before : after) {
    role_.AddDependency(before, check.value_or(task));
  }
  return task;
}

std::vector<TaskRef> GradientWriter::Gather(const RankParameters& parameters,
                                            absl::Span<const TaskRef> after) {
  std::vector<TaskRef> tasks;
  const int width = WeightBytes(plan());
  const auto gather = [&](GroupFamily family, int64_t count) {
    if (count == 0) return;
    const auto task =
        Collective(family, CommunicationKind::kAllGather, Bytes(count * width),
                   "gather_parameters", WorkPhase::kGradientSync, after, true);
    if (task) tasks.push_back(*task);
  };
  gather(GroupFamily::kShard, parameters.dense);
  gather(GroupFamily::kExpertShard, parameters.experts);
  return tasks;
}

std::vector<TaskRef> GradientWriter::BeforePass(
    const StageUnit& unit, bool forward, bool first,
    absl::Span<const TaskRef> inputs) {
  const RankParameters& parameters = context_.unit(unit).parameters;
  // A reduction that nothing may hide is waited for before anything else runs.
  std::vector<TaskRef> needed;
  const bool first_forward = forward && first;
  if (plan().reduces_every_micro_batch() && !overlaps_reduction() &&
      !reductions_.empty()) {
    needed.push_back(reductions_.back());
  }
  if (sharded(Sharding::kWeights) &&
      (plan().reshards_after_forward() || first_forward)) {
    // While one unit is in use the next one is gathered, and no more; or none,
    // if gathering is not to overlap.
    std::vector<TaskRef> after;
    if (!overlaps_gather(forward)) {
      after = needed;
      after.insert(after.end(), inputs.begin(), inputs.end());
      if (!recent_.empty()) after.push_back(recent_.back());
    } else if (recent_.size() == 2) {
      after.push_back(recent_.front());
    }
    const std::vector<TaskRef> gathered = Gather(parameters, after);
    const Bytes stays = GatheredBytes(plan(), context_.placement, parameters);
    if (!gathered.empty() && stays > Bytes(0)) {
      role_.Allocate(gathered.front(), MemoryEffect::When::kStart,
                     MemoryKind::kWeights, stays);
    }
    needed.insert(needed.end(), gathered.begin(), gathered.end());
    return needed;
  }
  if (sharded(Sharding::kOptimizer) && !sharded(Sharding::kWeights) &&
      overlaps_gather() && first_forward) {
    for (const TaskRef& task : Gather(parameters, {})) needed.push_back(task);
  }
  return needed;
}

void GradientWriter::AfterPass(TaskRef last) {
  if (recent_.size() == 2) recent_.erase(recent_.begin());
  recent_.push_back(last);
}

void GradientWriter::Reduce(bool experts, int64_t parameters,
                            absl::Span<const TaskRef> after, bool across) {
  if (parameters == 0) return;
  const Bytes bytes = StorageBytes(plan().gradient_precision(), parameters);
  const auto phase = WorkPhase::kGradientSync;
  std::optional<TaskRef> task;
  if (!sharded(Sharding::kOptimizer)) {
    task = Collective(experts ? GroupFamily::kExpertData : GroupFamily::kData,
                      CommunicationKind::kAllReduce, bytes, "reduce_gradients",
                      phase, after);
  } else {
    const auto shard =
        experts ? GroupFamily::kExpertShard : GroupFamily::kShard;
    const auto replica =
        experts ? GroupFamily::kExpertReplica : GroupFamily::kReplica;
    task = Collective(shard, CommunicationKind::kReduceScatter, bytes,
                      "reduce_gradients", phase, after);
    if (task && plan().accumulates_locally()) {
      role_.Release(*task, MemoryEffect::When::kEnd, MemoryKind::kGradients,
                    bytes);
    }
    if (across) {
      const auto sum =
          Collective(replica, CommunicationKind::kAllReduce,
                     Bytes(bytes.value() / context_.placement.Size(shard)),
                     "reduce_across_replicas", phase,
                     task ? absl::MakeConstSpan(&*task, 1) : after);
      if (sum) task = sum;
    }
  }
  if (task) reductions_.push_back(*task);
}

void GradientWriter::Flush(bool across) {
  if (bucket_.after.empty()) return;
  Reduce(false, bucket_.dense, bucket_.after, across);
  Reduce(true, bucket_.experts, bucket_.after, across);
  bucket_ = {};
}

void GradientWriter::GradientReady(const StageUnit& unit, TaskRef first,
                                   TaskRef last,
                                   absl::Span<const TaskRef> exits,
                                   bool last_micro_batch) {
  const bool every = plan().reduces_every_micro_batch();
  const RankParameters& parameters = context_.unit(unit).parameters;
  if (parameters.total() == 0) return;
  const Bytes unreduced =
      UnreducedBytes(plan(), context_.placement, parameters);
  if (unreduced > Bytes(0) &&
      accumulating_.insert({unit.unit, unit.layer}).second) {
    role_.Allocate(first, MemoryEffect::When::kStart, MemoryKind::kGradients,
                   unreduced);
  }
  const Bytes stays = GatheredBytes(plan(), context_.placement, parameters);
  if (last_micro_batch && stays > Bytes(0)) {
    role_.Release(last, MemoryEffect::When::kEnd, MemoryKind::kWeights, stays);
  }
  if (!every && !last_micro_batch) return;
  bucket_.dense += parameters.dense;
  bucket_.experts += parameters.experts;
  bucket_.after = {last};
  if (!overlaps_reduction()) {
    bucket_.after.insert(bucket_.after.end(), exits.begin(), exits.end());
  }
  const Bytes full = StorageBytes(plan().gradient_precision(),
                                  bucket_.dense + bucket_.experts);
  if (full < plan().bucket() && !sharded(Sharding::kWeights)) return;
  if (overlaps_reduction() || every) {
    Flush(last_micro_batch);
  } else {
    postponed_.push_back(bucket_);
    bucket_ = {};
  }
}

void GradientWriter::EndBackward(bool last_micro_batch) {
  // The next micro-batch has gradients of the same parameters.
  if (plan().reduces_every_micro_batch()) Flush(last_micro_batch);
}

TaskRef GradientWriter::AddOptimizer(const std::vector<TaskRef>& after,
                                     const RankParameters& held) {
  const Placement& placement = context_.placement;
  const auto share = [](int64_t count, int ranks) {
    return (count + ranks - 1) / ranks;
  };
  const int64_t own =
      sharded(Sharding::kOptimizer)
          ? share(held.dense, placement.Size(GroupFamily::kShard)) +
                share(held.experts, placement.Size(GroupFamily::kExpertShard))
          : held.total();
  const OptimizerShape shape{
      .parameters = own,
      .gradients = own,
      .weight = WeightBytes(plan()) == 4 ? DType::kFp32 : DType::kBf16,
      .gradient = plan().gradient_precision(),
      .moments = plan().moment_precision(),
      .master_weights = WeightBytes(plan()) != 4,
      .fused_clip = false,
      .loss_scaling = plan().precision() == DType::kFp16,
      .narrow_copy = Bits(plan().precision()) < 16,
      .separate = plan().framework().separate_optimizer};
  std::vector<TaskRef> waiting = after;
  TaskRef last{};
  for (const Op& op : OptimizerOps(shape)) {
    const KernelWork timed = context_.timer(op);
    optimizer_work_.Add(timed);
    last = role_.AddKernel(kComputeStream, std::string(Name(op.name)), timed);
    role_.SetMark(last, {.phase = WorkPhase::kOptimizer});
    for (const TaskRef& before : waiting) role_.AddDependency(before, last);
    waiting.clear();
    if (op.name != OpName::kGradientNorm) continue;
    // The norm is that of the whole model.
    TaskRef before = last;
    for (const auto family : {GroupFamily::kTensor, GroupFamily::kModel}) {
      const auto sum =
          Collective(family, CommunicationKind::kAllReduce, Bytes(4),
                     "gradient_norm", WorkPhase::kOptimizer, {&before, 1});
      if (sum) before = *sum;
    }
    if (before.stream != kComputeStream) waiting.push_back(before);
  }
  return last;
}

void GradientWriter::FinishStep(TaskRef last, const RankParameters& held,
                                bool shares_tie) {
  if (!bucket_.after.empty()) {
    if (overlaps_reduction()) {
      Flush(/*across=*/true);
    } else {
      postponed_.push_back(bucket_);
    }
  }
  for (const Bucket& bucket : postponed_) {
    Reduce(false, bucket.dense, {&last, 1}, true);
    Reduce(true, bucket.experts, {&last, 1}, true);
  }
  if (shares_tie) {
    const int64_t count =
        EmbeddingParametersOf(context_.model, plan().degrees());
    const auto tie =
        Collective(GroupFamily::kEmbedding, CommunicationKind::kAllReduce,
                   StorageBytes(plan().gradient_precision(), count),
                   "tied_embedding", WorkPhase::kGradientSync, {&last, 1});
    if (tie) reductions_.push_back(*tie);
  }
  std::vector<TaskRef> before;
  for (const TaskRef& task : reductions_) {
    if (task.stream != kComputeStream) before.push_back(task);
  }
  // A stream is in order: the last of each kind implies the others.
  if (before.size() > 1) before.erase(before.begin(), before.end() - 1);
  const TaskRef updated = AddOptimizer(before, held);
  const bool gathers = sharded(Sharding::kOptimizer) &&
                       !sharded(Sharding::kWeights) && !overlaps_gather();
  if (gathers) Gather(held, {&updated, 1});
}

}  // namespace orrery
