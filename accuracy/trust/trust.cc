#include "accuracy/trust/trust.h"

#include <absl/algorithm/container.h>
#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "accuracy/trust/error_groups.h"
#include "accuracy/trust/preset_changes.h"
#include "accuracy/trust/run_kind_of.h"
#include "accuracy/trust/size_changes.h"
#include "base/format.h"

namespace orrery {
namespace {

using Groups = std::vector<const ErrorGroup*>;

// Below this a mean error has no sign worth saying.
constexpr double kSigned = 0.02;
// Differences that the text lists; the message has all.
constexpr int kMostListed = 3;

// Formats of 16 bits take the same time.
std::string PrecisionClass(const std::string& precision) {
  return precision == "FP16" ? "BF16" : precision;
}

std::vector<RunKind> KindsOf(const std::vector<ErrorGroup>& groups) {
  std::vector<RunKind> kinds;
  for (const ErrorGroup& group : groups) kinds.push_back(group.kind);
  return kinds;
}

// All measured kinds of steps, or of requests, with what their presets say.
struct Measured {
  Measured(const Catalog& catalog, const std::vector<ErrorGroup>& kinds)
      : groups(kinds), fields(catalog, KindsOf(kinds)) {}

  const std::vector<ErrorGroup>& groups;
  const MeasuredFields fields;
};

const Measured& MeasuredRuns(bool training) {
  static const auto* catalog = new Catalog();
  if (training) {
    static const auto* steps = new Measured(*catalog, TrainingErrors());
    return *steps;
  }
  static const auto* requests = new Measured(*catalog, InferenceErrors());
  return *requests;
}

template <class Keep>
Groups Filter(const Groups& groups, Keep keep) {
  Groups kept;
  absl::c_copy_if(groups, std::back_inserter(kept), keep);
  return kept;
}

class Judge {
 public:
  Judge(const pb::Scenario& scenario, const Measured& measured)
      : scenario_(scenario),
        measured_(measured),
        run_(KindOf(scenario)),
        what_(scenario.has_training() ? "step" : "request") {}

  pb::Trust Trust() {
    const std::string chip = BaseChip();
    Groups of_chip;
    for (const ErrorGroup& group : measured_.groups) {
      if (group.kind.chip == chip) of_chip.push_back(&group);
    }
    if (of_chip.empty()) {
      return Extrapolated(fmt::format("no measured {} on {}", what_, chip));
    }
    const Groups alike = Filter(of_chip, [&](const ErrorGroup* group) {
      return group->kind.experts == run_.experts;
    });
    if (alike.empty()) {
      return Extrapolated(fmt::format("no measured {} of {} on {}", what_,
                                      Models(run_.experts), chip));
    }
    const auto [counted, where] = Nearest(alike, chip);
    ErrorGroup near = Pool(alike);
    // A schedule does the same on every chip.
    for (const ErrorGroup& group : measured_.groups) {
      near.schedules.insert(group.schedules.begin(), group.schedules.end());
    }
    for (SizeChange& change :
         SizeChangesOf(run_, scenario_.has_training(), Pool(counted), near)) {
      Add(change.field, std::move(change.text), change.within, change.factor);
    }
    CompareSystem(alike, chip);
    CompareSoftware(counted, alike, chip);
    return Sum(Pool(counted), where);
  }

 private:
  static std::string Models(bool experts) {
    return experts ? "mixtures of experts" : "dense models";
  }

  // "3 measured steps".
  std::string Counted(int rows) const {
    return fmt::format("{} measured {}{}",
                       rows == 0 ? "no" : fmt::to_string(rows), what_,
                       rows > 1 ? "s" : "");
  }

  // The preset that the chip is, or is made from.
  std::string BaseChip() const {
    const pb::Chip& chip = scenario_.system().chip();
    if (chip.has_preset()) return chip.preset();
    return chip.has_like() ? chip.like() : chip.name();
  }

  void Add(std::string field, std::string text, bool within,
           std::optional<double> factor = std::nullopt) {
    pb::Trust::Difference& difference = *trust_.add_differences();
    difference.set_field(std::move(field));
    difference.set_text(std::move(text));
    difference.set_within_measured(within);
    if (factor) difference.set_factor(*factor);
  }

