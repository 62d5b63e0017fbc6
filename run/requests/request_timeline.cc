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

// Levels of the cache that are shown of steps that are not.
constexpr int64_t kMostLevels = 32;

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
    held_.clear();
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
    // Room is taken when a step begins.
    for (size_t i = 0; i < held_.size(); ++i) {
      timeline_.cache.push_back(
          {.at = timeline_.steps[first + i].from, .held = held_[i]});
    }
  }

  // Before the first step.
  void AddOverhead() {
    const Duration overhead = plan_.engine().request_overhead;
    if (overhead == Duration(0)) return;
    timeline_.steps.push_back({.kind = RequestStep::Kind::kOverhead,
                               .to = Time(overhead),
                               .count = plan_.prefill_batch()});
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
  }

  // From the last step to the end of the request: what drafts of the steps that
  // are there took, the steps that are not, or what the host does after the
  // last one, until `run_end`.
  void AddRest(Time run_end, Time end) {
    int64_t drawn = 0;
    Duration decode{};
    int64_t sequences = 1;
    for (const RequestStep& step : timeline_.steps) {
      if (!step.decodes()) continue;
      ++drawn;
      decode += step.to - step.from;
      sequences = step.count;
    }
    timeline_.drawn_steps = drawn;
    timeline_.decode_steps = DecodeSteps(plan_);
    timeline_.first_decoded = plan_.engine().first_token_by_decode ? 1 : 2;
    timeline_.reported_end = end;
    const auto& drafts = plan_.speculation();
    Time at{};
    for (const RequestStep& step : timeline_.steps) at = std::max(at, step.to);
    if (drafts && drafts->draft_cost > 0 && drawn > 0) {
      const Time from = at;
      at +=
          FromSeconds(ToSeconds(decode) * drafts->drafts * drafts->draft_cost);
      timeline_.steps.push_back({.kind = RequestStep::Kind::kDrafts,
                                 .from = from,
                                 .to = at,
                                 .count = sequences});
    }
    const int64_t more = timeline_.decode_steps - drawn;
    if (more == 0 && run_end > at) {
      timeline_.steps.push_back({.kind = RequestStep::Kind::kHost,
                                 .from = at,
                                 .to = run_end,
                                 .count = sequences});
    }
    if (more == 0) return;
    // Drawn steps of a pipeline may take longer than the report's sum has it;
    // the others are then as long as the drawn ones are on the mean.
    if (end <= at) end = at + decode / std::max<int64_t>(drawn, 1) * more;
    timeline_.steps.push_back({.kind = RequestStep::Kind::kNotDrawn,
                               .from = at,
                               .to = end,
                               .count = sequences,
                               .cached = CachedInStep(plan_, drawn),
                               .steps = more});
    const int64_t levels = std::min(more, kMostLevels);
    for (int64_t i = 0; i < levels; ++i) {
      const InferencePass pass =
          DecodePass(plan_, CachedInStep(plan_, drawn + i * more / levels));
      timeline_.cache.push_back(
          {.at = at + (end - at) * i / levels, .held = Held(pass)});
    }
  }

 private:
  // By the cache after a decode step.
  Bytes Held(const InferencePass& pass) const {
    const SequenceGroup& group = pass.groups[0];
    return CacheOf(scenario_, pass.purpose, group.count * pass.parts,
                   group.cached + group.queries);
  }

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
      held = Held(pass);
    } else {
      if (group.cached == 0) admitted_ += step.count;
      step.first = admitted_ - step.count;
      held = CacheOf(scenario_, pass.purpose, done_, plan_.prompt()) +
             CacheOf(scenario_, pass.purpose, step.count, after);
      if (after == plan_.prompt()) done_ = admitted_;
    }
    timeline_.steps.push_back(step);
    held_.push_back(held);
    timeline_.sequences = std::max(timeline_.sequences, admitted_);
  }

  const ResolvedScenario& scenario_;
  const InferencePlan& plan_;
  RequestTimeline& timeline_;
  int64_t admitted_ = 0;     // prompts begun
  int64_t done_ = 0;         // prompts in the cache as a whole
  std::vector<Bytes> held_;  // after each step of the run that is added
};

Bytes RoomOf(const ResolvedScenario& scenario) {
  return CapacityOf(scenario.model, *scenario.inference(),
                    MemoryCapacity(scenario.system),
                    scenario.kernels.reserved_memory())
      .cache;
}

}  // namespace

RequestTimeline RequestsOf(const ResolvedScenario& scenario,
                           const SimulatedRun& run, InferencePart part,
                           Duration end_to_end) {
  RequestTimeline timeline;
  StepReader reader(scenario, timeline);
  const InferencePlan& plan = *scenario.inference();
  reader.AddOverhead();
  const Duration overhead = plan.engine().request_overhead;
  reader.Add(run, PassesOf(plan, part), overhead);
  reader.AddRest(run.result.end + overhead, Time(end_to_end));
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
  return simulator.Run(DrawnDecodePasses(plan, options.part), options);
}

RequestTimeline RequestsOf(const ResolvedScenario& scenario,
                           const SimulatedRun& run, const DecodePoolRun& decode,
                           InferencePart part, Duration end_to_end) {
  RequestTimeline timeline;
  StepReader reader(scenario, timeline);
  const InferencePlan& plan = *scenario.inference();
  reader.AddOverhead();
  reader.Add(run, PrefillPasses(plan), plan.engine().request_overhead);
  reader.AddTransfer(decode.from);
  reader.Add(decode.run, DrawnDecodePasses(plan, part),
             decode.from.time_since_epoch());
  reader.AddRest(decode.run.result.end + decode.from.time_since_epoch(),
                 Time(end_to_end));
  timeline.room = RoomOf(scenario);
  return timeline;
}

}  // namespace orrery
