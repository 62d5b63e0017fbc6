#include "run/search/compare.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/parallel.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "run/requests/scenario_report.h"
#include "run/search/differences.h"
#include "run/search/scenario_parts.h"

namespace orrery {
namespace {

// What is compared: the whole request, or the step.
double TimeOf(const pb::Report& report) {
  return report.has_inference() ? report.inference().end_to_end_s()
                                : report.step_time_s();
}

class Comparer {
 public:
  Comparer(absl::Span<const ComparedSide> sides, const CompareOptions& options)
      : sides_(sides), options_(options) {}

  absl::StatusOr<pb::Comparison> Run() {
    RETURN_IF_ERROR(FindReports());
    RETURN_IF_ERROR(CheckKinds());
    std::vector<const pb::Report*> reports;
    for (const auto& side : result_.sides()) reports.push_back(&side.report());
    for (auto& row : RowsOf(reports)) *result_.add_rows() = std::move(row);
    for (int i = 1; i < result_.sides_size(); ++i) AddAgainst(i);
    AddNotes();
    return std::move(result_);
  }

 private:
  absl::StatusOr<pb::Report> Simulate(pb::Scenario said) const {
    FillDefaults(&said);
    ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                     MakeScenario(std::move(said)));
    RunOptions options;
    if (options_.run) {
      ASSIGN_OR_RETURN(options, options_.run(scenario));
    }
    return ReportScenario(scenario, options);
  }

  absl::Status FindReports() {
    Tell("simulating", 0);
    std::vector<absl::StatusOr<pb::Report>> reports(sides_.size());
    InParallel(sides_.size(), [&](size_t i) {
      reports[i] = sides_[i].saved
                       ? absl::StatusOr<pb::Report>(*sides_[i].saved)
                       : Simulate(*sides_[i].said);
    });
    for (size_t i = 0; i < sides_.size(); ++i) {
      if (!reports[i].ok()) {
        return Annotate(reports[i].status(), sides_[i].name);
      }
      auto& side = *result_.add_sides();
      side.set_name(sides_[i].name);
      side.set_saved(sides_[i].saved.has_value());
      *side.mutable_report() = *std::move(reports[i]);
    }
    return absl::OkStatus();
  }

  absl::Status CheckKinds() {
    const bool first = result_.sides(0).report().has_inference();
    for (const auto& side : result_.sides()) {
      if (side.report().has_inference() == first) continue;
      return absl::InvalidArgumentError(fmt::format(
          "'{}' trains and '{}' does not: a step and a request have no time in "
          "common; compare scenarios of one kind",
          first ? side.name() : result_.sides(0).name(),
          first ? result_.sides(0).name() : side.name()));
    }
    result_.set_quantity(first ? "end to end" : "step time");
    return absl::OkStatus();
  }

  void AddAgainst(int i) {
    const pb::Report& first = result_.sides(0).report();
    const pb::Report& second = result_.sides(i).report();
    pb::Comparison::Against& against = *result_.add_against();
    against.set_side(i);
    against.set_first_s(TimeOf(first));
    against.set_second_s(TimeOf(second));
    for (auto& term : Differences(first, second)) {
      *against.add_terms() = std::move(term);
    }
    const ComparedSide& side = sides_[static_cast<size_t>(i)];
    if (sides_[0].said && side.said) AddCauses(*side.said, &against);
  }

  // Each by itself, but for another machine, which has its own kernels.
  static std::vector<std::vector<const ScenarioPart*>> Joined(
      absl::Span<const ScenarioPart> parts) {
    std::vector<std::vector<const ScenarioPart*>> joined;
    std::vector<const ScenarioPart*>* machine = nullptr;
    joined.reserve(parts.size());
    for (const ScenarioPart& part : parts) {
      if (part.path == "kernels" && machine != nullptr) {
        machine->push_back(&part);
        continue;
      }
      joined.push_back({&part});
      if (part.path == "system") machine = &joined.back();
    }
    return joined;
  }

