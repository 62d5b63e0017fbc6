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

// Tokens of a sequence in the cache when the pass is done, and before it.
int64_t HeldAfter(const InferencePass& pass) {
  return pass.groups[0].cached + pass.groups[0].queries;
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
    const auto cache = [&](const InferencePass& pass, int64_t tokens) {
      return StageCache(model, plan, layout, stages[stage], tokens) *
             pass.sequences;
    };
    // What earlier passes left is there from the beginning.
    const Bytes held = cache(passes[0], passes[0].groups[0].cached);
    Bytes so_far = held;
    for (size_t i = 0; i < passes.size(); ++i) {
      const Bytes after = cache(passes[i], HeldAfter(passes[i]));
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
