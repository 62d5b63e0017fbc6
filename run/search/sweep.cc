#include "run/search/sweep.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "analytic/step/step_estimate.h"
#include "base/format.h"
#include "base/parallel.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "catalog/override.h"
#include "catalog/resolve.h"
#include "run/report.h"
#include "run/requests/scenario_report.h"
#include "run/search/report_value.h"
#include "run/search/tune.h"
#include "run/search/tune_inference.h"
#include "run/training_report.h"

namespace orrery {
namespace {

// Points that one thread works out in a row.
constexpr int64_t kChunk = 512;

// Only the first mistake of many, on one line.
std::string Problem(const absl::Status& status) {
  const std::string text(status.message());
  return text.substr(0, text.find('\n'));
}

// What points share that differ in the training plan only.
struct Ground {
  pb::Scenario said;  // without defaults
  Model model;
  System system;
  Kernels kernels;
  Framework framework;
  Variation variation;
};

// Points in a row, on one thread.
class Worker {
 public:
  Worker(const Study& study, const Catalog& catalog)
      : study_(study), catalog_(catalog) {}

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
  absl::Status Work(absl::Span<const int> digits, pb::Study::Method method,
                    SweepRow* row) {
    row->values.assign(study_.axes().size(), "");
    std::vector<std::string> machine = study_.sets();
    std::vector<std::string> plan;
    size_t i = 0;
    for (; i < digits.size() && !study_.axes()[i].plan_only; ++i) {
      RETURN_IF_ERROR(AddSets(i, digits[i], row, &machine));
    }
    RETURN_IF_ERROR(Prepare(machine));
    for (; i < digits.size(); ++i) {
      RETURN_IF_ERROR(AddSets(i, digits[i], row, &plan));
    }
    ASSIGN_OR_RETURN(const pb::Report report, Report(plan, method));
    return Fill(report, row);
  }

  absl::Status AddSets(size_t axis_index, int digit, SweepRow* row,
                       std::vector<std::string>* sets) const {
    const StudyAxis& axis = study_.axes()[axis_index];
    std::string& value = row->values[axis_index];
    if (!axis.expression) {
      const auto i = static_cast<size_t>(digit);
      value = axis.values[i];
      sets->insert(sets->end(), axis.sets[i].begin(), axis.sets[i].end());
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const double number,
                     axis.expression->Evaluate([&](std::string_view name) {
                       return Lookup(name, *row, nullptr);
                     }));
    if (number != std::floor(number)) {
      return absl::InvalidArgumentError(
          fmt::format("{}: '{}' is {}, no whole number", axis.path,
                      axis.expression->text(), number));
    }
    value = fmt::format("{:.0f}", number);
    sets->push_back(fmt::format("{}={}", axis.path, value));
    return absl::OkStatus();
  }

  std::optional<double> Lookup(std::string_view name, const SweepRow& row,
                               const pb::Report* report) const {
    for (size_t i = 0; i < study_.axes().size(); ++i) {
      if (study_.axes()[i].name != name) continue;
      double value = 0;
      if (!absl::SimpleAtod(row.values[i], &value)) return std::nullopt;
      return value;
    }
    if (ground_ != nullptr && name == "chips") {
      return static_cast<double>(ground_->system.chips());
    }
    if (ground_ != nullptr && name == "nodes") {
      return ground_->said.system().nodes();
    }
    if (report == nullptr) return std::nullopt;
    return ReportValue(*report, name);
  }

  // Points follow each other on the same machine, mostly.
  absl::Status Prepare(const std::vector<std::string>& sets) {
    if (prepared_ && sets == sets_) return status_;
    prepared_ = true;
    sets_ = sets;
    ground_ = nullptr;
    estimator_.reset();
    status_ = MakeGround();
    return status_;
  }

  absl::Status MakeGround() {
    ASSIGN_OR_RETURN(pb::Scenario said,
                     MergeScenario(catalog_, study_.scenario(), sets_));
    pb::Scenario filled = said;
    FillDefaults(&filled);
    ASSIGN_OR_RETURN(Model model, Model::FromProto(filled.model()));
    ASSIGN_OR_RETURN(System system,
                     SystemOf(filled.system(), filled.inference()));
    ASSIGN_OR_RETURN(Kernels kernels, Kernels::FromProto(filled.kernels()));
    RETURN_IF_ERROR(kernels.CheckRoomOn(system.chip()));
    ASSIGN_OR_RETURN(Framework framework,
                     Framework::FromProto(filled.framework()));
    ASSIGN_OR_RETURN(const Variation variation,
                     Variation::FromProto(filled.variation()));
    ground_ = std::make_unique<Ground>(
        Ground{std::move(said), std::move(model), std::move(system),
               std::move(kernels), std::move(framework), variation});
    return absl::OkStatus();
  }

