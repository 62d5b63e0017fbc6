#include "run/requests/request_timeline.h"

#include <algorithm>
#include <vector>

#include "base/status.h"
#include "run/inference_run.h"
#include "run/phase_ground.h"
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

// Steps of one run, which begins at `origin`.
class StepReader {
 public:
  StepReader(const ResolvedScenario& scenario, RequestTimeline& timeline)
      : scenario_(scenario),
        plan_(*scenario.inference()),
        timeline_(timeline) {}

  void Add(const SimulatedRun& run, const std::vector<InferencePass>& passes,
           Duration origin) {
    const size_t first = timeline_.steps.size();
    for (const InferencePass& pass : passes) AddPass(pass);
    const auto decodes = [](const InferencePass& pass) {
      return pass.purpose == PassPurpose::kDecode;
    };
    const auto prefills = static_cast<size_t>(
        std::find_if(passes.begin(), passes.end(), decodes) - passes.begin());
    // A task's mark counts the passes of its kind.
    for (const TaskSpan& span : run.spans) {
      const Role& role = run.placed.program.role_of(span.rank);
      const Mark& mark = role.mark(span.task);
      if (!mark.micro_batch || span.stream != kComputeStream) continue;
      const size_t before = mark.phase == WorkPhase::kDecode ? prefills : 0;
      RequestStep& step =
          timeline_
              .steps[first + before + static_cast<size_t>(*mark.micro_batch)];
      step.from = std::min(step.from, span.started + origin);
      step.to = std::max(step.to, span.ended + origin);
    }
  }

  // Between the steps that are there and those that come.
  void AddTransfer(Time to) {
    const RequestStep& last = timeline_.steps.back();
    timeline_.steps.push_back({.kind = RequestStep::Kind::kTransfer,
                               .from = last.to,
                               .to = to,
                               .count = timeline_.sequences,
                               .tokens = 0,
                               .cached = plan_.prompt()});
    timeline_.cached_after.push_back(timeline_.cached_after.back());
  }

 private:
  void AddPass(const InferencePass& pass) {
    const SequenceGroup& group = pass.groups[0];
    const bool decodes = pass.purpose == PassPurpose::kDecode;
    RequestStep step{.kind = decodes ? RequestStep::Kind::kDecode
                                     : RequestStep::Kind::kPrefill,
                     .from = Time::max(),
                     .count = group.count * pass.parts,
                     .tokens = group.queries,
                     .cached = group.cached};
    const int64_t after = group.cached + group.queries;
    Bytes held;
    if (decodes) {
      held = CacheOf(scenario_, pass.purpose, step.count, after);
    } else {
      if (group.cached == 0) admitted_ += step.count;
      step.first = admitted_ - step.count;
      held = CacheOf(scenario_, pass.purpose, done_, plan_.prompt()) +
             CacheOf(scenario_, pass.purpose, step.count, after);
      if (after == plan_.prompt()) done_ = admitted_;
    }
    timeline_.steps.push_back(step);
    timeline_.cached_after.push_back(held);
    timeline_.sequences = std::max(timeline_.sequences, admitted_);
  }

  const ResolvedScenario& scenario_;
  const InferencePlan& plan_;
  RequestTimeline& timeline_;
  int64_t admitted_ = 0;  // prompts begun
  int64_t done_ = 0;      // prompts in the cache as a whole
};

Bytes RoomOf(const ResolvedScenario& scenario) {
  return CapacityOf(scenario.model, *scenario.inference(),
                    MemoryCapacity(scenario.system),
                    scenario.kernels.reserved_memory())
      .cache;
}

}  // namespace

RequestTimeline RequestsOf(const ResolvedScenario& scenario,
                           const SimulatedRun& run) {
  RequestTimeline timeline;
  StepReader(scenario, timeline)
      .Add(run, PassesOf(*scenario.inference(), InferencePart::kRequest), {});
  timeline.room = RoomOf(scenario);
  return timeline;
}

absl::StatusOr<SimulatedRun> RunDecodePool(const ResolvedScenario& scenario,
                                           const RunOptions& options) {
  const InferencePlan& plan = *scenario.inference();
  ASSIGN_OR_RETURN(const PhaseGrounds grounds, PhaseGrounds::Make(scenario));
  ASSIGN_OR_RETURN(
      InferenceSimulator simulator,
      InferenceSimulator::Create(grounds.of(PassPurpose::kDecode), plan));
  return simulator.Run(FirstDecodePasses(plan), options);
}

RequestTimeline RequestsOf(const ResolvedScenario& scenario,
                           const SimulatedRun& run,
                           const DecodePoolRun& decode) {
  RequestTimeline timeline;
  StepReader reader(scenario, timeline);
  const InferencePlan& plan = *scenario.inference();
  reader.Add(run, PrefillPasses(plan), {});
  reader.AddTransfer(decode.from);
  reader.Add(decode.run, FirstDecodePasses(plan),
             decode.from.time_since_epoch());
  timeline.room = RoomOf(scenario);
  return timeline;
}

}  // namespace orrery
