#include "run/search/plan_advice.h"

#include <absl/types/span.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/parallel.h"
#include "base/status.h"
#include "run/report.h"
#include "run/run_scenario.h"
#include "run/search/plan_race.h"
#include "run/search/plan_search.h"
#include "run/training_run.h"

namespace orrery {
namespace {

struct Respect {
  const char* name;
  std::vector<PlanAxis> free;
};

// In which a plan may become faster.
std::vector<Respect> RespectsOfTime() {
  return {{"schedule", {PlanAxis::kSchedule}},
          {"split", {PlanAxis::kTensor, PlanAxis::kPipeline}},
          {"sharding", {PlanAxis::kSharding}},
          {"recompute", {PlanAxis::kRecompute}},
          {"micro_batch", {PlanAxis::kMicroBatch}}};
}

// In which it may become smaller.
std::vector<Respect> RespectsOfMemory() {
  return {{"tensor", {PlanAxis::kTensor, PlanAxis::kSequenceParallel}},
          {"pipeline", {PlanAxis::kPipeline, PlanAxis::kSchedule}},
          {"expert", {PlanAxis::kExpert}},
          {"sharding", {PlanAxis::kSharding}},
          {"recompute", {PlanAxis::kRecompute}},
          {"micro_batch", {PlanAxis::kMicroBatch}}};
}

std::vector<Respect> AllTogether() {
  Respect all = {"all", {}};
  for (int i = 0; i < kPlanAxes; ++i) {
    all.free.push_back(static_cast<PlanAxis>(i));
  }
  return {all};
}

struct Candidate {
  std::string_view what;
  pb::Training plan;
};

// The plans of each respect that are best by closed form: two, as it may have
// them in the wrong order.
absl::StatusOr<std::vector<Candidate>> Candidates(
    const pb::Scenario& said, const ResolvedScenario& scenario,
    absl::Span<const Respect> respects) {
  constexpr size_t kSimulated = 2;
  std::vector<Candidate> candidates;
  const PlanSpace space(scenario.proto, scenario.model, scenario.system.chips(),
                        {});
  for (const Respect& respect : respects) {
    PlanSearchOptions options;
    for (int i = 0; i < kPlanAxes; ++i) {
      const auto axis = static_cast<PlanAxis>(i);
      if (std::find(respect.free.begin(), respect.free.end(), axis) ==
          respect.free.end()) {
        options.kept.push_back(axis);
      }
    }
    ASSIGN_OR_RETURN(PlanSearch search,
                     PlanSearch::Create(scenario, said.training(), options));
    // One of them may be the plan as it is.
    ASSIGN_OR_RETURN(const std::vector<FoundPlan> best,
                     BestByClosedForm(search, kSimulated + 1));
    size_t taken = 0;
    for (const FoundPlan& found : best) {
      if (found.choice == space.said() || taken == kSimulated) continue;
      candidates.push_back(
          {respect.name, WithChoice(said.training(), found.choice)});
      ++taken;
    }
  }
  return candidates;
}

// The whole step, as typing the plan gives it, or continued from shorter ones.
enum class Steps : uint8_t { kWhole, kContinued };

struct FoundStep {
  Duration time{};
  bool whole = true;
};

// Nothing if the plan does not fit, or is refused.
std::optional<FoundStep> StepOf(const pb::Scenario& said, pb::Training plan,
                                const Network& network,
                                const RunOptions& options, Steps steps) {
  const auto scenario = WithPlan(said, std::move(plan));
  if (!scenario.ok()) return std::nullopt;
  const auto fits = [&](const MemoryPeaks& memory) {
    return MemoryNeeded(*scenario, memory) <= PlannedCapacity(scenario->system);
  };
  if (steps == Steps::kContinued) {
    const auto step = RunPeriodically(
        {scenario->model, scenario->system, scenario->kernels, network},
        *scenario->training(), options);
    if (!step.ok() || !fits(step->memory)) return std::nullopt;
    return FoundStep{step->time,
                     step->simulated == scenario->training()->micro_batches()};
  }
  const auto run = RunScenario(*scenario, network, options);
  if (!run.ok() || !fits(run->memory)) return std::nullopt;
  return FoundStep{run->result.end - Time{}};
}

// The settings, memory and time of a plan that fits; nothing if it does not.
std::optional<pb::Report::Memory::Change> FitOf(const pb::Scenario& said,
                                                const pb::Training& plan,
                                                const Network& network,
                                                const RunOptions& options) {
  const auto scenario = WithPlan(said, plan);
  if (!scenario.ok()) return std::nullopt;
  const auto run = RunScenario(*scenario, network, options);
  if (!run.ok()) return std::nullopt;
  const Bytes needed = MemoryNeeded(*scenario, run->memory);
  if (needed > PlannedCapacity(scenario->system)) return std::nullopt;
  pb::Report::Memory::Change change;
  for (std::string& each : SettingsOf(said, plan)) {
    change.add_settings(std::move(each));
  }
  change.set_peak_bytes(needed.value());
  change.set_step_time_s(ToSeconds(run->result.end));
  return change;
}

double SavedOf(Duration better, Duration step) {
  return 1 - ToSeconds(better) / ToSeconds(step);
}

}  // namespace

absl::StatusOr<std::vector<pb::Explanation::PlanAdvice>> AdvisePlans(
    const pb::Scenario& said, const ResolvedScenario& scenario, Duration step,
    RunOptions options) {
  std::vector<pb::Explanation::PlanAdvice> advice;
  if (scenario.training() == nullptr ||
      said.training().parallel().rank_map_size() > 0) {
    return advice;
  }
  options.record = false;
  const auto progress = std::exchange(options.progress, {});
  const auto tell = [&](double done) {
    if (progress) progress("simulating other plans", done);
  };
  tell(0);
  ASSIGN_OR_RETURN(const Network network, Network::Make(scenario.system));
  ASSIGN_OR_RETURN(const std::vector<Candidate> candidates,
                   Candidates(said, scenario, RespectsOfTime()));
  // The best of each respect by shorter steps, then these in full.
  std::vector<std::optional<FoundStep>> found(candidates.size());
  InParallel(
      candidates.size(),
      [&](size_t i) {
        found[i] = StepOf(said, candidates[i].plan, network, options,
                          Steps::kContinued);
      },
      [&](double done) { tell(done / 2); });
  std::vector<size_t> best;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!found[i] || SavedOf(found[i]->time, step) < kWorthAdvising) continue;
    const auto same = std::find_if(best.begin(), best.end(), [&](size_t b) {
      return candidates[b].what == candidates[i].what;
    });
    if (same == best.end()) {
      best.push_back(i);
    } else if (found[i]->time < found[*same]->time) {
      *same = i;
    }
  }
  std::vector<std::optional<FoundStep>> steps(best.size());
  InParallel(
      best.size(),
      [&](size_t i) {
        steps[i] = found[best[i]]->whole
                       ? found[best[i]]
                       : StepOf(said, candidates[best[i]].plan, network,
                                options, Steps::kWhole);
      },
      [&](double done) { tell(0.5 + done / 2); });
  for (size_t i = 0; i < best.size(); ++i) {
    if (!steps[i] || SavedOf(steps[i]->time, step) < kWorthAdvising) continue;
    const Candidate& candidate = candidates[best[i]];
    pb::Explanation::PlanAdvice& plan = advice.emplace_back();
    plan.set_what(std::string(candidate.what));
    for (std::string& each : SettingsOf(said, candidate.plan)) {
      plan.add_settings(std::move(each));
    }
    plan.set_step_time_s(ToSeconds(steps[i]->time));
    plan.set_saved(SavedOf(steps[i]->time, step));
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const auto& a, const auto& b) {
                     return a.step_time_s() < b.step_time_s();
                   });
  return advice;
}

