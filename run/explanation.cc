#include "run/explanation.h"

#include <absl/strings/match.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/format.h"
#include "base/units_text.h"
#include "run/removals.h"
#include "run/scenario_cost.h"
#include "run/utilisation.h"
#include "sim/analysis/congestion.h"
#include "sim/analysis/critical_path.h"
#include "sim/analysis/span_index.h"
#include "sim/analysis/step_breakdown.h"
#include "sim/analysis/time_shares.h"
#include "sim/analysis/wait_work.h"

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

using Shares = google::protobuf::RepeatedPtrField<pb::Explanation::Share>;

using NamedTimes = std::vector<std::pair<std::string, Duration>>;

// What the ranks that a rank waited for were doing, all the way down: their
// communication by stream, and the rest, for which their kernels were at work.
// Largest first.
struct WaitParts {
  NamedTimes bubble;
  NamedTimes late_peers;
};

NamedTimes LargestFirst(const std::map<std::string, Duration>& times) {
  NamedTimes sorted(times.begin(), times.end());
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

WaitParts PartsOfWaits(const Program& program, const SpanIndex& spans,
                       const std::vector<PathStep>& path,
                       const BreakdownSink& sink) {
  std::map<std::string, Duration> bubble, late_peers;
  for (const WaitedWork& part : FollowToWork(spans, path, sink.waits())) {
    const bool late = part.wait->kind == RankWait::Kind::kLatePeer;
    if (!late && part.wait->kind != RankWait::Kind::kBubble) continue;
    const bool kernel = part.work == nullptr ||
                        part.work->kind == SpanKind::kKernel ||
                        part.work->kind == SpanKind::kMarker;
    const std::string name =
        !kernel ? fmt::format("communication of other ranks: {}",
                              program.streams()[part.work->stream].name)
        : late  ? "kernels of late peers"
                : kWorkOfOtherStages;
    (late ? late_peers : bubble)[name] += part.time();
  }
  return {LargestFirst(bubble), LargestFirst(late_peers)};
}

// How a rank spends the step; the sink keeps its waits.
BreakdownSink AddRankTime(const SimulatedRun& run, const SpanIndex& spans,
                          const std::vector<PathStep>& path, RankId rank,
                          Shares& shares) {
  const Program& program = run.placed.program;
  BreakdownSink sink(program, rank, &run.alone);
  for (const TaskSpan& span : run.spans) sink.Add(span);
  const StepBreakdown b = sink.Finish(run.result.end);
  WaitParts waits = PartsOfWaits(program, spans, path, sink);
  struct Part {
    std::string name;
    Duration time{};
    Duration congestion{};
    NamedTimes parts;
  };
  std::vector<Part> parts = {
      {"compute", b.kernels.arithmetic, {}, {}},
      {"memory-bound", b.kernels.memory_bound, {}, {}},
      {"launch", b.kernels.launch, {}, {}},
      {"optimizer", b.kernels.optimizer, {}, {}},
      {"slow chip", b.kernels.slow_chip, {}, {}},
      {kSlowedByCommunication, b.kernels.shared_chip, {}, {}},
      {"host", b.host, {}, {}},
      {"bubble", b.bubble, {}, std::move(waits.bubble)},
      {"late peers", b.late_peer, {}, std::move(waits.late_peers)},
  };
  for (const StreamId stream : program.streams().ids()) {
    parts.push_back({fmt::format("communication: {}, exposed",
                                 program.streams()[stream].name),
                     b.exposed[stream].time,
                     b.exposed[stream].congestion,
                     {}});
  }
  std::stable_sort(
      parts.begin(), parts.end(),
      [](const Part& x, const Part& y) { return x.time > y.time; });
  for (const Part& part : parts) {
    if (part.time == Duration(0)) continue;
    pb::Explanation::Share& share = *shares.Add();
    AddShare(part.name, part.time, 0, ToSeconds(run.result.end), share);
    if (part.congestion > Duration(0)) {
      share.set_congestion_s(ToSeconds(part.congestion));
    }
    for (const auto& [name, time] : part.parts) {
      auto& added = *share.add_parts();
      added.set_name(name);
      added.set_time_s(ToSeconds(time));
    }
  }
  return sink;
}

std::string LinkName(const SimulatedRun& run, ResourceId link) {
  const ResourcePlace& place = run.transfers.resource_places[link];
  return place.chip ? fmt::format("chip {}: {}", *place.chip, place.name)
                    : place.name;
}

// Where all calls of the path lost time, and of each stream the worst call.
void AddCongestion(const SimulatedRun& run, const std::vector<PathStep>& path,
                   pb::Explanation& explanation) {
  constexpr size_t kMostOthers = 4;
  constexpr size_t kMostLinks = 8;
  const Program& program = run.placed.program;
  std::set<StreamId> told;
  std::map<std::string, Duration> links;
  Duration all{};
  for (const CongestedCall& call :
       CongestedCalls(program, run.transfers, run.log, path, run.alone)) {
    links[LinkName(run, call.link)] += call.lost();
    all += call.lost();
    if (!told.insert(call.span.stream).second) continue;
    auto& added = *explanation.add_congestion();
    added.set_stream(program.streams()[call.span.stream].name);
    added.set_call(program.name(call.span.name));
    added.set_rank(program.ranks()[call.span.rank].number);
    added.set_time_s(ToSeconds(call.span.running()));
    added.set_alone_s(ToSeconds(call.alone));
    added.set_link(LinkName(run, call.link));
    added.set_load(call.load);
    for (size_t i = 0; i < std::min(kMostOthers, call.others.size()); ++i) {
      auto& other = *added.add_others();
      other.set_call(program.Describe(call.others[i].group));
      other.set_load(call.others[i].load);
    }
  }
  std::vector<std::pair<std::string, Duration>> sorted(links.begin(),
                                                       links.end());
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  if (sorted.size() > kMostLinks) sorted.resize(kMostLinks);
  for (const auto& [name, lost] : sorted) {
    auto& link = *explanation.add_congested_links();
    link.set_link(name);
    link.set_lost_s(ToSeconds(lost));
    link.set_share(ToSeconds(lost) / ToSeconds(all));
  }
}

// The links of congestion are known here only.
void AddRemoval(const pb::Explanation::Removal& removal,
                pb::Explanation& explanation) {
  auto& added = *explanation.add_removals();
  added = removal;
  if (removal.cause() == kCongestion &&
      explanation.congested_links_size() > 0) {
    added.set_where(explanation.congested_links(0).link());
  }
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

// What a cause of the path is counted as: all kinds of compute, of memory
// traffic and of communication are one each.
std::string FamilyOf(const std::string& cause) {
  for (const char* family :
       {"compute", "memory-bound", "communication", "congestion"}) {
    if (absl::StartsWith(cause, family)) return family;
  }
  return cause;
}

// Largest first.
std::vector<std::pair<std::string, double>> Families(const Shares& path) {
  std::map<std::string, double> sums;
  for (const auto& cause : path) sums[FamilyOf(cause.name())] += cause.share();
  std::vector<std::pair<std::string, double>> families(sums.begin(),
                                                       sums.end());
  std::stable_sort(
      families.begin(), families.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  return families;
}

// "communication makes up 58 % of the critical path, compute 37 %"
std::string PathWords(const Shares& path) {
  // Less is not worth a word.
  constexpr double kWorthNaming = 0.2;
  const auto families = Families(path);
  std::string words;
  for (size_t i = 0; i < std::min<size_t>(2, families.size()); ++i) {
    const auto& [family, share] = families[i];
    if (i == 0) {
      words = fmt::format("{} makes up {:.0f} % of the critical path", family,
                          100 * share);
    } else if (share >= kWorthNaming) {
      words += fmt::format(", {} {:.0f} %", family, 100 * share);
    }
  }
  return words;
}

// What of the machine a resource that was improved is, by its name in the list
// of utilisation; empty where there is no such thing.
absl::string_view UsedAs(absl::string_view resource) {
  if (resource == "compute") return "matrix units";
  if (resource == "HBM bandwidth") return "HBM bandwidth";
  if (resource == "scale-up bandwidth") return "scale-up";
  if (resource == "scale-out bandwidth") return "scale-out";
  return "";
}

// The most used of the resources whose names begin so; null if there is none.
const pb::Explanation::Utilisation* MostUsed(const pb::Explanation& explanation,
                                             absl::string_view prefix) {
  const pb::Explanation::Utilisation* most = nullptr;
  for (const auto& use : explanation.utilisation()) {
    if (prefix.empty() || !absl::StartsWith(use.resource(), prefix)) continue;
    if (most == nullptr || use.most() > most->most()) most = &use;
  }
  return most;
}

// "congestion (NDR tier 1 switch 5 to tier 2 switch 3)"
std::string CauseText(const pb::Explanation::Removal& removal) {
  return removal.has_where()
             ? fmt::format("{} ({})", removal.cause(), removal.where())
             : removal.cause();
}

bool IsDefect(const pb::Explanation::Removal& removal) {
  return removal.cause() == kSlowChip || removal.cause() == kLinkFault ||
         removal.cause() == kCongestion;
}

// Less than this of the step, and nothing is to blame.
constexpr double kWorthwhile = 0.02;

// The largest cause that can be taken away, what that gives, and the next ones.
// Empty where nothing was measured, or nothing is worth it.
std::string RemovalSentence(const pb::Explanation& explanation) {
  constexpr int kMostNext = 3;
  if (explanation.removals().empty() ||
      explanation.removals(0).saved() < kWorthwhile) {
    return "";
  }
  const auto& largest = explanation.removals(0);
  std::string sentence = fmt::format(
      "The largest removable cause is {}: without it the step would take {} "
      "instead of {} ({:.0f} % less)",
      CauseText(largest), SecondsText(largest.step_time_s()),
      SecondsText(explanation.step_time_s()), 100 * largest.saved());
  std::string next;
  for (int i = 1; i < explanation.removals_size(); ++i) {
    const auto& removal = explanation.removals(i);
    if (removal.saved() < kWorthwhile) continue;
    if (removal.saved() > largest.saved()) {
      // Communication that a defect slows comes after the defect.
      sentence += fmt::format("; it makes most of {} ({:.0f} %)",
                              removal.cause(), 100 * removal.saved());
      continue;
    }
    // What is broken or shared is named however many there are before it.
    if (i > kMostNext && !IsDefect(removal)) continue;
    next += fmt::format("{}{} ({:.0f} %)", next.empty() ? "" : ", ",
                        CauseText(removal), 100 * removal.saved());
  }
  if (!next.empty()) sentence += "; next come " + next;
  return sentence + ". ";
}

// What of the path could be taken away, where no step was simulated without it.
std::string RemovableWords(const pb::Explanation& explanation) {
  double congestion = 0;
  std::string words;
  for (const auto& cause : explanation.critical_path()) {
    if (FamilyOf(cause.name()) == "congestion") congestion += cause.share();
    if (cause.name() == "slow chip" && cause.share() >= kWorthwhile) {
      words += fmt::format("; a slow chip adds {:.0f} %", 100 * cause.share());
    }
  }
  if (congestion >= kWorthwhile && explanation.congested_links_size() > 0) {
    words +=
        fmt::format("; congestion adds {:.0f} %, most on {}", 100 * congestion,
                    explanation.congested_links(0).link());
  }
  return words;
}

// What binds, how much it would help, and what path and machine say about it.
std::string BottleneckSentence(const pb::Explanation& explanation) {
  const std::string made_of = PathWords(explanation.critical_path());
  if (explanation.sensitivity_size() == 0) {
    const auto* most = MostUsed(explanation, "scale-");
    // So full, a link decides.
    constexpr double kFull = 0.8;
    const std::string words = made_of + RemovableWords(explanation);
    if (most == nullptr || most->most() < kFull) return words + ".";
    return fmt::format("{}; links of {} are up to {:.0f} % full.", words,
                       most->resource(), 100 * most->most());
  }
  const auto& best = explanation.sensitivity(0);
  if (best.saved_twice() < kWorthwhile) {
    return fmt::format(
        "No part of the machine is the bottleneck: even twice the {} would "
        "save only {:.1f} %; {}.",
        best.resource(), 100 * best.saved_twice(), made_of);
  }
  // Where ranks wait for each other most of all, the plan binds before any part
  // of the machine does, though a faster part shortens the waits as well.
  const bool waits =
      Families(explanation.critical_path())[0].first == kWorkOfOtherStages;
  std::string sentence =
      waits
          ? fmt::format(
                "The bottleneck is the plan: {}. Of the machine's parts {} "
                "would help most",
                made_of, best.resource())
          : fmt::format("The bottleneck of the machine is {}", best.resource());
  sentence += fmt::format(
      ": twice as good, the step would take {} ({:.0f} % "
      "less)",
      SecondsText(best.step_time_twice_s()), 100 * best.saved_twice());
  if (const auto* use = MostUsed(explanation, UsedAs(best.resource()))) {
    sentence += fmt::format("; {}: {:.0f} % in use", use->resource(),
                            100 * use->most());
  }
  if (!waits) sentence += "; " + made_of;
  if (explanation.sensitivity_size() > 1 &&
      explanation.sensitivity(1).saved_twice() >= kWorthwhile) {
    sentence += fmt::format(". Next comes {} ({:.0f} % less)",
                            explanation.sensitivity(1).resource(),
                            100 * explanation.sensitivity(1).saved_twice());
  }
  return sentence + ".";
}

// What another plan would do on the machine as it is; empty without advice.
std::string AdviceSentence(const pb::Explanation& explanation) {
  if (explanation.plan_advice().empty()) return "";
  const auto& best = explanation.plan_advice(0);
  const bool beats_parts =
      explanation.sensitivity_size() > 0 &&
      best.saved() > explanation.sensitivity(0).saved_twice();
  return fmt::format(" On the same machine {} takes {} ({:.0f} % less{}).",
                     absl::StrJoin(best.settings(), " "),
                     SecondsText(best.step_time_s()), 100 * best.saved(),
                     beats_parts ? ", more than any part would save" : "");
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
    explanation.set_run_steps(cost.run_steps());
    explanation.set_productive_share(cost.productive_share());
  }
  for (auto* shares :
       {explanation.mutable_critical_path(), explanation.mutable_top_tasks(),
        explanation.mutable_rank_time(), explanation.mutable_rank_0_time()}) {
    for (auto& share : *shares) share.set_dollars(all * share.share());
  }
  for (auto& removal : *explanation.mutable_removals()) {
    removal.set_dollars(all * removal.saved());
  }
}

}  // namespace

pb::Explanation Explain(const ResolvedScenario& scenario,
                        const SimulatedRun& run,
                        absl::Span<const StepSensitivity> sensitivities,
                        absl::Span<const pb::Explanation::PlanAdvice> advice,
                        absl::Span<const pb::Explanation::Removal> removals) {
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
      AddRankTime(run, spans, path, busiest, *explanation.mutable_rank_time());
  AddRankTime(run, spans, path, RankId{0}, *explanation.mutable_rank_0_time());
  for (const TimeShare& share : PathByCause(
           program, path, {busiest, time.bubbles(), &run.alone}, run.ops)) {
    AddShare(share.name, share.time, share.count, step,
             *explanation.add_critical_path());
  }
  for (const TimeShare& share : TopTasks(program, path, kTopTasks)) {
    AddShare(share.name, share.time, share.count, step,
             *explanation.add_top_tasks());
  }
  for (const ExposedTime& calls :
       ExposedCommunication(program, spans, busiest, time, &run.alone)) {
    auto& added = *explanation.add_communication();
    added.set_stream(calls.stream);
    added.set_kind(std::string(NameOf(calls.kind)));
    added.set_count(calls.count);
    added.set_total_s(ToSeconds(calls.total));
    added.set_exposed_s(ToSeconds(calls.exposed));
    added.set_hidden_s(ToSeconds(calls.hidden()));
    if (calls.congestion > Duration(0)) {
      added.set_congestion_s(ToSeconds(calls.congestion));
    }
  }
  for (const ResourceClassUse& use : Utilisation(scenario, run)) {
    auto& added = *explanation.add_utilisation();
    added.set_resource(use.name);
    added.set_mean(use.mean);
    added.set_most(use.most);
    added.set_count(use.count);
  }
  AddCongestion(run, path, explanation);
  AddSensitivities(sensitivities, explanation);
  for (const auto& plan : advice) *explanation.add_plan_advice() = plan;
  for (const auto& removal : removals) AddRemoval(removal, explanation);
  AddDollars(scenario, run, explanation);
  explanation.set_bottleneck(RemovalSentence(explanation) +
                             BottleneckSentence(explanation) +
                             AdviceSentence(explanation));
  return explanation;
}

}  // namespace orrery