  void AddCauses(const pb::Scenario& second, pb::Comparison::Against* against) {
    const pb::Scenario& first = *sides_[0].said;
    const std::vector<ScenarioPart> found = DifferingParts(first, second);
    const std::vector<std::vector<const ScenarioPart*>> parts = Joined(found);
    const auto add = [&](absl::Span<const ScenarioPart* const> of) {
      pb::Comparison::Cause& cause = *against->add_causes();
      for (const ScenarioPart* part : of) {
        cause.add_parts(part->path);
        for (const auto& change : part->changes) cause.add_changes(change);
      }
      return &cause;
    };
    const double whole = against->second_s() - against->first_s();
    if (!options_.causes || parts.size() == 1) {
      for (const auto& part : parts) {
        pb::Comparison::Cause* cause = add(part);
        if (parts.size() == 1) cause->set_effect_s(whole);
      }
      if (parts.size() == 1) against->set_together_s(0);
      return;
    }
    Tell("simulating each change by itself", 0);
    std::vector<absl::StatusOr<pb::Report>> alone(parts.size());
    InParallel(parts.size(), [&](size_t p) {
      pb::Scenario changed = first;
      for (const ScenarioPart* each : parts[p]) {
        CopyPart(*each, second, &changed);
      }
      alone[p] = Simulate(std::move(changed));
    });
    std::vector<const ScenarioPart*> bound;
    double explained = 0;
    bool complete = true;
    for (size_t p = 0; p < parts.size(); ++p) {
      if (!alone[p].ok()) {
        bound.insert(bound.end(), parts[p].begin(), parts[p].end());
        continue;
      }
      const double effect = TimeOf(*alone[p]) - against->first_s();
      add(parts[p])->set_effect_s(effect);
      explained += effect;
    }
    if (!bound.empty()) {
      complete = AddBound(bound, second, add(bound), against, &explained);
    }
    std::stable_sort(against->mutable_causes()->begin(),
                     against->mutable_causes()->end(),
                     [](const auto& a, const auto& b) {
                       return std::abs(a.effect_s()) > std::abs(b.effect_s());
                     });
    if (complete) against->set_together_s(whole - explained);
  }

  // Parts that the first does not take one by one. Whether together it does.
  bool AddBound(absl::Span<const ScenarioPart* const> parts,
                const pb::Scenario& second, pb::Comparison::Cause* cause,
                const pb::Comparison::Against* against, double* explained) {
    pb::Scenario changed = *sides_[0].said;
    for (const ScenarioPart* part : parts) CopyPart(*part, second, &changed);
    const absl::StatusOr<pb::Report> report = Simulate(std::move(changed));
    if (!report.ok()) {
      const std::string text(report.status().message());
      cause->set_problem(text.substr(0, text.find('\n')));
      return false;
    }
    cause->set_effect_s(TimeOf(*report) - against->first_s());
    *explained += cause->effect_s();
    return true;
  }

  // Tokens that a step or a request gets done.
  static double Tokens(const pb::Report& report) {
    return report.tokens_per_s() * TimeOf(report);
  }

  void AddNotes() {
    const auto& first = result_.sides(0);
    for (const auto& side : result_.sides()) {
      const pb::Report& report = side.report();
      const double ratio = Tokens(report) / Tokens(first.report());
      constexpr double kSame = 1e-9;  // of rounding
      if (std::abs(ratio - 1) > kSame && Tokens(first.report()) > 0) {
        result_.add_notes(fmt::format(
            "'{}' gets {:.4g} tokens done in its {}, '{}' {:.4g}: compare "
            "tokens per second",
            side.name(), Tokens(report), result_.quantity(), first.name(),
            Tokens(first.report())));
      }
      if (report.has_memory() && !report.memory().fits()) {
        result_.add_notes(
            fmt::format("'{}' does not fit into memory", side.name()));
      }
      if (report.version() != first.report().version()) {
        result_.add_notes(
            fmt::format("'{}' is of another version of Orrery than '{}'",
                        side.name(), first.name()));
      }
    }
  }

  void Tell(std::string_view stage, double done) const {
    if (options_.progress) options_.progress(stage, done);
  }

  absl::Span<const ComparedSide> sides_;
  const CompareOptions& options_;
  pb::Comparison result_;
};

}  // namespace

absl::StatusOr<pb::Comparison> Compare(absl::Span<const ComparedSide> sides,
                                       const CompareOptions& options) {
  if (sides.size() < 2) {
    return absl::InvalidArgumentError("there is nothing to compare it with");
  }
  return Comparer(sides, options).Run();
}

}  // namespace orrery