absl::StatusOr<std::vector<pb::Report::Memory::Change>> AdviseFit(
    const pb::Scenario& said, const ResolvedScenario& scenario,
    RunOptions options) {
  std::vector<pb::Report::Memory::Change> advice;
  if (scenario.training() == nullptr ||
      said.training().parallel().rank_map_size() > 0) {
    return advice;
  }
  options.record = false;
  const auto progress = std::exchange(options.progress, {});
  ASSIGN_OR_RETURN(const Network network, Network::Make(scenario.system));
  for (const std::vector<Respect>& respects :
       {RespectsOfMemory(), AllTogether()}) {
    if (progress) progress("looking for plans that fit", 0);
    ASSIGN_OR_RETURN(const std::vector<Candidate> candidates,
                     Candidates(said, scenario, respects));
    std::vector<std::optional<pb::Report::Memory::Change>> found(
        candidates.size());
    InParallel(
        candidates.size(),
        [&](size_t i) {
          found[i] = FitOf(said, candidates[i].plan, network, options);
        },
        [&](double done) {
          if (progress) progress("simulating plans that fit", done);
        });
    for (auto& change : found) {
      if (change) advice.push_back(*std::move(change));
    }
    if (!advice.empty()) break;
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const auto& a, const auto& b) {
                     return a.step_time_s() < b.step_time_s();
                   });
  return advice;
}

}  // namespace orrery
