#include "run/requests/request_timeline.h"

#include <algorithm>
#include <vector>

#include "run/inference_run.h"
#include "run/report.h"
#include "workload/plan/inference_memory.h"

namespace orrery {
namespace {

// Bytes of the cache on a chip of the fullest stage.
Bytes CacheOf(const ResolvedScenario& scenario, PassPurpose purpose,
              int64_t sequences, int64_t tokens) {
  const InferencePlan& plan = *scenario.inference();
  const ParallelLayout& layout = plan.layout(purpose);
  Bytes most;
  for (const Stage& stage : CutStages(scenario.model, layout)) {
    most =
        std::max(most, StageCache(scenario.model, plan, layout, stage, tokens));
  }
  return most * sequences;
}

}  // namespace

RequestTimeline RequestsOf(const ResolvedScenario& scenario,
                           const SimulatedRun& run) {
  const InferencePlan& plan = *scenario.inference();
  const std::vector<InferencePass> passes =
      PassesOf(plan, InferencePart::kRequest);
  RequestTimeline timeline;
  int64_t admitted = 0;  // prompts begun
  int64_t done = 0;      // prompts in the cache as a whole
  for (const InferencePass& pass : passes) {
    const SequenceGroup& group = pass.groups[0];
    RequestStep step{.decodes = pass.purpose == PassPurpose::kDecode,
                     .from = Time::max(),
                     .count = group.count * pass.parts,
                     .tokens = group.queries,
                     .cached = group.cached};
    const int64_t after = group.cached + group.queries;
    Bytes held;
    if (step.decodes) {
      held = CacheOf(scenario, pass.purpose, step.count, after);
    } else {
      if (group.cached == 0) admitted += step.count;
      step.first = admitted - step.count;
      held = CacheOf(scenario, pass.purpose, done, plan.prompt()) +
             CacheOf(scenario, pass.purpose, step.count, after);
      if (after == plan.prompt()) done = admitted;
    }
    timeline.steps.push_back(step);
    timeline.cached_after.push_back(held);
    timeline.sequences = std::max(timeline.sequences, admitted);
  }
  // A task's mark counts parts over all passes.
  for (const TaskSpan& span : run.spans) {
    const Role& role = run.placed.program.role_of(span.rank);
    const Mark& mark = role.mark(span.task);
    if (!mark.micro_batch || span.stream != kComputeStream) continue;
    const auto at = static_cast<size_t>(*mark.micro_batch / passes[0].parts);
    RequestStep& step = timeline.steps[at];
    step.from = std::min(step.from, span.started);
    step.to = std::max(step.to, span.ended);
  }
  const Bytes reserved = scenario.kernels.reserved_memory();
  timeline.room = CapacityOf(scenario.model, plan,
                             MemoryCapacity(scenario.system), reserved)
                      .cache;
  return timeline;
}

}  // namespace orrery
