#include "analytic/step/memory_estimate.h"

#include <absl/types/span.h>

#include <utility>
#include <vector>

#include "analytic/step/memory_walk.h"
#include "workload/plan/memory.h"

namespace orrery {
namespace {

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
         .backward_s = unit.time.backward(),
         .forward_tasks = unit.forward_tasks,
         .backward_tasks = unit.backward_tasks});
  }
  if (plan.accumulates_locally() && plan.overlap_gradient_reduction()) {
    const auto buckets = BucketTimes(question, place);
    for (size_t i = 0; i < units.size(); ++i) {
      units[i].bucket_s = buckets[units.size() - 1 - i];
    }
  }
  return units;
}

}  // namespace

RankMemory EstimateMemory(const DataQuestion& question, const PlanUnits& units,
                          const KnownPipeline& pipeline, bool layers_only) {
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
  const WalkPeak walk = WalkMemory(pipeline.orders(), rank, pieces);
  const Bytes peak =
      StaticBytes(question.plan, question.placement, parameters, largest)
          .total() +
      Bytes(walk.total);
  return {peak, AllocatorBytes(question.plan, peak, Bytes(walk.activations))};
}

}  // namespace orrery
