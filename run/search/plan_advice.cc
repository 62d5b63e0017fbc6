#include "run/search/plan_advice.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "run/report.h"
#include "run/run_scenario.h"
#include "run/search/plan_search.h"

namespace orrery {
namespace {

struct Respect {
  const char* name;
  std::vector<PlanAxis> free;
};

std::vector<Respect> Respects() {
  return {{"schedule", {PlanAxis::kSchedule}},
          {"split", {PlanAxis::kTensor, PlanAxis::kPipeline}},
          {"sharding", {PlanAxis::kSharding}},
          {"recompute", {PlanAxis::kRecompute}},
          {"micro_batch", {PlanAxis::kMicroBatch}}};
}

struct Candidate {
  const char* what;
  pb::Training plan;
};

// Of each respect the two best by closed form: it may have them in the wrong
// order.
absl::StatusOr<std::vector<Candidate>> Candidates(
    const pb::Scenario& said, const ResolvedScenario& scenario) {
  constexpr size_t kSimulated = 2;
  std::vector<Candidate> candidates;
  const PlanSpace space(scenario.proto.training(), scenario.model,
                        scenario.system.chips(), {});
  for (const Respect& respect : Respects()) {
    PlanSearchOptions options;
    options.best = kSimulated + 1;  // one of them may be the plan as it is
    for (int i = 0; i < kPlanAxes; ++i) {
      const auto axis = static_cast<PlanAxis>(i);
      if (std::find(respect.free.begin(), respect.free.end(), axis) ==
          respect.free.end()) {
        options.kept.push_back(axis);
      }
    }
    ASSIGN_OR_RETURN(const PlanSearch search,
                     SearchPlans(scenario, said.training(), options));
    size_t taken = 0;
    for (const FoundPlan& found : search.best) {
      if (found.choice == space.said() || taken == kSimulated) continue;
      candidates.push_back(
          {respect.name, WithChoice(said.training(), found.choice)});
      ++taken;
    }
  }
  return candidates;
}

// Nothing if the plan does not fit, or is refused.
std::optional<Duration> StepOf(const pb::Scenario& said, pb::Training plan,
                               const Network& network,
                               const RunOptions& options) {
  pb::Scenario changed = said;
  *changed.mutable_training() = std::move(plan);
  FillDefaults(&changed);
  const auto scenario = MakeScenario(std::move(changed));
  if (!scenario.ok()) return std::nullopt;
  const auto run = RunScenario(*scenario, network, options);
  if (!run.ok()) return std::nullopt;
  if (MemoryNeeded(*scenario, run->memory) > MemoryCapacity(scenario->system)) {
    return std::nullopt;
  }
  return run->result.end - Time{};
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
  options.progress = {};
  ASSIGN_OR_RETURN(const Network network, Network::Make(scenario.system));
  ASSIGN_OR_RETURN(const std::vector<Candidate> candidates,
                   Candidates(said, scenario));
  std::vector<std::optional<Duration>> steps(candidates.size());
  InParallel(candidates.size(), [&](size_t i) {
    steps[i] = StepOf(said, candidates[i].plan, network, options);
  });
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!steps[i]) continue;
    const double saved = 1 - ToSeconds(*steps[i]) / ToSeconds(step);
    if (saved < kWorthAdvising) continue;
    pb::Explanation::PlanAdvice plan;
    plan.set_what(candidates[i].what);
    for (std::string& each : SettingsOf(said, candidates[i].plan)) {
      plan.add_settings(std::move(each));
    }
    plan.set_step_time_s(ToSeconds(*steps[i]));
    plan.set_saved(saved);
    const auto same = std::find_if(
        advice.begin(), advice.end(),
        [&](const auto& other) { return other.what() == plan.what(); });
    if (same == advice.end()) {
      advice.push_back(std::move(plan));
    } else if (plan.step_time_s() < same->step_time_s()) {
      *same = std::move(plan);
    }
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const auto& a, const auto& b) {
                     return a.step_time_s() < b.step_time_s();
                   });
  return advice;
}

}  // namespace orrery
