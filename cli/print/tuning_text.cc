#include "cli/print/tuning_text.h"

#include <absl/strings/match.h>
#include <absl/strings/str_replace.h>

#include <cmath>

#include "base/format.h"
#include "base/units_text.h"
#include "cli/flags/shell_word.h"

namespace orrery {
namespace {

// Differences below this share of the step are not worth a line of their own.
constexpr double kSmall = 0.002;

// "tensor_exposed_s" is "tensor exposed".
std::string TermText(std::string term) {
  if (absl::EndsWith(term, "_s")) term.resize(term.size() - 2);
  return absl::StrReplaceAll(term, {{"_", " "}});
}

std::string Signed(double seconds) {
  return (seconds < 0 ? "-" : "+") + SecondsText(std::abs(seconds));
}

std::string PlanLine(int rank, const pb::Tuning::Plan& plan) {
  const pb::Report& report = plan.report();
  return fmt::format("{:>4}  {:>10}  {:>10}  {:>10}  {:>5.1f} %  {}{}\n", rank,
                     SecondsText(report.step_time_s()),
                     SecondsText(plan.estimated_step_time_s()),
                     BytesText(report.memory().peak_bytes()),
                     100 * report.mfu(), plan.description(),
                     report.memory().fits() ? "" : "  DOES NOT FIT");
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
    text += fmt::format("  {:<34} {:>12} {:>12} {:>13}\n",
                        TermText(each.term()), SecondsText(each.first_s()),
                        SecondsText(each.second_s()), Signed(difference));
  }
  if (rest != 0) {
    text += fmt::format("  {:<34} {:>39}\n", "smaller differences together",
                        Signed(rest));
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
  if (tuning.plans().empty()) {
    return text +
           "no plan of the space fits into memory; more nodes, a shorter "
           "sequence or a\nsmaller model would help\n";
  }
  text += "rank   simulated   estimated      memory      MFU  plan\n";
  int rank = 0;
  for (const pb::Tuning::Plan& plan : tuning.plans()) {
    text += PlanLine(++rank, plan);
  }
  const pb::Report& said = tuning.said().report();
  const pb::Tuning::Plan& best = tuning.plans(0);
  text += PlanLine(0, tuning.said());
  if (tuning.order_changed()) {
    text += "simulation ranks them otherwise than the closed form does\n";
  }
  const double step = best.report().step_time_s();
  text += fmt::format("\nthe best against the plan as said ({:+.1f} %)\n",
                      100 * (step / said.step_time_s() - 1));
  text += DifferencesText(tuning.against_said(), step);
  if (tuning.plans_size() > 1) {
    text +=
        fmt::format("\nthe best against the second ({:+.1f} %)\n",
                    100 * (step / tuning.plans(1).report().step_time_s() - 1));
    text += DifferencesText(tuning.against_second(), step);
  }
  text += "\nto use it:\n  orrery simulate " + ShellWord(scenario);
  for (const std::string& set : sets) text += " --set " + ShellWord(set);
  for (const std::string& set : best.settings()) {
    text += " \\\n    --set " + ShellWord(set);
  }
  return text + "\n";
}

}  // namespace orrery
