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
      plan.description(), report.memory().fits() ? "" : "  DOES NOT FIT");
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
  std::string text = fmt::format(
      "{}\n\n{} plans: {} estimated, {} cannot be among the best, {} break a "
      "rule; {} of the\nestimated do not fit into memory\n\n",
      tuning.scenario(), tuning.plans_considered(), tuning.plans_estimated(),
      tuning.plans_pruned(), tuning.plans_illegal(), tuning.plans_too_large());
  if (tuning.plans_beyond_limits() > 0) {
    text.pop_back();
    text +=
        fmt::format("{} hold not the limits\n\n", tuning.plans_beyond_limits());
  }
  if (tuning.plans().empty()) {
    return text + (tuning.plans_beyond_limits() > 0
                       ? "no plan of the space fits and holds the limits\n"
                       : "no plan of the space fits into memory; more nodes, a "
                         "shorter "
                         "sequence or a\nsmaller model would help\n");
  }
  const bool serves = tuning.said().report().has_inference();
  text += Header(tuning, serves);
  int rank = 0;
  for (const pb::Tuning::Plan& plan : tuning.plans()) {
    text += PlanLine(++rank, tuning, plan);
  }
  const pb::Report& said = tuning.said().report();
  const pb::Tuning::Plan& best = tuning.plans(0);
  text += PlanLine(0, tuning, tuning.said());
  if (tuning.order_changed()) {
    text += "simulation ranks them otherwise than the closed form does\n";
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
  text +=
      fmt::format("\nthe best against the plan as said ({})\n", against(said));
  text += before(said) + DifferencesText(tuning.against_said(), step);
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
