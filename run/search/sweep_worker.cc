#include "run/search/sweep_worker.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "accuracy/trust/trust.h"
#include "analytic/step/step_estimate.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "catalog/legal.h"
#include "catalog/override.h"
#include "catalog/resolve.h"
#include "run/derived_chip.h"
#include "run/report.h"
#include "run/report_value.h"
#include "run/requests/scenario_report.h"
#include "run/search/tune.h"
#include "run/search/tune_inference.h"
#include "run/training_report.h"

namespace orrery {
namespace {

// Only the first mistake of many, on one line.
std::string Problem(const absl::Status& status) {
  const std::string text(status.message());
  return text.substr(0, text.find('\n'));
}

// What points share that differ in the training plan only.
struct SweepGround {
  pb::Scenario said;  // without defaults
  Model model;
  System system;
  Kernels kernels;
  Framework framework;
  Variation variation;
};

}  // namespace

class SweepWorker::Bench {
 public:
  Bench(const Study& study, const Catalog& catalog)
      : study_(study),
        catalog_(catalog),
        machine_axes_(static_cast<size_t>(
            std::count_if(study.axes().begin(), study.axes().end(),
                          [](const auto& axis) { return !axis.plan_only; }))),
        values_(study.axes().size()),
        plans_(study.axes().size() + 1) {}

  SweepRow Row(int64_t point, pb::Study::Method method) {
    SweepRow row;
    row.point = point;
    const absl::Status status = Work(study_.PointAt(point), method, &row);
    if (!status.ok()) {
      row.problem = Problem(status);
      row.columns.clear();
    }
    return row;
  }

 private:
  absl::Status Work(std::vector<int> digits, pb::Study::Method method,
                    SweepRow* row) {
    const absl::Status status = Turn(std::move(digits));
    row->values = values_;
    RETURN_IF_ERROR(status);
    ASSIGN_OR_RETURN(const pb::Report report, Report(method));
    return Fill(report, row);
  }

  // From the point before to the one with these digits. Points follow each
  // other: what the axes before the first that turns have done stays.
  absl::Status Turn(std::vector<int> digits) {
    size_t first = 0;
    while (first < digits_.size() && digits_[first] == digits[first]) ++first;
    digits_ = std::move(digits);
    // A mistake of those axes stays as well.
    if (failed_ && *failed_ <= first) return status_;
    failed_.reset();
    current_plans_ = std::min(current_plans_, first);
    std::fill(values_.begin() + static_cast<ptrdiff_t>(first), values_.end(),
              "");
    const bool turns = ground_ == nullptr || first < machine_axes_;
    RETURN_IF_ERROR(SetValues(first, machine_axes_));
    if (turns) RETURN_IF_ERROR(Failed(machine_axes_, MakeMachine()));
    return SetValues(std::max(first, machine_axes_), digits_.size());
  }

  // Keeps the status if it is an error, which the first so many axes make.
  absl::Status Failed(size_t axes, absl::Status status) {
    status_ = std::move(status);
    if (!status_.ok()) failed_ = axes;
    return status_;
  }

  absl::Status SetValues(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      RETURN_IF_ERROR(Failed(i + 1, SetValue(i)));
    }
    return absl::OkStatus();
  }

  absl::Status SetValue(size_t axis_index) {
    const StudyAxis& axis = study_.axes()[axis_index];
    std::string& value = values_[axis_index];
    if (!axis.expression) {
      value = axis.values[static_cast<size_t>(digits_[axis_index])];
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const double number,
                     axis.expression->Evaluate([&](std::string_view name) {
                       return Lookup(name, nullptr);
                     }));
    if (!axis.unit.empty()) {
      value = fmt::format("{}", number);
      return absl::OkStatus();
    }
    if (number != std::floor(number)) {
      return absl::InvalidArgumentError(
          fmt::format("{}: '{}' is {}, which is not a whole number", axis.path,
                      axis.expression->text(), number));
    }
    value = fmt::format("{:.0f}", number);
    return absl::OkStatus();
  }

  // What an axis says now.
  std::vector<std::string> SetsOf(size_t axis_index) const {
    const StudyAxis& axis = study_.axes()[axis_index];
    if (!axis.expression) {
      return axis.sets[static_cast<size_t>(digits_[axis_index])];
    }
    return {fmt::format("{}={} {}", axis.path, values_[axis_index], axis.unit)};
  }

  std::optional<double> Lookup(std::string_view name,
                               const pb::Report* report) const {
    for (size_t i = 0; i < study_.axes().size(); ++i) {
      if (study_.axes()[i].name != name) continue;
      double value = 0;
      if (!absl::SimpleAtod(values_[i], &value)) return std::nullopt;
      return value;
    }
    if (ground_ != nullptr && name == "chips") {
      return static_cast<double>(ground_->system.chips());
    }
    if (ground_ != nullptr && name == "nodes") {
      return ground_->said.system().nodes();
    }
    if (study_.technology() && name == "technology.made_dollars") {
      return price_.made;
    }
    if (study_.technology() && name == "technology.sold_dollars") {
      return price_.sold;
    }
    if (report == nullptr) return std::nullopt;
    return ReportValue(*report, name);
  }

