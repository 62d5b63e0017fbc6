#include "analytic/step/memory_estimate.h"

#include <absl/types/span.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analytic/step/memory_walk.h"
#include "workload/plan/memory.h"

namespace orrery {
namespace {

bool GoesByTime(const TrainingPlan& plan) {
  return plan.accumulates_locally() && plan.overlap_gradient_reduction();
}

// Units of a piece as memory sees them.
std::vector<UnitMemory> MemoryOf(const DataQuestion& question, int place,
                                 absl::Span<const int> ids,
                                 const PlanUnits& all) {
  const TrainingPlan& plan = question.plan;
  std::vector<UnitMemory> units;
  units.reserve(ids.size());
  for (const int id : ids) {
    const PlanUnits::Unit& unit = all[id];
    units.push_back(
        {.kept = unit.kept.value(),
         .recomputed = unit.recomputed.value(),
         .unreduced =
             UnreducedBytes(plan, question.placement, unit.parameters).value(),
         .gathered =
             GatheredBytes(plan, question.placement, unit.parameters).value(),
         .backward_s = question.plan.layout().stages.splits_gradients()
                           ? unit.time.weight_gradient.total()
                           : unit.time.backward(),
         .forward_tasks = unit.forward_tasks,
         .backward_tasks = unit.backward_tasks});
  }
  if (GoesByTime(plan)) {
    const auto buckets = BucketTimes(question, place);
    const auto gathers = BackwardGathers(question, place);
    for (size_t i = 0; i < units.size(); ++i) {
      units[i].bucket_s = buckets[units.size() - 1 - i];
      units[i].gather_s = gathers[units.size() - 1 - i];
    }
  }
  return units;
}

struct RankMemory {
  Bytes peak;
  Bytes held;
};

// `pass_ends`: of the rank's passes in their order. Without them last backward
// passes count as following one another.
RankMemory MemoryOfRank(const DataQuestion& question, const PlanUnits& units,
                        const KnownPipeline& pipeline,
                        absl::Span<const double> pass_ends, bool layers_only) {
  const StageLayout& layout = pipeline.orders().layout;
  const int rank = question.pipeline_rank;
  RankParameters parameters, largest;
  std::vector<std::vector<UnitMemory>> pieces;
  for (int piece = 0; piece < layout.pieces(); ++piece) {
    const absl::Span<const int> ids =
        units.of_stage(layout.StageOf(rank, piece));
    std::vector<UnitMemory> held =
        MemoryOf(question, pipeline.PlaceOf(rank, piece), ids, units);
    size_t counted = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const PlanUnits::Unit& unit = units[ids[i]];
      if (layers_only && !unit.is_layer) continue;
      held[counted++] = held[i];
      parameters += unit.parameters;
      if (unit.parameters.total() > largest.total()) largest = unit.parameters;
    }
    held.resize(counted);
    pieces.push_back(std::move(held));
  }
  const WalkPeak walk = WalkMemory(pipeline.orders(), rank, pieces, pass_ends);
  const Bytes peak =
      StaticBytes(question.plan, question.placement, parameters, largest)
          .total() +
      Bytes(walk.total);
  return {peak, AllocatorBytes(question.plan, peak, Bytes(walk.activations))};
}

}  // namespace

PlanMemory EstimateMemory(absl::Span<const DataQuestion> ranks,
                          const PlanUnits& units, KnownPipeline& pipeline,
                          const PipelineTimes& times, bool layers_only) {
  std::vector<std::vector<double>> ends(ranks.size());
  if (GoesByTime(ranks[0].plan) && ranks.size() > 1) {
    ends = pipeline.PassEnds(times);
  }
  PlanMemory most;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankMemory memory =
        MemoryOfRank(ranks[rank], units, pipeline, ends[rank], layers_only);
    most.peak = std::max(most.peak, memory.peak);
    most.held = std::max(most.held, memory.held);
    if (rank == 0) most.first_held = memory.held;
  }
  return most;
}

}  // namespace orrery
