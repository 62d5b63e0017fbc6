#include "workload/lowering/inference/lower_inference.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "workload/lowering/assembler.h"
#include "workload/lowering/inference/engine_writer.h"
#include "workload/lowering/inference/pass_units.h"
#include "workload/plan/inference_memory.h"

namespace orrery {
namespace {

// What the sequences of a pass hold in the caches of a stage: before the pass,
// or when their queries are in there as well.
enum class Moment { kBefore, kAfter };
Bytes CacheOf(const Model& model, const InferencePlan& plan,
              const ParallelLayout& layout, const Stage& stage,
              const InferencePass& pass, Moment moment) {
  Bytes held;
  for (const SequenceGroup& group : pass.groups) {
    const int64_t tokens =
        group.cached + (moment == Moment::kAfter ? group.queries : 0);
    held += StageCache(model, plan, layout, stage, tokens) *
            (group.count * pass.parts);
  }
  return held;
}

}  // namespace

absl::StatusOr<PlacedProgram> LowerInference(
    const Model& model, const InferencePlan& plan,
    absl::Span<const InferencePass> passes, OpTimer timer,
    const LowerInferenceOptions& options) {
  CHECK(!passes.empty());
  const PassPurpose phase = passes[0].purpose;
  const ParallelLayout& layout = plan.layout(phase);
  Assembler assembler(layout, options.fold, options.hosted, options.marks,
                      options.slow);
  const RankClasses& classes = assembler.classes();
  // By class and pass.
  std::vector<std::vector<PassUnits>> units;
  for (int of = 0; of < classes.count(); ++of) {
    auto& of_class = units.emplace_back();
    for (const InferencePass& pass : passes) {
      PassOptions how = options.pass;
      if (plan.engine().free_decode_dispatch &&
          pass.purpose == PassPurpose::kDecode) {
        how.expert_share = ChipShare{};
      }
      of_class.push_back(MakePassUnits(model, plan, pass,
                                       classes.ExpertPlaceOf(of), timer, how,
                                       assembler.table()));
    }
  }
  const std::vector<InferenceMemory> memory =
      MemoryByStage(model, plan, phase, options.reserved);
  const std::vector<Stage> stages = CutStages(model, layout);
  for (const RoleKey& key : assembler.roles()) {
    RoleBuilder& role = assembler.AddRole(key);
    EngineWriter writer(plan, layout, options.pass, role, key.pipeline,
                        options.hosted);
    const auto stage = static_cast<size_t>(key.pipeline);
    const auto cache = [&](const InferencePass& pass, Moment moment) {
      return CacheOf(model, plan, layout, stages[stage], pass, moment);
    };
    // What earlier passes left is there from the beginning.
    const Bytes held = cache(passes[0], Moment::kBefore);
    Bytes so_far = held;
    for (size_t i = 0; i < passes.size(); ++i) {
      const Bytes after = cache(passes[i], Moment::kAfter);
      writer.Write(passes[i], units[static_cast<size_t>(key.rank_class)][i],
                   after - so_far,
                   i + 1 < passes.size() &&
                       passes[i + 1].purpose == PassPurpose::kDecode);
      so_far = std::max(so_far, after);
    }
    role.SetInitialMemory(MemoryKind::kWeights, memory[stage].weights);
    role.SetInitialMemory(MemoryKind::kActivations, memory[stage].activations);
    role.SetInitialMemory(MemoryKind::kBuffers,
                          memory[stage].buffers - options.reserved);
    if (held > Bytes(0)) role.SetInitialMemory(MemoryKind::kKvCache, held);
    assembler.AddRanks(key, role, writer.slots(), writer.work());
  }
  return std::move(assembler).Build(TrafficOf(model, layout));
}

}  // namespace orrery
