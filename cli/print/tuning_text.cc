#include "cli/print/tuning_text.h"

#include <absl/strings/match.h>
#include <absl/strings/str_replace.h>

#include <cmath>

#include "base/format.h"
#include "base/units_text.h"
#include "cli/flags/shell_word.h"
#include "cli/print/cost_text.h"

namespace orrery {
namespace {

// Differences below this share of the step are not worth a line of their own.
constexpr double kSmall = 0.002;

// "tensor_exposed_s" is "tensor exposed".
std::string TermText(std::string term) {
  if (absl::EndsWith(term, "_s")) term.resize(term.size() - 2);
  return absl::StrReplaceAll(term, {{"_", " "}});
}

// "tokens" and "cost" have a column of their own.
std::string ObjectiveText(const pb::Tuning& tuning,
                          const pb::Tuning::Plan& plan) {
  if (tuning.objective() == "tokens") {
    return fmt::format("  {:>10.5g}", plan.objective());
  }
  if (tuning.objective() == "cost") {
    return fmt::format("  {:>10}", DollarsText(plan.objective()));
  }
  return "";
}

std::string Header(const pb::Tuning& tuning, bool serves) {
  std::string text = "rank   simulated   estimated";
  if (tuning.objective() == "tokens") text += "    tokens/s";
  if (tuning.objective() == "cost") text += "  per 1M tok";
  text += "      memory";
  return text + (serves ? "     TPOT  plan\n" : "      MFU  plan\n");
}

std::string PlanLine(int rank, const pb::Tuning& tuning,
                     const pb::Tuning::Plan& plan) {
  const pb::Report& report = plan.report();
  const bool serves = report.has_inference();
  return fmt::format(
      "{:>4}  {:>10}  {:>10}{}  {:>10}  {:>7}  {}{}\n", rank,
      SecondsText(serves ? report.inference().end_to_end_s()
                         : report.step_time_s()),
      SecondsText(plan.estimated_step_time_s()), ObjectiveText(tuning, plan),
      BytesText(report.memory().peak_bytes()),
      serves ? SecondsText(report.inference().time_per_output_token_s())
             : fmt::format("{:.1f} %", 100 * report.mfu()),
      plan.description(),
      !report.memory().fits() ? "  DOES NOT FIT"
      : plan.nearly()         ? "  (similar ranks simulated as one)"
                              : "");
}

// What became of the plans that were considered.
std::string CountsText(const pb::Tuning& tuning) {
  std::string text = fmt::format(
      "{} plans: {} estimated, {} simulated", tuning.plans_considered(),
      tuning.plans_estimated(), tuning.plans_simulated());
  const auto add = [&](int64_t count, std::string_view what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(tuning.plans_pruned(), "cannot be faster");
  add(tuning.plans_illegal(), "break a rule");
  add(tuning.plans_too_large(), "do not fit into memory");
  add(tuning.plans_beyond_limits(), "violate a limit");
  text += "\n";
  for (const std::string& note : tuning.notes()) text += note + "\n";
  return text;
}

// How sure it is that no plan is better.
std::string ProofText(const pb::Tuning& tuning) {
  if (!tuning.has_bound_s()) {
    if (tuning.proved()) {
      return "proved best: every plan that fits was simulated\n";
    }
    return "not proved: the plans that were not simulated are known by closed "
           "form only\n";
  }
  const double best = tuning.plans(0).report().step_time_s();
  const double gap = 100 * (1 - tuning.bound_s() / best);
  if (tuning.proved()) {
    return fmt::format(
        "proved best within {:.1f} %: no plan of the space takes less than "
        "{}\n",
        gap, SecondsText(tuning.bound_s()));
  }
  return fmt::format(
      "not proved: a plan that was not simulated could take as little as {} "
      "({:.1f} % less); --simulate {} looks further\n",
      SecondsText(tuning.bound_s()), gap, 4 * tuning.plans_simulated());
}

}  // namespace

std::string DifferencesText(
    const google::protobuf::RepeatedPtrField<pb::Difference>& differences,
    double step_s) {
  std::string text;
  double rest = 0;
  for (const pb::Difference& each : differences) {
    const double difference = each.first_s() - each.second_s();
    if (std::abs(difference) < kSmall * step_s) {
      rest += difference;
      continue;
    }
    text +=
        fmt::format("  {:<34} {:>12} {:>12} {:>13}\n", TermText(each.term()),
                    SecondsText(each.first_s()), SecondsText(each.second_s()),
                    SignedSecondsText(difference));
  }
  if (rest != 0) {
    text += fmt::format("  {:<34} {:>39}\n", "smaller differences together",
                        SignedSecondsText(rest));
  }
  return text;
}

std::string TuningText(const pb::Tuning& tuning, const std::string& scenario,
                       absl::Span<const std::string> sets) {
  std::string text =
      fmt::format("{}\n\n{}", tuning.scenario(), CountsText(tuning));
  if (tuning.has_said_problem()) {
    text += "the plan as given is refused: " + tuning.said_problem() + "\n";
  }
  text += "\n";
  if (tuning.plans().empty()) {
    if (tuning.plans_beyond_limits() > 0) {
      return text + "no plan fits into memory and keeps the limits\n";
    }
    if (tuning.plans_too_large() == 0) return text + "no plan is legal\n";
    return text +
           "no plan fits into memory; more nodes, a shorter sequence or a "
           "smaller model would help\n";
  }
  const bool serves = tuning.plans(0).report().has_inference();
  text += Header(tuning, serves);
  int rank = 0;
  for (const pb::Tuning::Plan& plan : tuning.plans()) {
    text += PlanLine(++rank, tuning, plan);
  }
  const pb::Report& said = tuning.said().report();
  const pb::Tuning::Plan& best = tuning.plans(0);
  if (tuning.has_said()) text += PlanLine(0, tuning, tuning.said());
  text += ProofText(tuning);
  if (tuning.objective() == "cost") {
    text += fmt::format(
        "1M tok = 1e6 chip-hour / (3600 tokens per second and chip x "
        "productive share){}\n"
        "factors: {}\n",
        serves ? ", output tokens over the whole request" : "",
        FactorsLine(tuning.plans(0).report()));
  }
  const double step = best.report().step_time_s();
  const auto against = [&](const pb::Report& other) {
    const double of =
        serves ? other.inference().end_to_end_s() : other.step_time_s();
    const double mine =
        serves ? best.report().inference().end_to_end_s() : step;
    return fmt::format(
        "{:+.1f} %{}", 100 * (mine / of - 1),
        serves ? " end to end; prefill, and of a decode step" : "");
  };
  // Requests also differ before their decode steps.
  const auto before = [&](const pb::Report& other) -> std::string {
    const double mine = best.report().inference().prefill_s();
    const double of = other.inference().prefill_s();
    if (mine == of) return "";
    return fmt::format("  {:<34} {:>12} {:>12} {:>13}\n", "prefill",
                       SecondsText(mine), SecondsText(of),
                       SignedSecondsText(mine - of));
  };
  if (best.report().has_trust()) {
    text += fmt::format("trust in the best: {}\n", best.report().trust());
  }
  if (best.settings().empty() && tuning.has_said()) {
    return text + "\nthe plan as given is the best\n";
  }
  if (tuning.has_said()) {
    text += fmt::format("\nthe best against the plan as given ({})\n",
                        against(said));
    text += before(said) + DifferencesText(tuning.against_said(), step);
  }
  if (tuning.plans_size() > 1) {
    const pb::Report& second = tuning.plans(1).report();
    text +=
        fmt::format("\nthe best against the second ({})\n", against(second));
    text += before(second) + DifferencesText(tuning.against_second(), step);
  }
  text += "\nto use it:\n  orrery simulate " + ShellWord(scenario);
  for (const std::string& set : sets) text += " --set " + ShellWord(set);
  for (const std::string& set : best.settings()) {
    text += " \\\n    --set " + ShellWord(set);
  }
  return text + "\n";
}

}  // namespace orrery
