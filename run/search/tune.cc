#include "run/search/tune.h"

#include <absl/strings/str_join.h>
#include <absl/types/span.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/defaults.h"
#include "run/report.h"
#include "run/run_scenario.h"
#include "run/search/differences.h"
#include "run/search/headroom.h"
#include "run/search/plan_race.h"

namespace orrery {
namespace {

absl::StatusOr<pb::Report> Simulated(const ResolvedScenario& scenario,
                                     const Network& network,
                                     const RunOptions& options) {
  ASSIGN_OR_RETURN(const SimulatedRun run,
                   RunScenario(scenario, network, options));
  ASSIGN_OR_RETURN(const StepEstimate estimate, EstimateScenario(scenario));
  return MakeReport(scenario, run, estimate, options, {});
}

// "ONE_F_ONE_B, INTERLEAVED_1F1B; ZERO_0, ZERO_1"; empty: everything.
std::string OffersText(const pb::Offers& offers) {
  std::vector<std::string> lists;
  const auto add = [&](const auto& values, const auto& name) {
    std::vector<std::string> names;
    for (const int value : values) names.push_back(name(value));
    if (!names.empty()) lists.push_back(absl::StrJoin(names, ", "));
  };
  add(offers.schedule(), [](int value) {
    return pb::Training::Schedule_Name(
        static_cast<pb::Training::Schedule>(value));
  });
  add(offers.sharding(), [](int value) {
    return pb::Training::Sharding_Name(
        static_cast<pb::Training::Sharding>(value));
  });
  return absl::StrJoin(lists, "; ");
}

class Tuner {
 public:
  // `problem` says why the plan as given is refused, if it is.
  Tuner(const pb::Scenario& given, std::string problem,
        const ResolvedScenario& scenario, const Network& network,
        const TuneOptions& options)
      : given_(given),
        problem_(std::move(problem)),
        scenario_(scenario),
        network_(network),
        options_(options),
        run_(options.run),
        race_(given, scenario, network,
              {.simulate = options.simulate,
               .effort = options.effort,
               .run = options.run}) {
    run_.record = false;
    run_.progress = {};
  }

  absl::StatusOr<pb::Tuning> Run() {
    tuning_.set_scenario(scenario_.proto.name());
    tuning_.set_objective(std::string(Name(options_.objective)));
    AddNotes();
    RETURN_IF_ERROR(SimulateGiven());
    RETURN_IF_ERROR(Search());
    RETURN_IF_ERROR(ReportBest());
    CompareBest(tuning_);
    return std::move(tuning_);
  }

 private:
  absl::Status SimulateGiven() {
    if (!problem_.empty()) {
      tuning_.set_said_problem(problem_);
      return absl::OkStatus();
    }
    pb::Tuning::Plan& given = *tuning_.mutable_said();
    given.set_description("as given");
    ASSIGN_OR_RETURN(*given.mutable_report(),
                     Simulated(scenario_, network_, run_));
    given.set_objective(ObjectiveOf(given.report(), options_.objective));
    given.set_estimated_step_time_s(given.report().estimate().step_time_s());
    if (given.report().memory().fits()) {
      race_.LowerLimit(given.report().step_time_s());
    }
    return absl::OkStatus();
  }

  void AddNotes() {
    const std::string headroom = HeadroomNote(scenario_.system);
    if (!headroom.empty()) tuning_.add_notes(headroom);
    const pb::Framework& framework = scenario_.proto.framework();
    const std::string offers = OffersText(framework.offers());
    if (!offers.empty()) {
      tuning_.add_notes(fmt::format("{} offers {} (framework.offers)",
                                    framework.name(), offers));
    }
  }

  // Simulates the best as soon as there are some, so that the limit falls and
  // the rest of the space need not be estimated.
  absl::Status Search() {
    ASSIGN_OR_RETURN(
        PlanSearch search,
        PlanSearch::Create(scenario_, given_.training(), options_.search));
    while (!search.done()) {
      Tell("estimating plans", search.progress());
      ASSIGN_OR_RETURN(const std::vector<FoundPlan> found,
                       search.Next(race_.limit_s()));
      race_.Enter(found);
      race_.RunRound(PlanRace::Which::kPromising);
    }
    while (race_.RunRound(PlanRace::Which::kOpen)) {
      Tell("simulating plans", race_.progress());
    }
    const PlanCounts& counts = search.counts();
    tuning_.set_plans_considered(counts.considered);
    tuning_.set_plans_estimated(counts.estimated);
    tuning_.set_plans_pruned(counts.pruned);
    tuning_.set_plans_illegal(counts.illegal);
    tuning_.set_plans_too_large(counts.too_large + race_.too_large());
    tuning_.set_plans_simulated(race_.simulated());
    return absl::OkStatus();
  }

  void Tell(std::string_view stage, double done) const {
    if (!options_.search.progress) return;
    std::string text(stage);
    if (race_.limit_s() < std::numeric_limits<double>::infinity()) {
      text += fmt::format(" (best so far {})", SecondsText(race_.limit_s()));
    }
    options_.search.progress(text, done);
  }

