#include "run/search/tune_inference.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/parallel.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "catalog/override.h"
#include "run/report_value.h"
#include "run/requests/inference_report.h"
#include "run/requests/scenario_report.h"
#include "run/search/differences.h"
#include "run/search/headroom.h"

namespace orrery {
namespace {

absl::StatusOr<ResolvedScenario> With(const pb::Scenario& said,
                                      absl::Span<const std::string> settings) {
  pb::Scenario scenario = said;
  for (const std::string& setting : settings) {
    ASSIGN_OR_RETURN(const Override each, ParseOverride(setting));
    RETURN_IF_ERROR(ApplyOverride(each, &scenario));
  }
  FillDefaults(&scenario);
  return MakeScenario(std::move(scenario));
}

// What became of a candidate.
struct ServingCandidate {
  enum class Fate : uint8_t { kIllegal, kTooLarge, kBeyondLimits, kGood };
  Fate fate = Fate::kIllegal;
  absl::Status why_not = {};  // of an illegal one
  size_t place = 0;           // in the space
  double rank = 0;            // less is better
  double estimate = 0;
};

class ServingTuner {
 public:
  ServingTuner(const pb::Scenario& said, const ResolvedScenario& scenario,
               const ServingOptions& options)
      : said_(said), scenario_(scenario), options_(options) {
    run_ = options.run;
    run_.record = false;
    run_.progress = {};
  }

  absl::StatusOr<pb::Tuning> Run() {
    tuning_.set_scenario(scenario_.proto.name());
    tuning_.set_objective(std::string(Name(options_.objective)));
    const std::string headroom = HeadroomNote(scenario_.system);
    if (!headroom.empty()) tuning_.add_notes(headroom);
    space_ = ServingSpace(scenario_, options_.space);
    std::vector<ServingCandidate> candidates = EstimateAll();
    if (tuning_.plans_estimated() == 0) {
      return Annotate(first_refusal_,
                      fmt::format("none of the {} plans that are searched is "
                                  "legal; the first",
                                  space_.size()));
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const ServingCandidate& a, const ServingCandidate& b) {
                       return std::pair(a.rank, a.place) <
                              std::pair(b.rank, b.place);
                     });
    RETURN_IF_ERROR(SimulateSaid());
    RETURN_IF_ERROR(SimulateBest(candidates));
    CompareBest(tuning_);
    return std::move(tuning_);
  }

 private:
  void Tell(std::string_view stage, double done) const {
    if (options_.progress) options_.progress(stage, done);
  }

  // With the headroom.
  bool Fits(const pb::Report& report) const {
    const pb::Report::Memory& memory = report.memory();
    return memory.fits() &&
           static_cast<double>(
               std::max(memory.peak_bytes(), memory.reserved_bytes())) <=
               (1 - scenario_.system.memory_headroom()) *
                   static_cast<double>(memory.capacity_bytes());
  }

  absl::StatusOr<bool> WithinLimits(const pb::Report& report) const {
    for (const Expression& limit : options_.limits) {
      ASSIGN_OR_RETURN(const double holds,
                       limit.Evaluate([&](std::string_view name) {
                         return ReportValue(report, name);
                       }));
      if (holds == 0) return false;
    }
    return true;
  }

  ServingCandidate Estimate(size_t place) const {
    ServingCandidate candidate{.place = place};
    const auto scenario = With(said_, space_[place]);
    if (!scenario.ok()) {
      candidate.why_not = scenario.status();
      return candidate;
    }
    const auto report = EstimateInference(*scenario);
    if (!report.ok()) {
      candidate.why_not = report.status();
      return candidate;
    }
    if (!Fits(*report)) {
      candidate.fate = ServingCandidate::Fate::kTooLarge;
      return candidate;
    }
    const absl::StatusOr<bool> within = WithinLimits(*report);
    candidate.fate = within.ok() && *within
                         ? ServingCandidate::Fate::kGood
                         : ServingCandidate::Fate::kBeyondLimits;
    candidate.rank = RankOf(*report, options_.objective);
    candidate.estimate = options_.objective == Objective::kTime
                             ? report->inference().end_to_end_s()
                             : report->tokens_per_s();
    return candidate;
  }

  // Those that are good. In blocks, so that progress can be told.
  std::vector<ServingCandidate> EstimateAll() {
    constexpr size_t kBlock = 256;
    std::vector<ServingCandidate> good;
    int64_t illegal = 0;
    int64_t too_large = 0;
    int64_t beyond = 0;
    for (size_t begin = 0; begin < space_.size(); begin += kBlock) {
      Tell("estimating",
           static_cast<double>(begin) / static_cast<double>(space_.size()));
      std::vector<ServingCandidate> block(
          std::min(kBlock, space_.size() - begin));
      InParallel(block.size(),
                 [&](size_t i) { block[i] = Estimate(begin + i); });
      for (const ServingCandidate& each : block) {
        switch (each.fate) {
          case ServingCandidate::Fate::kIllegal:
            if (illegal == 0) first_refusal_ = each.why_not;
            ++illegal;
            break;
          case ServingCandidate::Fate::kTooLarge:
            ++too_large;
            break;
          case ServingCandidate::Fate::kBeyondLimits:
            ++beyond;
            break;
          case ServingCandidate::Fate::kGood:
            good.push_back(each);
            break;
        }
      }
    }
    const auto all = static_cast<int64_t>(space_.size());
    tuning_.set_plans_considered(all);
    tuning_.set_plans_estimated(all - illegal);
    tuning_.set_plans_pruned(0);
    tuning_.set_plans_illegal(illegal);
    tuning_.set_plans_too_large(too_large);
    tuning_.set_plans_beyond_limits(beyond);
    return good;
  }

