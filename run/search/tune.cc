#include "run/search/tune.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/parallel.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "run/report.h"
#include "run/run_scenario.h"
#include "run/search/differences.h"

namespace orrery {
namespace {

// The scenario with another plan, as if it had been typed.
absl::StatusOr<ResolvedScenario> WithPlan(const pb::Scenario& said,
                                          pb::Training plan) {
  pb::Scenario scenario = said;
  *scenario.mutable_training() = std::move(plan);
  FillDefaults(&scenario);
  return MakeScenario(std::move(scenario));
}

absl::StatusOr<pb::Report> Simulated(const ResolvedScenario& scenario,
                                     const Network& network,
                                     const RunOptions& options) {
  ASSIGN_OR_RETURN(const SimulatedRun run,
                   RunScenario(scenario, network, options));
  ASSIGN_OR_RETURN(const StepEstimate estimate, EstimateScenario(scenario));
  return MakeReport(scenario, run, estimate, options, {});
}

// Plans that fit before those that do not, then by step time, then in the order
// of the closed form.
bool Better(const pb::Tuning::Plan& a, const pb::Tuning::Plan& b) {
  const auto key = [](const pb::Tuning::Plan& plan) {
    return std::tuple(!plan.report().memory().fits(),
                      plan.report().step_time_s(), plan.estimated_rank());
  };
  return key(a) < key(b);
}

class Tuner {
 public:
  Tuner(const pb::Scenario& said, const ResolvedScenario& scenario,
        const Network& network, const TuneOptions& options)
      : said_(said), scenario_(scenario), network_(network), options_(options) {
    run_ = options.run;
    run_.record = false;
    run_.progress = {};
  }

  absl::StatusOr<pb::Tuning> Run() {
    PlanSearchOptions options = options_.search;
    // Some of them may turn out not to fit.
    options.best = std::max(options.best, 3 * options_.simulate);
    ASSIGN_OR_RETURN(const PlanSearch search,
                     SearchPlans(scenario_, said_.training(), options));
    tuning_.set_scenario(scenario_.proto.name());
    tuning_.set_objective(std::string(Name(options_.objective)));
    tuning_.set_plans_considered(search.total());
    tuning_.set_plans_estimated(search.estimated);
    tuning_.set_plans_pruned(search.pruned);
    tuning_.set_plans_illegal(search.illegal);
    tuning_.set_plans_too_large(search.too_large);
    RETURN_IF_ERROR(SimulateSaid());
    RETURN_IF_ERROR(SimulateBest(search.best));
    CompareBest(tuning_);
    return std::move(tuning_);
  }

 private:
  absl::Status SimulateSaid() {
    ASSIGN_OR_RETURN(*tuning_.mutable_said()->mutable_report(),
                     Simulated(scenario_, network_, run_));
    tuning_.mutable_said()->set_description("as said");
    tuning_.mutable_said()->set_objective(
        ObjectiveOf(tuning_.said().report(), options_.objective));
    tuning_.mutable_said()->set_estimated_step_time_s(
        tuning_.said().report().estimate().step_time_s());
    return absl::OkStatus();
  }

  absl::StatusOr<pb::Tuning::Plan> SimulatePlan(const FoundPlan& found,
                                                int rank) const {
    pb::Tuning::Plan plan;
    pb::Training proto = WithChoice(said_.training(), found.choice);
    plan.set_description(Describe(found.choice));
    for (std::string& each : SettingsOf(said_, proto)) {
      plan.add_settings(std::move(each));
    }
    plan.set_estimated_rank(rank);
    plan.set_estimated_step_time_s(found.step_s);
    ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                     WithPlan(said_, std::move(proto)));
    ASSIGN_OR_RETURN(*plan.mutable_report(),
                     Simulated(scenario, network_, run_));
    plan.set_objective(ObjectiveOf(plan.report(), options_.objective));
    return plan;
  }

  // In rounds of as many as are still wanted.
  absl::Status SimulateBest(absl::Span<const FoundPlan> found) {
    int fitting = 0;
    size_t next = 0;
    while (fitting < options_.simulate && next < found.size()) {
      const size_t count =
          std::min(static_cast<size_t>(options_.simulate - fitting),
                   found.size() - next);
      if (options_.search.progress) {
        options_.search.progress(
            "simulating the best plans",
            static_cast<double>(fitting) / options_.simulate);
      }
      std::vector<absl::StatusOr<pb::Tuning::Plan>> plans(count);
      InParallel(count, [&](size_t i) {
        plans[i] =
            SimulatePlan(found[next + i], static_cast<int>(next + i) + 1);
      });
      for (auto& plan : plans) {
        RETURN_IF_ERROR(plan.status());
        fitting += plan->report().memory().fits();
        *tuning_.add_plans() = *std::move(plan);
      }
      next += count;
    }
    std::sort(tuning_.mutable_plans()->begin(), tuning_.mutable_plans()->end(),
              Better);
    return absl::OkStatus();
  }

  const pb::Scenario& said_;
  const ResolvedScenario& scenario_;
  const Network& network_;
  const TuneOptions& options_;
  RunOptions run_;
  pb::Tuning tuning_;
};

}  // namespace

absl::StatusOr<pb::Tuning> Tune(const pb::Scenario& said,
                                const TuneOptions& options) {
  ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                   WithPlan(said, said.training()));
  if (said.training().parallel().rank_map_size() > 0) {
    return absl::InvalidArgumentError(
        "training.parallel.rank_map: fixes where every rank lies, so there is "
        "no plan to search for; leave it out");
  }
  ASSIGN_OR_RETURN(const Network network, Network::Make(scenario.system));
  return Tuner(said, scenario, network, options).Run();
}

}  // namespace orrery
