#include "cli/print/explanation_text.h"

#include <absl/strings/str_join.h>

#include "base/format.h"
#include "base/units_text.h"
#include "cli/print/cost_text.h"

namespace orrery {
namespace {

using Shares = google::protobuf::RepeatedPtrField<pb::Explanation::Share>;

// Dollars of the run where `priced`; those of one step say nothing to anybody.
std::string SharesText(const std::string& title, const Shares& shares,
                       bool priced) {
  std::string text = fmt::format("\n{}\n", title);
  for (const auto& share : shares) {
    text +=
        fmt::format("  {:<38} {:>10}  {:>5.1f} %{}\n", share.name(),
                    SecondsText(share.time_s()), 100 * share.share(),
                    priced && share.has_dollars()
                        ? fmt::format(" {:>12}", DollarsText(share.dollars()))
                        : "");
    if (share.has_congestion_s()) {
      text += fmt::format("    {:<36} {:>10}\n", "of it congestion",
                          SecondsText(share.congestion_s()));
    }
    for (const auto& part : share.parts()) {
      text += fmt::format("    {:<52} {:>10}\n", "of it " + part.name(),
                          SecondsText(part.time_s()));
    }
  }
  return text;
}

// What the step costs, and what the largest removable cause costs of it.
std::string MoneyText(const pb::Explanation& explanation) {
  if (!explanation.has_dollars_per_step()) return "";
  const bool run = explanation.has_dollars_per_run();
  const double all =
      run ? explanation.dollars_per_run() : explanation.dollars_per_step();
  std::string text =
      fmt::format("\nThe {} costs {}", run ? "run" : "step", DollarsText(all));
  if (run) {
    text += fmt::format(" ({:.6g} steps at {}, goodput {:.6g})",
                        explanation.run_steps(),
                        DollarsText(explanation.dollars_per_step()),
                        explanation.productive_share());
  }
  if (explanation.removals_size() > 0) {
    text += fmt::format("; {} costs {} of it", explanation.removals(0).cause(),
                        DollarsText(explanation.removals(0).dollars()));
  }
  return text + ".\n";
}

std::string CommunicationText(const pb::Explanation& explanation) {
  if (explanation.communication().empty()) return "";
  std::string text = fmt::format(
      "\ncommunication of that rank\n"
      "  {:<38} {:>6} {:>10} {:>10} {:>10} {:>10}\n",
      "", "calls", "total", "hidden", "exposed", "congestion");
  for (const auto& c : explanation.communication()) {
    text +=
        fmt::format("  {:<38} {:>6} {:>10} {:>10} {:>10} {:>10}\n",
                    fmt::format("{} {}", c.stream(), c.kind()), c.count(),
                    SecondsText(c.total_s()), SecondsText(c.hidden_s()),
                    SecondsText(c.exposed_s()), SecondsText(c.congestion_s()));
  }
  return text;
}

std::string CongestionText(const pb::Explanation& explanation) {
  if (explanation.congestion().empty()) return "";
  std::string text =
      "\ncongestion: of each stream on the critical path, the call that others "
      "held up most\n";
  for (const auto& c : explanation.congestion()) {
    text += fmt::format("  {} of rank {} ({}): {}, alone {}\n", c.call(),
                        c.rank(), c.stream(), SecondsText(c.time_s()),
                        SecondsText(c.alone_s()));
    text += fmt::format("    {}: {:.0f} % in use", c.link(), 100 * c.load());
    for (const auto& other : c.others()) {
      text += fmt::format(", {:.0f} % by {}", 100 * other.load(), other.call());
    }
    text += "\n";
  }
  return text;
}

std::string AdviceText(const pb::Explanation& explanation) {
  if (explanation.plan_advice().empty()) return "";
  std::string text =
      "\nwhat another plan would do on this machine, each simulated\n";
  for (const auto& plan : explanation.plan_advice()) {
    text += fmt::format("  {:<12} {:>10} {:>6.1f} %  {}\n", plan.what(),
                        SecondsText(plan.step_time_s()), -100 * plan.saved(),
                        absl::StrJoin(plan.settings(), " "));
  }
  return text;
}

std::string UtilisationText(const pb::Explanation& explanation) {
  std::string text =
      fmt::format("\nutilisation\n  {:<42} {:>7} {:>10} {:>10}\n", "", "of",
                  "mean", "most");
  for (const auto& u : explanation.utilisation()) {
    text += fmt::format("  {:<42} {:>7} {:>8.1f} % {:>8.1f} %\n", u.resource(),
                        u.count(), 100 * u.mean(), 100 * u.most());
  }
  return text;
}

std::string RemovalsText(const pb::Explanation& explanation, bool priced) {
  if (explanation.removals().empty()) return "";
  std::string text =
      "\nwhat could be taken away: the step without it, each simulated\n";
  for (const auto& r : explanation.removals()) {
    text += fmt::format(
        "  {:<38} {:>10} {:>6.1f} %{}{}\n", r.cause(),
        SecondsText(r.step_time_s()), -100 * r.saved(),
        priced ? fmt::format(" {:>12}", DollarsText(r.dollars())) : "",
        r.has_where() ? "  " + r.where() : "");
  }
  return text;
}

std::string LinksText(const pb::Explanation& explanation) {
  if (explanation.congested_links().empty()) return "";
  std::string text =
      "\nlinks on which calls of the critical path lost time to others\n";
  for (const auto& link : explanation.congested_links()) {
    text += fmt::format("  {:<54} {:>10} {:>6.1f} %\n", link.link(),
                        SecondsText(link.lost_s()), 100 * link.share());
  }
  return text;
}

std::string SensitivityText(const pb::Explanation& explanation) {
  if (explanation.sensitivity().empty()) return "";
  std::string text = fmt::format(
      "\nwhat would help: the step if one thing were better\n"
      "  {:<38} {:>18} {:>20}\n",
      "", "10 % better", "twice as good");
  for (const auto& s : explanation.sensitivity()) {
    text += fmt::format(
        "  {:<38} {:>10} {:>6.1f} % {:>10} {:>7.1f} %\n", s.resource(),
        SecondsText(s.step_time_10_percent_s()), -100 * s.saved_10_percent(),
        SecondsText(s.step_time_twice_s()), -100 * s.saved_twice());
  }
  return text;
}

}  // namespace

std::string ExplanationText(const pb::Explanation& explanation) {
  const bool priced = explanation.has_dollars_per_run();
  std::string text = fmt::format("{}: {}\n\n{}\n", explanation.scenario(),
                                 SecondsText(explanation.step_time_s()),
                                 explanation.bottleneck()) +
                     MoneyText(explanation) +
                     RemovalsText(explanation, priced) +
                     SharesText("critical path by cause",
                                explanation.critical_path(), priced) +
                     SharesText("tasks that matter most on it",
                                explanation.top_tasks(), priced);
  if (explanation.busiest_rank() != 0) {
    text += SharesText("how rank 0 spends the step", explanation.rank_0_time(),
                       priced);
  }
  text += SharesText(fmt::format("how rank {}, of the busiest stage, spends it",
                                 explanation.busiest_rank()),
                     explanation.rank_time(), priced);
  return text + CommunicationText(explanation) + CongestionText(explanation) +
         LinksText(explanation) + UtilisationText(explanation) +
         SensitivityText(explanation) + AdviceText(explanation);
}

}  // namespace orrery