  // All that points have in common as long as no axis of the machine turns.
  absl::Status MakeMachine() {
    ground_ = nullptr;
    estimator_.reset();
    std::vector<std::string> sets = study_.sets();
    for (size_t i = 0; i < machine_axes_; ++i) {
      for (std::string& set : SetsOf(i)) sets.push_back(std::move(set));
    }
    return MakeGround(sets);
  }

  absl::StatusOr<pb::Scenario> Merge(const std::vector<std::string>& sets) {
    std::vector<std::string> of_scenario;
    pb::Study made;
    if (study_.technology()) *made.mutable_technology() = *study_.technology();
    for (const std::string& set : sets) {
      if (!IsOfTechnology(set)) {
        of_scenario.push_back(set);
        continue;
      }
      ASSIGN_OR_RETURN(const Override each, ParseOverride(set));
      RETURN_IF_ERROR(ApplyOverride(each, &made));
    }
    RETURN_IF_ERROR(CheckLegal(made.technology(), "technology"));
    ASSIGN_OR_RETURN(pb::Scenario said,
                     MergeScenario(catalog_, study_.scenario(), of_scenario));
    if (study_.technology()) {
      auto price = ApplyTechnology(catalog_, made.technology(), &said);
      if (!price.ok()) return Annotate(price.status(), "technology");
      price_ = *price;
    }
    return said;
  }

  absl::Status MakeGround(const std::vector<std::string>& sets) {
    ASSIGN_OR_RETURN(pb::Scenario said, Merge(sets));
    pb::Scenario filled = said;
    FillDefaults(&filled);
    RETURN_IF_ERROR(CheckLegal(filled, ""));
    ASSIGN_OR_RETURN(Model model, Model::FromProto(filled.model()));
    ASSIGN_OR_RETURN(System system,
                     SystemOf(filled.system(), filled.inference()));
    ASSIGN_OR_RETURN(Kernels kernels, Kernels::FromProto(filled.kernels()));
    RETURN_IF_ERROR(kernels.CheckRoomOn(system.chip()));
    ASSIGN_OR_RETURN(Framework framework,
                     Framework::FromProto(filled.framework()));
    ASSIGN_OR_RETURN(const Variation variation,
                     Variation::FromProto(filled.variation()));
    trust_.emplace(std::move(filled));
    ground_ = std::make_unique<SweepGround>(
        SweepGround{std::move(said), std::move(model), std::move(system),
                    std::move(kernels), std::move(framework), variation});
    return absl::OkStatus();
  }