  void CompareSystem(const Groups& alike, const std::string& chip) {
    std::set<std::string> systems;
    for (const ErrorGroup* group : alike) systems.insert(group->kind.system);
    // The preset that the system starts from, or one that was measured.
    const std::string& own = scenario_.system().has_preset()
                                 ? scenario_.system().preset()
                                 : run_.system;
    const bool is_preset = Catalog().Has("systems", own);
    const std::string base = is_preset ? own : *systems.begin();
    if (!systems.contains(base) || !is_preset) {
      Add("system",
          fmt::format("the system is {}, measured {}s ran on {}", run_.system,
                      what_, absl::StrJoin(systems, ", ")),
          is_preset);
    }
    for (const PresetChange& change :
         measured_.fields.ChangesOf(scenario_, chip, base)) {
      Add(change.path, TextOf(change), change.within, change.factor);
    }
  }

  static std::string TextOf(const PresetChange& change) {
    if (change.factor) {
      return fmt::format("{} is {:.3g} times the measured {} ({})", change.path,
                         *change.factor, change.preset_value, change.value);
    }
    if (change.value.empty()) {
      return fmt::format("{} is unset, not {}", change.path,
                         change.preset_value);
    }
    return change.preset_value.empty()
               ? fmt::format("{} is {}", change.path, change.value)
               : fmt::format("{} is {}, not {}", change.path, change.value,
                             change.preset_value);
  }

  Groups WithSoftware(const Groups& groups) const {
    return Filter(groups, [&](const ErrorGroup* group) {
      return group->kind.software == run_.software;
    });
  }
  Groups InPrecision(const Groups& groups) const {
    return Filter(groups, [&](const ErrorGroup* group) {
      return PrecisionClass(group->kind.precision) ==
             PrecisionClass(run_.precision);
    });
  }

  void CompareSoftware(const Groups& counted, const Groups& alike,
                       const std::string& chip) {
    const Groups software = WithSoftware(alike);
    const char* const precision =
        scenario_.has_training() ? "training.precision" : "inference.precision";
    if (Pool(software).rows < kRowsNeeded) {
      Add(scenario_.has_training() ? "framework" : "inference.engine",
          fmt::format("{} on {} ran with {}", Counted(Pool(software).rows),
                      chip, run_.software),
          true);
    }
    if (InPrecision(alike).empty()) {
      Add(precision,
          fmt::format("no measured {} on {} was in {}", what_, chip,
                      run_.precision),
          false);
    } else if (InPrecision(counted).empty()) {
      Add(precision,
          fmt::format("none of the {} was in {}", Counted(Pool(counted).rows),
                      run_.precision),
          true);
    }
  }

  // The rows that are most like the run and enough for a mean, and what they
  // are of.
  std::pair<Groups, std::string> Nearest(const Groups& alike,
                                         const std::string& chip) const {
    const Groups software = WithSoftware(alike);
    const Groups in_precision = InPrecision(alike);
    const std::string on =
        fmt::format("of {} on {}", Models(run_.experts), chip);
    const auto enough = [](const Groups& groups) {
      return Pool(groups).rows >= kRowsNeeded;
    };
    const Groups exact = InPrecision(software);
    if (enough(exact)) {
      return {exact, fmt::format("{} with {} in {}", on, run_.software,
                                 run_.precision)};
    }
    if (enough(software)) {
      return {software, fmt::format("{} with {}", on, run_.software)};
    }
    if (enough(in_precision)) {
      return {in_precision, fmt::format("{} in {}", on, run_.precision)};
    }
    return {alike, on};
  }

  pb::Trust Extrapolated(std::string text) {
    trust_.set_level(pb::Trust::EXTRAPOLATED);
    trust_.set_text(std::move(text));
    return std::move(trust_);
  }

  // The largest mean error of any kind of run with enough rows.
  double LargestError() const {
    double largest = 0;
    for (const ErrorGroup& group : measured_.groups) {
      if (group.kind.experts == run_.experts && group.rows >= kRowsNeeded) {
        largest = std::max(largest, group.mean);
      }
    }
    return largest;
  }

