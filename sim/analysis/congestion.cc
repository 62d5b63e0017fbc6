#include "sim/analysis/congestion.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>
#include <utility>

namespace orrery {
namespace {

// What is asked about one call.
struct Question {
  CongestedCall call;
  GroupId group{};
  // By link on its way and group: what went over it while the call ran.
  std::map<ResourceId, std::map<GroupId, double>> carried;
};

// Told of every rate that was granted, it adds to the questions whose calls ran
// meanwhile. Requires: questions in the order in which their calls ended.
class Listener {
 public:
  Listener(const Transfers& transfers, std::vector<Question>& questions)
      : transfers_(transfers), questions_(questions) {
    for (size_t i = questions.size(); i-- > 0;) {
      const Time started = questions[i].call.span.started;
      earliest_.push_back(
          earliest_.empty() ? started : std::min(started, earliest_.back()));
    }
    std::reverse(earliest_.begin(), earliest_.end());
  }

  void SetRate(const TransferLog::Rate& rate) {
    End({rate.group, rate.place}, rate.at);
    active_[{rate.group, rate.place}] = {rate.plan, rate.rate, rate.at};
  }

  void End(std::pair<GroupId, int32_t> key, Time at) {
    const auto found = active_.find(key);
    if (found == active_.end()) return;
    const Active& was = found->second;
    const auto first = std::upper_bound(
        questions_.begin(), questions_.end(), was.since,
        [](Time t, const Question& q) { return t < q.call.span.ended; });
    for (auto i = static_cast<size_t>(first - questions_.begin());
         i < questions_.size() && earliest_[i] < at; ++i) {
      Question& question = questions_[i];
      const Time from = std::max(was.since, question.call.span.started);
      const Time to = std::min(at, question.call.span.ended);
      if (from >= to) continue;
      const double work = was.rate * ToSeconds(to - from);
      for (const ResourceUse& use :
           transfers_.plans.step(was.plan, key.second).uses) {
        const auto link = question.carried.find(use.resource);
        if (link == question.carried.end()) continue;
        link->second[key.first] += work * use.weight;
      }
    }
    active_.erase(found);
  }

 private:
  struct Active {
    PlanId plan{};
    double rate = 0;
    Time since{};
  };
  const Transfers& transfers_;
  std::vector<Question>& questions_;
  // Of each question and those after it, when the first of their calls began.
  std::vector<Time> earliest_;
  absl::flat_hash_map<std::pair<GroupId, int32_t>, Active> active_;
};

std::vector<Question> Questions(const Program& program,
                                const Transfers& transfers,
                                const std::vector<PathStep>& path,
                                const CallTimes& alone) {
  std::vector<std::pair<Duration, const TaskSpan*>> calls;
  for (const PathStep& step : path) {
    const Task& task = program.role_of(step.span.rank).task(step.span.task);
    if (!IsCommunication(task.kind)) continue;
    const Duration lost = CongestionOf(program, step.span, alone);
    if (lost > Duration(0)) calls.emplace_back(lost, &step.span);
  }
  std::stable_sort(
      calls.begin(), calls.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  if (calls.size() > kMostCongestedCalls) calls.resize(kMostCongestedCalls);
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) {
                     return a.second->ended < b.second->ended;
                   });
  std::vector<Question> questions;
  for (const auto& [lost, span] : calls) {
    const Task& task = program.role_of(span->rank).task(span->task);
    const CallId call = program.call_of(span->rank, task);
    Question question = {
        .call = {.span = *span, .alone = alone[call]},
        .group = program.group_of(span->rank, static_cast<SlotId>(task.slot)),
        .carried = {}};
    for (const ResourceUse& use :
         transfers.plans.TotalLoad(transfers.plan_of_call[call])) {
      question.carried[use.resource];
    }
    if (!question.carried.empty()) questions.push_back(std::move(question));
  }
  return questions;
}

void Answer(const Transfers& transfers, Question& question) {
  CongestedCall& call = question.call;
  const double seconds = ToSeconds(call.span.running());
  for (const auto& [link, groups] : question.carried) {
    const double whole = transfers.capacities[link] * seconds;
    double load = 0;
    for (const auto& [group, carried] : groups) load += carried / whole;
    if (load <= call.load) continue;
    call.load = load;
    call.link = link;
    call.others.clear();
    for (const auto& [group, carried] : groups) {
      if (group == question.group || carried == 0) continue;
      call.others.push_back({group, carried / whole});
    }
  }
  std::stable_sort(
      call.others.begin(), call.others.end(),
      [](const auto& a, const auto& b) { return a.load > b.load; });
}

}  // namespace

std::vector<CongestedCall> CongestedCalls(const Program& program,
                                          const Transfers& transfers,
                                          const TransferLog& log,
                                          const std::vector<PathStep>& path,
                                          const CallTimes& alone) {
  std::vector<Question> questions = Questions(program, transfers, path, alone);
  if (questions.empty()) return {};
  Listener listener(transfers, questions);
  auto ended = log.spans.begin();
  for (const TransferLog::Rate& rate : log.rates) {
    for (; ended != log.spans.end() && ended->ended <= rate.at; ++ended) {
      listener.End({ended->group, ended->place}, ended->ended);
    }
    listener.SetRate(rate);
  }
  for (; ended != log.spans.end(); ++ended) {
    listener.End({ended->group, ended->place}, ended->ended);
  }
  std::vector<CongestedCall> calls;
  for (Question& question : questions) {
    Answer(transfers, question);
    calls.push_back(std::move(question.call));
  }
  std::stable_sort(
      calls.begin(), calls.end(),
      [](const auto& a, const auto& b) { return a.lost() > b.lost(); });
  return calls;
}

}  // namespace orrery
