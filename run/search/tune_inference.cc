#include "run/search/tune_inference.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/parallel.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "catalog/override.h"
#include "run/requests/inference_report.h"
#include "run/requests/scenario_report.h"
#include "run/search/differences.h"
#include "run/report_value.h"

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
  size_t place = 0;  // in the space
  double rank = 0;   // less is better
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
    space_ = ServingSpace(scenario_, options_.space);
    std::vector<ServingCandidate> candidates = EstimateAll();
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
    if (!scenario.ok()) return candidate;
    const auto report = EstimateInference(*scenario);
    if (!report.ok()) return candidate;
    if (!report->memory().fits()) {
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
    Tell("simulating the best", 0);
    pb::Tuning::Plan& plan = *tuning_.mutable_said();
    plan.set_description("as said");
    ASSIGN_OR_RETURN(*plan.mutable_report(), ReportScenario(scenario_, run_));
    plan.set_objective(ObjectiveOf(plan.report(), options_.objective));
    plan.set_estimated_step_time_s(
        plan.report().inference().estimated_end_to_end_s());
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

  // In rounds of as many as are wanted, until so many hold the limits when
  // simulated, too.
  absl::Status SimulateBest(absl::Span<const ServingCandidate> candidates) {
    const auto wanted = static_cast<size_t>(options_.simulate);
    size_t next = 0;
    size_t good = 0;
    while (good < wanted && next < candidates.size() && next < 4 * wanted) {
      const size_t count = std::min(wanted - good, candidates.size() - next);
      std::vector<absl::StatusOr<pb::Tuning::Plan>> plans(count);
      InParallel(count, [&](size_t i) {
        plans[i] =
            Simulate(candidates[next + i], static_cast<int>(next + i) + 1);
      });
      for (auto& plan : plans) {
        RETURN_IF_ERROR(plan.status());
        ASSIGN_OR_RETURN(const bool within, WithinLimits(plan->report()));
        if (!within || !plan->report().memory().fits()) {
          tuning_.set_plans_beyond_limits(tuning_.plans_beyond_limits() + 1);
          continue;
        }
        ++good;
        *tuning_.add_plans() = *std::move(plan);
      }
      next += count;
    }
    std::stable_sort(tuning_.mutable_plans()->begin(),
                     tuning_.mutable_plans()->end(),
                     [&](const auto& a, const auto& b) {
                       return std::pair(RankOf(a.report(), options_.objective),
                                        a.estimated_rank()) <
                              std::pair(RankOf(b.report(), options_.objective),
                                        b.estimated_rank());
                     });
    return absl::OkStatus();
  }

  const pb::Scenario& said_;
  const ResolvedScenario& scenario_;
  const ServingOptions& options_;
  RunOptions run_;
  std::vector<std::vector<std::string>> space_;
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
