#include "analytic/step/memory_estimate.h"

#include <absl/types/span.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analytic/step/memory_walk.h"
#include "workload/plan/collective_buffers.h"
#include "workload/plan/memory.h"

namespace orrery {
namespace {

bool GoesByTime(const TrainingPlan& plan) {
  return plan.accumulates_locally() && plan.overlap_gradient_reduction();
}

// Every unit of a plan as memory sees it.
std::vector<UnitMemory> MemoryOf(const TrainingPlan& plan,
                                 const Placement& placement,
                                 absl::Span<const PlanUnits::Unit> all) {
  std::vector<UnitMemory> units;
  units.reserve(all.size());
  for (const PlanUnits::Unit& unit : all) {
    units.push_back(
        {.kept = unit.kept.value(),
         .recomputed = unit.recomputed.value(),
         .unreduced = UnreducedBytes(plan, placement, unit.parameters).value(),
         .gathered = GatheredBytes(plan, placement, unit.parameters).value(),
         .backward_s = plan.layout().stages.splits_gradients()
                           ? unit.time.weight_gradient.total()
                           : unit.time.backward(),
         .forward_tasks = unit.forward_tasks,
         .backward_tasks = unit.backward_tasks});
  }
  return units;
}

// Units of a piece.
std::vector<UnitMemory> MemoryOfPiece(const DataQuestion& question, int place,
                                      absl::Span<const int> ids,
                                      absl::Span<const UnitMemory> all) {
  const TrainingPlan& plan = question.plan;
  std::vector<UnitMemory> units;
  units.reserve(ids.size());
  for (const int id : ids) units.push_back(all[static_cast<size_t>(id)]);
  if (GoesByTime(plan)) {
    // The passes that complete gradients wait for these gathers.
    const bool waits = plan.sharding() == Sharding::kWeights &&
                       plan.reshards_after_forward() &&
                       !question.overlaps_gather(/*forward=*/false) &&
                       !plan.layout().stages.splits_gradients();
    const std::vector<PieceTraffic> pieces = TrafficOf(question);
    const PieceTraffic& traffic = pieces[static_cast<size_t>(place)];
    for (size_t i = 0; i < units.size(); ++i) {
      const UnitTraffic& unit = traffic.units[units.size() - 1 - i];
      if (unit.fills) units[i].bucket_s = unit.reduce.seconds;
      if (waits) units[i].gather_s = unit.gather.seconds;
    }
  }
  return units;
}

// What ranks that answer one question hold.
struct HeldByRank {
  std::vector<std::vector<UnitMemory>> pieces;
  Bytes always;  // static state
  UnitCalls calls;
};

HeldByRank HeldOf(const DataQuestion& question, const PlanUnits& units,
                  absl::Span<const UnitMemory> memory,
                  const KnownPipeline& pipeline, bool layers_only) {
  const StageLayout& layout = pipeline.orders().layout;
  const int rank = question.pipeline_rank;
  RankParameters parameters, largest;
  HeldByRank held;
  held.pieces.reserve(static_cast<size_t>(layout.pieces()));
  for (int piece = 0; piece < layout.pieces(); ++piece) {
    const absl::Span<const int> ids =
        units.of_stage(layout.StageOf(rank, piece));
    std::vector<UnitMemory> of_piece =
        MemoryOfPiece(question, pipeline.PlaceOf(rank, piece), ids, memory);
    size_t counted = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const PlanUnits::Unit& unit = units[ids[i]];
      if (layers_only && !unit.is_layer) continue;
      of_piece[counted++] = of_piece[i];
      parameters += unit.parameters;
      held.calls += unit.calls;
      if (unit.parameters.total() > largest.total()) largest = unit.parameters;
    }
    of_piece.resize(counted);
    held.pieces.push_back(std::move(of_piece));
  }
  held.always =
      StaticBytes(question.plan, question.placement, parameters, largest)
          .total();
  return held;
}

}  // namespace

PlanMemory EstimateMemory(const RankKinds& ranks, const PlanUnits& units,
                          KnownPipeline& pipeline, const PipelineTimes& times,
                          bool layers_only) {
  const TrainingPlan& plan = ranks.of(0).question.plan;
  // Of passes. Without them last backward passes count as following one
  // another.
  std::vector<std::vector<double>> ends;
  if (GoesByTime(plan) && ranks.ranks() > 1) ends = pipeline.PassEnds(times);
  const std::vector<UnitMemory> memory =
      MemoryOf(plan, ranks.of(0).question.placement, units.all());
  PlanMemory most;
  HeldByRank held;
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    if (rank == 0 || &ranks.of(rank) != &ranks.of(rank - 1)) {
      held =
          HeldOf(ranks.of(rank).question, units, memory, pipeline, layers_only);
    }
    const WalkPeak walk =
        WalkMemory(pipeline.orders(), rank, pipeline.Repeats(rank), held.pieces,
                   ends.empty() ? absl::Span<const double>()
                                : ends[static_cast<size_t>(rank)]);
    const Bytes peak = held.always + Bytes(walk.total) +
                       CollectiveBufferBytes(plan, rank, held.calls);
    const Bytes allocated = AllocatorBytes(plan, peak, Bytes(walk.activations));
    most.peak = std::max(most.peak, peak);
    most.held = std::max(most.held, allocated);
    if (rank == 0) most.first_held = allocated;
  }
  return most;
}

}  // namespace orrery