  absl::StatusOr<pb::Report> Report(pb::Study::Method method) {
    switch (method) {
      case pb::Study::METHOD_UNSPECIFIED:
      case pb::Study::ESTIMATE:
      case pb::Study::ESTIMATE_THEN_SIMULATE:
        return Estimated();
      case pb::Study::SIMULATE: {
        ASSIGN_OR_RETURN(pb::Scenario said, Said());
        FillDefaults(&said);
        ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                         MakeScenario(std::move(said)));
        return ReportScenario(scenario, {});
      }
      case pb::Study::TUNE: {
        ASSIGN_OR_RETURN(const pb::Scenario said, Said());
        ASSIGN_OR_RETURN(const pb::Tuning tuning, said.has_training()
                                                      ? TunedTraining(said)
                                                      : TunedServing(said));
        if (tuning.plans().empty()) return NoFit();
        return tuning.plans(0).report();
      }
    }
    return absl::InternalError("no such method");
  }

  absl::StatusOr<pb::Tuning> TunedTraining(const pb::Scenario& said) const {
    ASSIGN_OR_RETURN(std::vector<PlanAxis> kept, study_.KeptOfTraining());
    return Tune(said, {.search = {.kept = std::move(kept)}, .best = 1});
  }
  absl::StatusOr<pb::Tuning> TunedServing(const pb::Scenario& said) const {
    ASSIGN_OR_RETURN(std::vector<ServingAxis> kept, study_.KeptOfServing());
    return TuneServing(said,
                       {.objective = Objective::kCost,
                        .space = {.kept = std::move(kept), .batches = true},
                        .best = 1});
  }

  // The scenario of the point, without defaults.
  absl::StatusOr<pb::Scenario> Said() const {
    pb::Scenario said = ground_->said;
    for (size_t i = machine_axes_; i < digits_.size(); ++i) {
      RETURN_IF_ERROR(Apply(SetsOf(i), &said));
    }
    return said;
  }

  // The training plan alone, in a scenario without anything else: the machine,
  // which is larger, stays as it is.
  absl::StatusOr<const pb::Scenario*> Plan() {
    if (current_plans_ <= machine_axes_) {
      current_plans_ = machine_axes_;
      plans_[machine_axes_].Clear();
      *plans_[machine_axes_].mutable_training() = ground_->said.training();
    }
    for (; current_plans_ < digits_.size(); ++current_plans_) {
      pb::Scenario& next = plans_[current_plans_ + 1];
      next = plans_[current_plans_];
      RETURN_IF_ERROR(Apply(SetsOf(current_plans_), &next));
    }
    return &plans_.back();
  }

  static absl::Status Apply(const std::vector<std::string>& sets,
                            pb::Scenario* scenario) {
    for (const std::string& set : sets) {
      ASSIGN_OR_RETURN(const Override each, ParseOverride(set));
      RETURN_IF_ERROR(ApplyOverride(each, scenario));
    }
    return absl::OkStatus();
  }

  static absl::Status NoFit() {
    return absl::ResourceExhaustedError("does not fit into memory");
  }

  absl::StatusOr<pb::Report> Estimated() {
    // Money and requests need the whole scenario.
    if (!ground_->said.has_training() || study_.needs_cost()) {
      ASSIGN_OR_RETURN(pb::Scenario whole, Said());
      FillDefaults(&whole);
      ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                       MakeScenario(std::move(whole)));
      return EstimateReport(scenario);
    }
    ASSIGN_OR_RETURN(const pb::Scenario* said, Plan());
    training_ = said->training();
    FillTrainingDefaults(ground_->said, &training_);
    ASSIGN_OR_RETURN(
        const TrainingPlan plan,
        TrainingPlan::FromProto(training_, ground_->model, ground_->system,
                                ground_->framework, ground_->variation));
    if (!estimator_) {
      ASSIGN_OR_RETURN(StepEstimator made,
                       StepEstimator::Create(ground_->model, ground_->system,
                                             ground_->kernels));
      estimator_ = std::make_unique<StepEstimator>(std::move(made));
    }
    const StepEstimate estimate = estimator_->Estimate(plan);
    pb::Report report;
    report.set_step_time_s(estimate.step_s());
    FillTrainingThroughput(ground_->model, ground_->system, plan,
                           estimate.step_s(), estimate.recomputed, report);
    FillEstimate(estimate, *report.mutable_estimate());
    pb::Report::Memory& memory = *report.mutable_memory();
    memory.set_peak_bytes(estimate.peak.value());
    memory.set_capacity_bytes(MemoryCapacity(ground_->system).value());
    memory.set_reserved_bytes(estimate.reserved.value());
    memory.set_fits(memory.reserved_bytes() <= memory.capacity_bytes());
    FillTrust(trust_->Of(training_), report);
    return report;
  }

  absl::Status Fill(const pb::Report& report, SweepRow* row) const {
    if (report.has_memory() && !report.memory().fits()) return NoFit();
    const auto lookup = [&](std::string_view name) {
      return Lookup(name, &report);
    };
    const auto evaluate =
        [&](const Expression& expression) -> absl::StatusOr<double> {
      absl::StatusOr<double> value = expression.Evaluate(lookup);
      if (value.ok()) return value;
      for (const std::string& name : expression.names()) {
        if (lookup(name)) continue;
        return absl::NotFoundError(absl::StrCat(kLacksNumber, "'", name, "'"));
      }
      return value;
    };
    for (const Expression& constraint : study_.constraints()) {
      ASSIGN_OR_RETURN(const double holds, evaluate(constraint));
      if (holds == 0) {
        return absl::OutOfRangeError(
            fmt::format("constraint '{}'", constraint.text()));
      }
    }
    std::vector<double> columns;
    for (const StudyColumn& column : study_.columns()) {
      ASSIGN_OR_RETURN(const double value, evaluate(column.expression));
      columns.push_back(value);
    }
    row->columns = std::move(columns);
    row->trust = LevelText(report.trust_basis().level());
    if (report.trust_basis().has_mean_error()) {
      row->trust_error = report.trust_basis().mean_error();
    }
    return absl::OkStatus();
  }

  const Study& study_;
  const Catalog& catalog_;
  const size_t machine_axes_;  // those before the first of the plan
  // The point, and why it has no answer: so many axes make it so.
  std::vector<int> digits_;
  std::vector<std::string> values_;
  absl::Status status_;
  std::optional<size_t> failed_;
  // What its machine is.
  std::unique_ptr<SweepGround> ground_;
  ChipPrice price_;  // of a technology
  std::unique_ptr<StepEstimator> estimator_;
  // The plan before its i-th axis; up to `current_plans_` as the digits say.
  std::vector<pb::Scenario> plans_;
  size_t current_plans_ = 0;
  pb::Training training_;  // with defaults
  std::optional<PlanTrust> trust_;
};

SweepWorker::SweepWorker(const Study& study, const Catalog& catalog)
    : bench_(std::make_unique<Bench>(study, catalog)) {}
SweepWorker::~SweepWorker() = default;

SweepRow SweepWorker::Row(int64_t point, pb::Study::Method method) {
  return bench_->Row(point, method);
}

}  // namespace orrery