  absl::StatusOr<pb::Report> Report(const std::vector<std::string>& sets,
                                    pb::Study::Method method) {
    switch (method) {
      case pb::Study::METHOD_UNSPECIFIED:
      case pb::Study::ESTIMATE:
      case pb::Study::ESTIMATE_THEN_SIMULATE:
        return Estimated(sets);
      case pb::Study::SIMULATE: {
        pb::Scenario said = ground_->said;
        RETURN_IF_ERROR(Apply(sets, &said));
        return Simulate(std::move(said));
      }
      case pb::Study::TUNE: {
        pb::Scenario said = ground_->said;
        RETURN_IF_ERROR(Apply(sets, &said));
        ASSIGN_OR_RETURN(const pb::Tuning tuning,
                         said.has_training()
                             ? Tune(said, {.simulate = 1})
                             : TuneServing(said, {.objective = Objective::kCost,
                                                  .space = {.batches = true},
                                                  .simulate = 1}));
        if (tuning.plans().empty()) return NoFit();
        return tuning.plans(0).report();
      }
    }
    return absl::InternalError("no such method");
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

  absl::StatusOr<pb::Report> Estimated(const std::vector<std::string>& sets) {
    // Money and requests need the whole scenario.
    if (!ground_->said.has_training() || study_.needs_cost()) {
      pb::Scenario whole = ground_->said;
      RETURN_IF_ERROR(Apply(sets, &whole));
      FillDefaults(&whole);
      ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                       MakeScenario(std::move(whole)));
      return EstimateReport(scenario);
    }
    // The plan alone: the machine, which is larger, stays as it is.
    pb::Scenario said;
    *said.mutable_training() = ground_->said.training();
    RETURN_IF_ERROR(Apply(sets, &said));
    FillTrainingDefaults(ground_->said, said.mutable_training());
    ASSIGN_OR_RETURN(const TrainingPlan plan,
                     TrainingPlan::FromProto(
                         said.training(), ground_->model, ground_->system,
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
    return report;
  }

  absl::StatusOr<pb::Report> Simulate(pb::Scenario said) const {
    FillDefaults(&said);
    ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                     MakeScenario(std::move(said)));
    return ReportScenario(scenario, {});
  }

  absl::Status Fill(const pb::Report& report, SweepRow* row) const {
    if (report.has_memory() && !report.memory().fits()) return NoFit();
    const auto lookup = [&](std::string_view name) {
      return Lookup(name, *row, &report);
    };
    for (const Expression& constraint : study_.constraints()) {
      ASSIGN_OR_RETURN(const double holds, constraint.Evaluate(lookup));
      if (holds == 0) {
        return absl::OutOfRangeError(
            fmt::format("constraint '{}'", constraint.text()));
      }
    }
    std::vector<double> columns;
    for (const StudyColumn& column : study_.columns()) {
      ASSIGN_OR_RETURN(const double value, column.expression.Evaluate(lookup));
      columns.push_back(value);
    }
    row->columns = std::move(columns);
    return absl::OkStatus();
  }

  const Study& study_;
  const Catalog& catalog_;
  bool prepared_ = false;
  std::vector<std::string> sets_;
  absl::Status status_;
  std::unique_ptr<Ground> ground_;
  std::unique_ptr<StepEstimator> estimator_;
};

}  // namespace

std::vector<SweepRow> Sweep::Rows(int64_t begin, int64_t end) const {
  std::vector<SweepRow> rows(static_cast<size_t>(end - begin));
  // Simulations take long enough to be handed out one by one.
  const bool simulates = study_.method() == pb::Study::SIMULATE ||
                         study_.method() == pb::Study::TUNE;
  const int64_t chunk = simulates ? 1 : kChunk;
  const int64_t chunks = (end - begin + chunk - 1) / chunk;
  InParallel(static_cast<size_t>(chunks), [&](size_t c) {
    Worker worker(study_, catalog_);
    const int64_t from = begin + static_cast<int64_t>(c) * chunk;
    for (int64_t p = from; p < std::min(end, from + chunk); ++p) {
      rows[static_cast<size_t>(p - begin)] = worker.Row(p, study_.method());
    }
  });
  return rows;
}

SweepRow Sweep::Simulated(int64_t point) const {
  return Worker(study_, catalog_).Row(point, pb::Study::SIMULATE);
}

std::vector<std::string> SettingsOf(const Study& study, const SweepRow& row) {
  std::vector<std::string> settings = study.sets();
  const std::vector<int> digits = study.PointAt(row.point);
  for (size_t i = 0; i < study.axes().size(); ++i) {
    const StudyAxis& axis = study.axes()[i];
    if (axis.expression) {
      settings.push_back(fmt::format("{}={}", axis.path, row.values[i]));
      continue;
    }
    const auto& sets = axis.sets[static_cast<size_t>(digits[i])];
    settings.insert(settings.end(), sets.begin(), sets.end());
  }
  return settings;
}

}  // namespace orrery