  absl::StatusOr<pb::Tuning::Plan> Report(const Finisher& finisher,
                                          bool exactly) const {
    pb::Tuning::Plan plan;
    pb::Training proto = WithChoice(given_.training(), finisher.found.choice);
    plan.set_description(Describe(finisher.found.choice));
    for (std::string& each : SettingsOf(given_, proto)) {
      plan.add_settings(std::move(each));
    }
    plan.set_estimated_rank(race_.RankOf(finisher.found));
    plan.set_estimated_step_time_s(finisher.found.step_s);
    plan.set_nearly(finisher.nearly && !exactly);
    ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                     WithPlan(given_, std::move(proto)));
    RunOptions run = run_;
    if (plan.nearly()) run.fold_nearly = true;
    ASSIGN_OR_RETURN(*plan.mutable_report(),
                     Simulated(scenario, network_, run));
    plan.set_objective(ObjectiveOf(plan.report(), options_.objective));
    return plan;
  }

  // Full reports of the fastest. The first is simulated with every rank that
  // folding does not stand for exactly; if that makes it slower than another,
  // the other is looked at in the same way.
  absl::Status ReportBest() {
    std::vector<Finisher> best = race_.Finishers();
    if (best.size() > static_cast<size_t>(options_.best)) {
      best.resize(static_cast<size_t>(options_.best));
    }
    std::vector<absl::StatusOr<pb::Tuning::Plan>> plans(best.size());
    InParallel(best.size(),
               [&](size_t i) { plans[i] = Report(best[i], i == 0); });
    std::vector<pb::Tuning::Plan> reported;
    for (auto& plan : plans) {
      RETURN_IF_ERROR(plan.status());
      reported.push_back(*std::move(plan));
    }
    if (tuning_.has_said() && tuning_.said().report().memory().fits()) {
      reported.push_back(tuning_.said());
    }
    const auto faster = [](const pb::Tuning::Plan& a,
                           const pb::Tuning::Plan& b) {
      return std::pair(a.report().step_time_s(), a.estimated_rank()) <
             std::pair(b.report().step_time_s(), b.estimated_rank());
    };
    std::sort(reported.begin(), reported.end(), faster);
    while (!reported.empty() && reported[0].nearly()) {
      const auto finisher =
          std::find_if(best.begin(), best.end(), [&](const Finisher& each) {
            return Describe(each.found.choice) == reported[0].description();
          });
      ASSIGN_OR_RETURN(reported[0], Report(*finisher, /*exactly=*/true));
      std::sort(reported.begin(), reported.end(), faster);
    }
    if (reported.empty()) return absl::OkStatus();
    const double step = reported[0].report().step_time_s();
    tuning_.set_bound_s(std::min(race_.open_bound_s(), step));
    tuning_.set_proved(tuning_.bound_s() >= step * (1 - kProvedGap));
    for (size_t i = 0;
         i < reported.size() && i < static_cast<size_t>(options_.best); ++i) {
      *tuning_.add_plans() = std::move(reported[i]);
    }
    return absl::OkStatus();
  }

  const pb::Scenario& given_;
  const std::string problem_;
  const ResolvedScenario& scenario_;
  const Network& network_;
  const TuneOptions& options_;
  RunOptions run_;
  PlanRace race_;
  pb::Tuning tuning_;
};

// The scenario with the plan as given, or, where that is refused, with the
// first legal plan of the space; the plan of the message stays as given.
absl::StatusOr<ResolvedScenario> WithLegalPlan(const pb::Scenario& given,
                                               absl::Span<const PlanAxis> kept,
                                               std::string* problem) {
  auto scenario = WithPlan(given, given.training());
  if (scenario.ok()) return scenario;
  constexpr int kTries = 10'000;
  pb::Scenario filled = given;
  FillDefaults(&filled);
  const auto model = Model::FromProto(filled.model());
  const auto system = SystemOf(filled.system(), filled.inference());
  if (!model.ok() || !system.ok()) return scenario.status();
  const PlanSpace space(filled, *model, system->chips(), kept);
  int tries = 0;
  absl::StatusOr<ResolvedScenario> other = scenario.status();
  for (const KernelChoice& kernels : space.kernels()) {
    space.ForEach(kernels, [&](const PlanChoice& choice) {
      if (other.ok() || ++tries > kTries) return;
      other = WithPlan(given, WithChoice(given.training(), choice));
    });
  }
  if (!other.ok()) return scenario.status();
  *problem = std::string(scenario.status().message());
  *other->proto.mutable_training() = filled.training();
  return other;
}

}  // namespace

absl::StatusOr<pb::Tuning> Tune(const pb::Scenario& given,
                                const TuneOptions& options) {
  std::string problem;
  ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                   WithLegalPlan(given, options.search.kept, &problem));
  if (given.training().parallel().rank_map_size() > 0) {
    return absl::InvalidArgumentError(
        "training.parallel.rank_map: fixes where every rank lies, so there is "
        "no plan to search for; leave it out");
  }
  ASSIGN_OR_RETURN(const Network network, Network::Make(scenario.system));
  return Tuner(given, problem, scenario, network, options).Run();
}

}  // namespace orrery
