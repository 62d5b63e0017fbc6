#include "run/search/plan_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "analytic/step/step_estimate.h"
#include "base/parallel.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "run/report.h"

namespace orrery {
namespace {

// Kernel choices that are looked at before plans are compared again. A number
// of its own, not that of the processors: what is pruned must not depend on
// the machine.
constexpr size_t kRound = 8;

bool Faster(const FoundPlan& a, const FoundPlan& b) {
  return std::pair(a.step_s, a.choice) < std::pair(b.step_s, b.choice);
}

class Searcher {
 public:
  Searcher(const ResolvedScenario& scenario, const pb::Training& said,
           const PlanSearchOptions& options)
      : scenario_(scenario),
        said_(said),
        options_(options),
        space_(scenario.proto.training(), scenario.model,
               scenario.system.chips(), options.kept),
        capacity_(MemoryCapacity(scenario.system)) {}

  absl::StatusOr<PlanSearch> Run() {
    std::vector<Group> groups(space_.kernels().size());
    Tell("looking for plans", 0);
    std::vector<absl::Status> errors(groups.size());
    InParallel(groups.size(), [&](size_t i) {
      errors[i] = FindFloor(space_.kernels()[i], &groups[i]);
    });
    for (const absl::Status& error : errors) RETURN_IF_ERROR(error);
    std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
      return std::pair(a.floor, a.kernels) < std::pair(b.floor, b.kernels);
    });
    for (size_t begin = 0; begin < groups.size(); begin += kRound) {
      Tell("estimating plans",
           static_cast<double>(begin) / static_cast<double>(groups.size()));
      RETURN_IF_ERROR(RunRound(absl::MakeSpan(groups).subspan(
          begin, std::min(kRound, groups.size() - begin))));
    }
    return std::move(result_);
  }

 private:
  struct Group {
    KernelChoice kernels;
    // No plan of the group takes less; infinite if none is legal.
    double floor = std::numeric_limits<double>::infinity();
    PlanSearch found = {};
  };

  std::optional<TrainingPlan> PlanOf(const PlanChoice& choice) const {
    pb::Training proto = WithChoice(said_, choice);
    FillTrainingDefaults(scenario_.proto, &proto);
    auto plan = TrainingPlan::FromProto(
        proto, scenario_.model, scenario_.system,
        scenario_.training()->framework(), scenario_.training()->variation());
    if (!plan.ok()) return std::nullopt;
    return *std::move(plan);
  }

  absl::StatusOr<StepEstimator> Estimator() const {
    return StepEstimator::Create(scenario_.model, scenario_.system,
                                 scenario_.kernels);
  }

  // Kernels depend on the group and on how context and tokens travel.
  absl::Status FindFloor(const KernelChoice& kernels, Group* group) const {
    group->kernels = kernels;
    ASSIGN_OR_RETURN(StepEstimator estimator, Estimator());
    using Methods =
        std::pair<pb::Training::ContextMethod, pb::Training::DispatchMethod>;
    std::vector<Methods> seen;
    space_.ForEach(kernels, [&](PlanChoice choice) {
      const Methods methods(choice.context_method, choice.dispatch);
      if (std::find(seen.begin(), seen.end(), methods) != seen.end()) return;
      choice.recompute = RecomputeChoice::kNone;
      const std::optional<TrainingPlan> plan = PlanOf(choice);
      if (!plan) return;
      seen.push_back(methods);
      group->floor = std::min(group->floor, estimator.KernelFloor(*plan));
    });
    return absl::OkStatus();
  }

  absl::Status RunRound(absl::Span<Group> groups) {
    const double slowest =
        options_.prune &&
                result_.best.size() >= static_cast<size_t>(options_.best)
            ? result_.best.back().step_s
            : std::numeric_limits<double>::infinity();
    std::vector<absl::Status> errors(groups.size());
    InParallel(groups.size(), [&](size_t i) {
      errors[i] =
          groups[i].floor < slowest ? Estimate(&groups[i]) : Count(&groups[i]);
    });
    for (size_t i = 0; i < groups.size(); ++i) {
      RETURN_IF_ERROR(errors[i]);
      Merge(groups[i].found);
    }
    return absl::OkStatus();
  }

  absl::Status Estimate(Group* group) const {
    ASSIGN_OR_RETURN(StepEstimator estimator, Estimator());
    PlanSearch& found = group->found;
    space_.ForEach(group->kernels, [&](const PlanChoice& choice) {
      const std::optional<TrainingPlan> plan = PlanOf(choice);
      if (!plan) {
        ++found.illegal;
        return;
      }
      const StepEstimate estimate = estimator.Estimate(*plan);
      ++found.estimated;
      if (estimate.reserved > capacity_) {
        ++found.too_large;
        return;
      }
      found.best.push_back({choice, estimate.step_s(), estimate.peak});
      if (found.best.size() >= 2 * static_cast<size_t>(options_.best)) {
        Trim(&found.best);
      }
    });
    Trim(&found.best);
    return absl::OkStatus();
  }

  absl::Status Count(Group* group) const {
    int64_t& count = group->floor < std::numeric_limits<double>::infinity()
                         ? group->found.pruned
                         : group->found.illegal;
    space_.ForEach(group->kernels, [&](const PlanChoice&) { ++count; });
    return absl::OkStatus();
  }

  void Trim(std::vector<FoundPlan>* plans) const {
    std::sort(plans->begin(), plans->end(), Faster);
    if (plans->size() > static_cast<size_t>(options_.best)) {
      plans->resize(static_cast<size_t>(options_.best));
    }
  }

  void Merge(const PlanSearch& found) {
    result_.best.insert(result_.best.end(), found.best.begin(),
                        found.best.end());
    Trim(&result_.best);
    result_.estimated += found.estimated;
    result_.illegal += found.illegal;
    result_.pruned += found.pruned;
    result_.too_large += found.too_large;
  }

  void Tell(std::string_view stage, double done) const {
    if (options_.progress) options_.progress(stage, done);
  }

  const ResolvedScenario& scenario_;
  const pb::Training& said_;
  const PlanSearchOptions& options_;
  PlanSpace space_;
  Bytes capacity_;
  PlanSearch result_;
};

}  // namespace

absl::StatusOr<PlanSearch> SearchPlans(const ResolvedScenario& scenario,
                                       const pb::Training& said,
                                       const PlanSearchOptions& options) {
  return Searcher(scenario, said, options).Run();
}

}  // namespace orrery
