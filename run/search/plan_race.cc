#include "run/search/plan_race.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "run/report.h"
#include "run/training_run.h"

namespace orrery {
namespace {

// Plans simulated at a time, and of one family among them. Numbers of their
// own, not those of the processors: the order must not depend on the machine.
constexpr size_t kRound = 8;
constexpr int kOfFamily = 2;
// What making and judging a plan costs beside its events.
constexpr int64_t kEventsOfPlan = 20'000;
// A step of more tasks is simulated with ranks folded nearly.
constexpr int64_t kWholeTasks = 2'000'000;

}  // namespace

absl::StatusOr<ResolvedScenario> WithPlan(const pb::Scenario& given,
                                          pb::Training plan) {
  pb::Scenario scenario = given;
  *scenario.mutable_training() = std::move(plan);
  FillDefaults(&scenario);
  return MakeScenario(std::move(scenario));
}

PlanRace::PlanRace(const pb::Scenario& given, const ResolvedScenario& scenario,
                   const Network& network, const RaceOptions& options)
    : given_(given), scenario_(scenario), network_(network), options_(options) {
  options_.run.record = false;
  options_.run.progress = {};
  options_.run.checked = false;
  options_.run.breakdown = false;
  options_.run.nearly_beyond_tasks = kWholeTasks;
}

void PlanRace::Enter(absl::Span<const FoundPlan> plans) {
  for (const FoundPlan& plan : plans) runners_.push_back({plan});
}

PlanRace::Family PlanRace::FamilyOf(const PlanChoice& choice) {
  return {choice.kernels.tensor, choice.kernels.context, choice.kernels.expert,
          choice.pipeline,       choice.schedule,        choice.sharding};
}

double PlanRace::PromiseOf(const Runner& runner) const {
  const auto known = ratios_.find(FamilyOf(runner.found.choice));
  const double ratio = known == ratios_.end() ? least_ratio_ : known->second;
  return std::max(runner.found.step_s * ratio, runner.found.bound_s);
}

std::vector<size_t> PlanRace::Pick(Which which) const {
  struct Promise {
    double step_s;
    size_t runner;
    auto operator<=>(const Promise&) const = default;
  };
  std::vector<Promise> promises;
  for (size_t i = 0; i < runners_.size(); ++i) {
    if (!runners_[i].open) continue;
    const double promise = PromiseOf(runners_[i]);
    if (which == Which::kPromising && promise >= limit_s_) continue;
    promises.push_back({promise, i});
  }
  // Far more than are picked, so that families take turns.
  constexpr size_t kFirst = 1024;
  if (promises.size() > kFirst) {
    std::nth_element(promises.begin(), promises.begin() + kFirst,
                     promises.end());
    promises.resize(kFirst);
  }
  std::sort(promises.begin(), promises.end());
  size_t most = kRound;
  if (options_.simulate) {
    most = std::min(most, static_cast<size_t>(*options_.simulate - simulated_));
  }
  std::vector<size_t> picked;
  absl::flat_hash_map<Family, int> of_family;
  for (const Promise& promise : promises) {
    if (picked.size() == most) break;
    if (++of_family[FamilyOf(runners_[promise.runner].found.choice)] >
        kOfFamily) {
      continue;
    }
    picked.push_back(promise.runner);
  }
  return picked;
}

std::unique_ptr<CallPlanner> PlanRace::TakePlanner() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty() || scenario_.model.moe()) {
    return std::make_unique<CallPlanner>(
        network_, PlannerOptions{.fidelity = options_.run.fidelity,
                                 .one_of_alike = true});
  }
  std::unique_ptr<CallPlanner> planner = std::move(idle_.back());
  idle_.pop_back();
  return planner;
}

void PlanRace::ReturnPlanner(std::unique_ptr<CallPlanner> planner) {
  if (scenario_.model.moe()) return;
  planner->ForgetIfMany();
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(planner));
}

std::optional<FoldingVerdict> PlanRace::VerdictOf(PlanChoice choice) {
  choice.recompute = RecomputeChoice::kNone;
  const std::lock_guard lock(mutex_);
  const auto known = verdicts_.find(choice);
  if (known == verdicts_.end()) return std::nullopt;
  return known->second;
}