  // "a; b; and 3 more".
  std::string Listed(bool beyond) const {
    std::vector<std::string> texts;
    int more = 0;
    for (const auto& difference : trust_.differences()) {
      if (beyond && difference.within_measured()) continue;
      if (static_cast<int>(texts.size()) < kMostListed) {
        texts.push_back(difference.text());
      } else {
        ++more;
      }
    }
    if (more > 0) texts.push_back(fmt::format("and {} more", more));
    return absl::StrJoin(texts, "; ");
  }

  pb::Trust Sum(const ErrorGroup& rows, const std::string& where) {
    const bool beyond = absl::c_any_of(
        trust_.differences(),
        [](const auto& difference) { return !difference.within_measured(); });
    if (beyond) {
      return Extrapolated(
          fmt::format("no measured {} is near: {}", what_, Listed(true)));
    }
    const bool few = rows.rows < kRowsNeeded;
    if (!few) {
      trust_.set_rows(rows.rows);
      trust_.set_bias(rows.bias);
    }
    std::string text = few ? fmt::format("{} {}, too few for a mean error",
                                         Counted(rows.rows), where)
                           : ErrorText(rows, where);
    if (!few && trust_.differences().empty()) {
      trust_.set_level(pb::Trust::MEASURED);
      trust_.set_mean_error(rows.mean);
      trust_.set_text(std::move(text));
      return std::move(trust_);
    }
    const double error =
        few ? LargestError() : std::max(rows.mean, LargestError());
    trust_.set_level(pb::Trust::NEAR);
    trust_.set_mean_error(error);
    text += fmt::format(
        "; {:.0f} % may be expected, as of the kind of {} "
        "furthest off",
        100 * error, what_);
    if (!trust_.differences().empty()) text += "; " + Listed(false);
    trust_.set_text(std::move(text));
    return std::move(trust_);
  }

  std::string ErrorText(const ErrorGroup& rows,
                        const std::string& where) const {
    std::string text = fmt::format("mean error {:.0f} %", 100 * rows.mean);
    if (std::abs(rows.bias) >= kSigned) {
      text += fmt::format(", {:.0f} % too {}", 100 * std::abs(rows.bias),
                          rows.bias < 0 ? "fast" : "slow");
    }
    return text + fmt::format(", over {} {}", Counted(rows.rows), where);
  }

  const pb::Scenario& scenario_;
  const Measured& measured_;
  const RunKind run_;
  const std::string what_;
  pb::Trust trust_;
};

// The prefill pool as a scenario of its own.
pb::Scenario PrefillPool(const pb::Scenario& scenario) {
  pb::Scenario pool = scenario;
  pb::Inference::Disaggregated& pools =
      *pool.mutable_inference()->mutable_disaggregated();
  *pool.mutable_system() = std::move(*pools.mutable_prefill_system());
  *pool.mutable_kernels() = std::move(*pools.mutable_prefill_kernels());
  pools.clear_prefill_system();
  return pool;
}

}  // namespace

pb::Trust TrustIn(const pb::Scenario& scenario) {
  const Measured& measured = MeasuredRuns(scenario.has_training());
  pb::Trust trust = Judge(scenario, measured).Trust();
  if (!scenario.inference().disaggregated().has_prefill_system()) return trust;
  // A request is as far from measured ones as the further of its two machines.
  pb::Trust prefill = Judge(PrefillPool(scenario), measured).Trust();
  if (prefill.level() <= trust.level()) return trust;
  prefill.set_text("prefill pool: " + prefill.text());
  return prefill;
}

const pb::Trust& PlanTrust::Of(const pb::Training& training) {
  // The schedule matters where there is a pipeline.
  const std::tuple key{static_cast<int>(training.precision()),
                       training.sequence(), training.micro_batch(),
                       training.parallel().pipeline() > 1
                           ? static_cast<int>(training.schedule())
                           : 0};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  *scenario_.mutable_training() = training;
  return known_.emplace(key, TrustIn(scenario_)).first->second;
}

void FillTrust(const pb::Trust& trust, pb::Report& report) {
  report.set_trust(
      fmt::format("{}: {}", LevelText(trust.level()), trust.text()));
  *report.mutable_trust_basis() = trust;
  report.mutable_trust_basis()->clear_text();
}

std::string LevelText(pb::Trust::Level level) {
  return absl::AsciiStrToLower(pb::Trust::Level_Name(level));
}

}  // namespace orrery
