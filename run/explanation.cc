#include "run/explanation.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/units_text.h"
#include "run/scenario_cost.h"
#include "run/utilisation.h"
#include "sim/analysis/critical_path.h"
#include "sim/analysis/span_index.h"
#include "sim/analysis/step_breakdown.h"
#include "sim/analysis/time_shares.h"

namespace orrery {
namespace {

constexpr size_t kTopTasks = 10;

void AddShare(const std::string& name, Duration time, int64_t count,
              double step, pb::Explanation::Share& share) {
  share.set_name(name);
  share.set_time_s(ToSeconds(time));
  share.set_share(ToSeconds(time) / step);
  if (count > 0) share.set_count(count);
}

// How a rank spends the step; the sink keeps its bubbles.
using Shares = google::protobuf::RepeatedPtrField<pb::Explanation::Share>;
BreakdownSink AddRankTime(const SimulatedRun& run, RankId rank,
                          Shares& shares) {
  BreakdownSink sink(run.placed.program, rank);
  for (const TaskSpan& span : run.spans) sink.Add(span);
  const StepBreakdown b = sink.Finish(run.result.end);
  std::vector<std::pair<std::string, Duration>> parts = {
      {"compute", b.kernels.arithmetic},
      {"memory-bound", b.kernels.memory_bound},
      {"launch", b.kernels.launch},
      {"optimizer", b.kernels.optimizer},
      {"slow chip", b.kernels.slow_chip},
      {"shared chip", b.kernels.shared_chip},
      {"bubble", b.bubble},
      {"straggler", b.straggler},
      {"host", b.host},
  };
  for (const StreamId stream : run.placed.program.streams().ids()) {
    parts.emplace_back(fmt::format("communication: {}, exposed",
                                   run.placed.program.streams()[stream].name),
                       b.exposed[stream].time);
  }
  std::stable_sort(
      parts.begin(), parts.end(),
      [](const auto& x, const auto& y) { return x.second > y.second; });
  for (const auto& [name, time] : parts) {
    if (time == Duration(0)) continue;
    AddShare(name, time, 0, ToSeconds(run.result.end), *shares.Add());
  }
  return sink;
}

void AddSensitivities(absl::Span<const StepSensitivity> sensitivities,
                      pb::Explanation& explanation) {
  const double step = explanation.step_time_s();
  for (const StepSensitivity& s : sensitivities) {
    auto& added = *explanation.add_sensitivity();
    added.set_resource(std::string(Name(s.improvement)));
    added.set_step_time_10_percent_s(ToSeconds(s.ten_percent));
    added.set_step_time_twice_s(ToSeconds(s.twice));
    added.set_saved_10_percent(1 - ToSeconds(s.ten_percent) / step);
    added.set_saved_twice(1 - ToSeconds(s.twice) / step);
  }
}

// The largest cause, all kinds of compute being one.
std::pair<std::string, double> LargestCause(const Shares& path) {
  std::pair<std::string, double> largest;
  double compute = 0;
  for (const auto& cause : path) {
    if (absl::StartsWith(cause.name(), "compute")) compute += cause.share();
    if (cause.share() > largest.second) largest = {cause.name(), cause.share()};
  }
  if (compute >= largest.second) largest = {"compute", compute};
  return largest;
}

// What helps most, how much, and what most of the critical path is made of.
std::string BottleneckSentence(const pb::Explanation& explanation) {
  const auto [cause, share] = LargestCause(explanation.critical_path());
  const std::string made_of = fmt::format(
      "{} makes up {:.0f} % of the critical path", cause, 100 * share);
  if (explanation.sensitivity_size() == 0) return made_of + ".";
  const auto& best = explanation.sensitivity(0);
  // Less than this for a resource twice as good, and no resource is to blame.
  constexpr double kWorthwhile = 0.02;
  if (best.saved_twice() < kWorthwhile) {
    return fmt::format(
        "No single resource is the bottleneck: even twice the {} would save "
        "only {:.1f} %; {}.",
        best.resource(), 100 * best.saved_twice(), made_of);
  }
  std::string sentence = fmt::format(
      "The bottleneck is {}: twice as good, the step would take {} instead of "
      "{} ({:.0f} % less); {}",
      best.resource(), SecondsText(best.step_time_twice_s()),
      SecondsText(explanation.step_time_s()), 100 * best.saved_twice(),
      made_of);
  if (explanation.sensitivity_size() > 1 &&
      explanation.sensitivity(1).saved_twice() >= kWorthwhile) {
    sentence += fmt::format(". Next comes {} ({:.0f} % less)",
                            explanation.sensitivity(1).resource(),
                            100 * explanation.sensitivity(1).saved_twice());
  }
  return sentence + ".";
}

// What each share of the step costs over the run, or per step where the run's
// length is not known. Nothing where the machine has no price.
void AddDollars(const ResolvedScenario& scenario, const SimulatedRun& run,
                pb::Explanation& explanation) {
  pb::Report report;
  report.set_step_time_s(ToSeconds(run.result.end));
  const StepWork work = WorkOf(run);
  FillCost(scenario, &work, report);
  if (!report.has_cost()) return;
  const pb::Report::CostResult& cost = report.cost();
  explanation.set_dollars_per_step(cost.dollars_per_step());
  double all = cost.dollars_per_step();
  if (cost.has_dollars_per_run()) {
    all = cost.dollars_per_run();
    explanation.set_dollars_per_run(all);
  }
  for (auto* shares :
       {explanation.mutable_critical_path(), explanation.mutable_top_tasks(),
        explanation.mutable_rank_time(), explanation.mutable_rank_0_time()}) {
    for (auto& share : *shares) share.set_dollars(all * share.share());
  }
}

}  // namespace

pb::Explanation Explain(const ResolvedScenario& scenario,
                        const SimulatedRun& run,
                        absl::Span<const StepSensitivity> sensitivities) {
  const Program& program = run.placed.program;
  const SpanIndex spans(program, run.spans);
  const std::vector<PathStep> path = CriticalPath(spans);
  pb::Explanation explanation;
  explanation.set_scenario(scenario.proto.name());
  const double step = ToSeconds(run.result.end);
  explanation.set_step_time_s(step);
  const RankId busiest = run.busiest;
  explanation.set_busiest_rank(program.ranks()[busiest].number);
  const BreakdownSink time =
      AddRankTime(run, busiest, *explanation.mutable_rank_time());
  AddRankTime(run, RankId{0}, *explanation.mutable_rank_0_time());
  for (const TimeShare& share :
       PathByCause(program, path, {busiest, time.bubbles()}, run.ops)) {
    AddShare(share.name, share.time, share.count, step,
             *explanation.add_critical_path());
  }
  for (const TimeShare& share : TopTasks(program, path, kTopTasks)) {
    AddShare(share.name, share.time, share.count, step,
             *explanation.add_top_tasks());
  }
  for (const ExposedTime& calls :
       ExposedCommunication(program, spans, busiest, time)) {
    auto& added = *explanation.add_communication();
    added.set_stream(calls.stream);
    added.set_kind(std::string(NameOf(calls.kind)));
    added.set_count(calls.count);
    added.set_total_s(ToSeconds(calls.total));
    added.set_exposed_s(ToSeconds(calls.exposed));
    added.set_hidden_s(ToSeconds(calls.hidden()));
  }
  for (const ResourceClassUse& use : Utilisation(scenario, run)) {
    auto& added = *explanation.add_utilisation();
    added.set_resource(use.name);
    added.set_mean(use.mean);
    added.set_most(use.most);
    added.set_count(use.count);
  }
  AddSensitivities(sensitivities, explanation);
  AddDollars(scenario, run, explanation);
  explanation.set_bottleneck(BottleneckSentence(explanation));
  return explanation;
}

}  // namespace orrery