void PlanRace::Remember(PlanChoice choice, const FoldingVerdict& verdict) {
  // Calls that must stay apart are those of one program.
  if (!verdict.apart.empty()) return;
  choice.recompute = RecomputeChoice::kNone;
  const std::lock_guard lock(mutex_);
  verdicts_.try_emplace(choice, verdict);
}

PlanRace::Outcome PlanRace::Simulate(const FoundPlan& plan) {
  Outcome outcome{.finisher = std::nullopt, .events = kEventsOfPlan};
  const auto scenario =
      WithPlan(given_, WithChoice(given_.training(), plan.choice));
  if (!scenario.ok()) return outcome;
  std::unique_ptr<CallPlanner> planner = TakePlanner();
  RunOptions options = options_.run;
  options.planner = planner.get();
  options.folding = VerdictOf(plan.choice);
  const auto run = RunTraining(
      {scenario->model, scenario->system, scenario->kernels, network_},
      *scenario->training(), options);
  ReturnPlanner(std::move(planner));
  if (!run.ok()) return outcome;
  if (run->folding) Remember(plan.choice, *run->folding);
  outcome.events += run->result.events;
  outcome.too_large =
      MemoryNeeded(*scenario, run->memory) > PlannedCapacity(scenario->system);
  if (outcome.too_large) return outcome;
  outcome.finisher =
      Finisher{plan, ToSeconds(run->result.end), !run->nearly.empty()};
  return outcome;
}

bool PlanRace::HasEffort() const {
  return options_.simulate ? simulated_ < *options_.simulate
                           : events_ < options_.effort;
}

double PlanRace::progress() const {
  return options_.simulate
             ? static_cast<double>(simulated_) / *options_.simulate
             : static_cast<double>(events_) /
                   static_cast<double>(options_.effort);
}

bool PlanRace::RunRound(Which which) {
  if (!HasEffort()) return false;
  std::erase_if(runners_, [&](const Runner& runner) {
    return runner.open && runner.found.bound_s >= limit_s_;
  });
  const std::vector<size_t> picked = Pick(which);
  if (picked.empty()) return false;
  std::vector<Outcome> outcomes(picked.size());
  InParallel(picked.size(), [&](size_t i) {
    outcomes[i] = Simulate(runners_[picked[i]].found);
  });
  for (size_t i = 0; i < picked.size(); ++i) {
    Runner& runner = runners_[picked[i]];
    runner.open = false;
    ++simulated_;
    events_ += outcomes[i].events;
    too_large_ += outcomes[i].too_large;
    if (!outcomes[i].finisher) continue;
    const Finisher& finisher = *outcomes[i].finisher;
    const double ratio = finisher.step_s / runner.found.step_s;
    double& known =
        ratios_.try_emplace(FamilyOf(runner.found.choice), ratio).first->second;
    known = std::min(known, ratio);
    least_ratio_ = std::min(least_ratio_, known);
    LowerLimit(finisher.step_s);
    finishers_.push_back(finisher);
  }
  return true;
}

std::vector<Finisher> PlanRace::Finishers() const {
  std::vector<Finisher> finishers = finishers_;
  std::sort(finishers.begin(), finishers.end(),
            [](const Finisher& a, const Finisher& b) {
              return std::pair(a.step_s, a.found.choice) <
                     std::pair(b.step_s, b.found.choice);
            });
  return finishers;
}

double PlanRace::open_bound_s() const {
  double least = limit_s_;
  for (const Runner& runner : runners_) {
    if (runner.open) least = std::min(least, runner.found.bound_s);
  }
  return least;
}

int PlanRace::RankOf(const FoundPlan& plan) const {
  const auto faster = [&](const Runner& runner) {
    return std::pair(runner.found.step_s, runner.found.choice) <
           std::pair(plan.step_s, plan.choice);
  };
  return 1 + static_cast<int>(
                 std::count_if(runners_.begin(), runners_.end(), faster));
}

}  // namespace orrery