  absl::Status SimulateSaid() {
    Tell("simulating the plan as given", 0);
    pb::Tuning::Plan& plan = *tuning_.mutable_said();
    plan.set_description("as given");
    ASSIGN_OR_RETURN(*plan.mutable_report(), ReportScenario(scenario_, run_));
    plan.set_objective(ObjectiveOf(plan.report(), options_.objective));
    plan.set_estimated_step_time_s(
        plan.report().inference().estimated_end_to_end_s());
    ASSIGN_OR_RETURN(const bool within, WithinLimits(plan.report()));
    said_is_good_ = within && plan.report().memory().fits();
    return absl::OkStatus();
  }

  absl::StatusOr<pb::Tuning::Plan> Simulate(const ServingCandidate& candidate,
                                            int rank) const {
    const std::vector<std::string>& settings = space_[candidate.place];
    pb::Tuning::Plan plan;
    plan.set_description(DescribeServing(settings));
    for (const std::string& setting : settings) plan.add_settings(setting);
    plan.set_estimated_rank(rank);
    plan.set_estimated_objective(candidate.estimate);
    ASSIGN_OR_RETURN(const ResolvedScenario scenario, With(said_, settings));
    ASSIGN_OR_RETURN(*plan.mutable_report(), ReportScenario(scenario, run_));
    plan.set_estimated_step_time_s(
        plan.report().inference().estimated_end_to_end_s());
    plan.set_objective(ObjectiveOf(plan.report(), options_.objective));
    return plan;
  }

  // In rounds, the most promising first.
  absl::Status SimulateBest(absl::Span<const ServingCandidate> candidates) {
    // A number of its own, not that of the processors: what is simulated must
    // not depend on the machine.
    constexpr size_t kRound = 4;
    const auto most = static_cast<size_t>(options_.simulate);
    std::vector<pb::Tuning::Plan> good;
    if (said_is_good_) good.push_back(tuning_.said());
    const auto rank_of = [&](const pb::Tuning::Plan& plan) {
      return RankOf(plan.report(), options_.objective);
    };
    double best = std::numeric_limits<double>::infinity();
    for (const pb::Tuning::Plan& plan : good) best = rank_of(plan);
    // The least that simulation made of a closed form.
    double ratio = 1;
    size_t next = 0;
    while (next < std::min(most, candidates.size()) &&
           (good.size() < static_cast<size_t>(options_.best) ||
            candidates[next].rank * ratio < best)) {
      Tell("simulating the best",
           static_cast<double>(next) / static_cast<double>(most));
      const size_t count =
          std::min({kRound, most - next, candidates.size() - next});
      std::vector<absl::StatusOr<pb::Tuning::Plan>> plans(count);
      InParallel(count, [&](size_t i) {
        plans[i] =
            Simulate(candidates[next + i], static_cast<int>(next + i) + 1);
      });
      for (size_t i = 0; i < count; ++i) {
        RETURN_IF_ERROR(plans[i].status());
        const double rank = rank_of(*plans[i]);
        ratio = std::min(ratio, rank / candidates[next + i].rank);
        ASSIGN_OR_RETURN(const bool within, WithinLimits(plans[i]->report()));
        if (!within || !Fits(plans[i]->report())) {
          tuning_.set_plans_beyond_limits(tuning_.plans_beyond_limits() + 1);
          continue;
        }
        best = std::min(best, rank);
        good.push_back(*std::move(plans[i]));
      }
      next += count;
    }
    tuning_.set_plans_simulated(static_cast<int64_t>(next));
    // Closed forms decide which plans keep the limits.
    tuning_.set_proved(next == candidates.size() && options_.limits.empty());
    std::stable_sort(good.begin(), good.end(),
                     [&](const auto& a, const auto& b) {
                       return std::pair(rank_of(a), a.estimated_rank()) <
                              std::pair(rank_of(b), b.estimated_rank());
                     });
    for (size_t i = 0;
         i < good.size() && i < static_cast<size_t>(options_.best); ++i) {
      *tuning_.add_plans() = std::move(good[i]);
    }
    return absl::OkStatus();
  }

  const pb::Scenario& said_;
  const ResolvedScenario& scenario_;
  const ServingOptions& options_;
  RunOptions run_;
  std::vector<std::vector<std::string>> space_;
  absl::Status first_refusal_;
  bool said_is_good_ = false;
  pb::Tuning tuning_;
};

}  // namespace

absl::StatusOr<pb::Tuning> TuneServing(const pb::Scenario& said,
                                       const ServingOptions& options) {
  ASSIGN_OR_RETURN(const ResolvedScenario scenario, With(said, {}));
  if (scenario.inference() == nullptr) {
    return absl::InvalidArgumentError("the scenario trains");
  }
  return ServingTuner(said, scenario, options).Run();
}

}  // namespace orrery
