#include "cli/explanation.h"

#include <algorithm>
#include <map>

#include "base/format.h"
#include "cli/report_text.h"
#include "sim/critical_path.h"
#include "sim/span_index.h"
#include "sim/time_shares.h"

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

RankId RepresentativeOf(const TrainingRun& run) {
  for (const RankId rank : run.step.program.ranks().ids()) {
    if (static_cast<int>(run.step.program.ranks()[rank].role) ==
        run.representative) {
      return rank;
    }
  }
  return RankId{0};
}

void AddRankTime(const TrainingRun& run, pb::Explanation& explanation) {
  const StepBreakdown& b = run.breakdown;
  std::vector<std::pair<std::string, Duration>> parts = {
      {"compute", b.compute},    {"memory-bound", b.memory_bound},
      {"launch", b.launch},      {"optimizer", b.optimizer},
      {"shared chip", b.slowed}, {"bubble", b.bubble}};
  for (const StreamId stream : run.step.program.streams().ids()) {
    parts.emplace_back(fmt::format("communication: {}, exposed",
                                   run.step.program.streams()[stream].name),
                       b.exposed[Index(stream)]);
  }
  std::stable_sort(
      parts.begin(), parts.end(),
      [](const auto& x, const auto& y) { return x.second > y.second; });
  for (const auto& [name, time] : parts) {
    if (time == Duration(0)) continue;
    AddShare(name, time, 0, explanation.step_time_s(),
             *explanation.add_rank_time());
  }
}

void AddUse(const std::string& resource, const std::vector<double>& uses,
            pb::Explanation& explanation) {
  if (uses.empty()) return;
  double sum = 0;
  for (const double use : uses) sum += use;
  auto& added = *explanation.add_utilisation();
  added.set_resource(resource);
  added.set_mean(sum / static_cast<double>(uses.size()));
  added.set_most(*std::max_element(uses.begin(), uses.end()));
  added.set_count(static_cast<int64_t>(uses.size()));
}

// Streams by the time something runs on them, links by what they carry.
void AddUtilisation(const TrainingRun& run, pb::Explanation& explanation) {
  const Program& program = run.step.program;
  const size_t streams = program.streams().size();
  std::vector<Duration> busy(program.ranks().size() * streams, Duration(0));
  for (const TaskSpan& span : run.spans) {
    busy[Index(span.rank) * streams + Index(span.stream)] += span.running();
  }
  for (const StreamId stream : program.streams().ids()) {
    std::vector<double> uses;
    for (const RankId rank : program.ranks().ids()) {
      const Duration time = busy[Index(rank) * streams + Index(stream)];
      uses.push_back(ToSeconds(time) / explanation.step_time_s());
    }
    if (*std::max_element(uses.begin(), uses.end()) == 0) continue;
    AddUse(fmt::format("{} stream", program.streams()[stream].name), uses,
           explanation);
  }
  std::vector<double> links;
  for (const ResourceId link : run.result.carried.ids()) {
    if (run.result.carried[link] == 0) continue;
    links.push_back(run.result.carried[link] / run.transfers.capacities[link] /
                    explanation.step_time_s());
  }
  AddUse("links in use", links, explanation);
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

// What helps most, how much, and what most of the critical path is made of.
std::string BottleneckSentence(const pb::Explanation& explanation) {
  const auto& path = explanation.critical_path(0);
  const std::string made_of =
      fmt::format("{} makes up {:.0f} % of the critical path", path.name(),
                  100 * path.share());
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

}  // namespace

pb::Explanation Explain(const ResolvedScenario& scenario,
                        const TrainingRun& run,
                        absl::Span<const StepSensitivity> sensitivities) {
  const Program& program = run.step.program;
  const SpanIndex spans(program, run.spans);
  const std::vector<PathStep> path = CriticalPath(spans);
  pb::Explanation explanation;
  explanation.set_scenario(scenario.proto.name());
  const double step = ToSeconds(run.result.end);
  explanation.set_step_time_s(step);
  for (const TimeShare& share : PathByCause(program, path)) {
    AddShare(share.name, share.time, share.count, step,
             *explanation.add_critical_path());
  }
  for (const TimeShare& share : TopTasks(program, path, kTopTasks)) {
    AddShare(share.name, share.time, share.count, step,
             *explanation.add_top_tasks());
  }
  AddRankTime(run, explanation);
  for (const ExposedTime& time :
       ExposedCommunication(program, spans, RepresentativeOf(run))) {
    auto& added = *explanation.add_communication();
    added.set_stream(time.stream);
    added.set_kind(std::string(NameOf(time.kind)));
    added.set_count(time.count);
    added.set_total_s(ToSeconds(time.total));
    added.set_exposed_s(ToSeconds(time.exposed));
    added.set_hidden_s(ToSeconds(time.hidden()));
  }
  AddUtilisation(run, explanation);
  AddSensitivities(sensitivities, explanation);
  explanation.set_bottleneck(BottleneckSentence(explanation));
  return explanation;
}

}  // namespace orrery
