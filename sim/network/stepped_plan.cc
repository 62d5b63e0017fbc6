#include "sim/network/stepped_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace orrery {
namespace {

// Segments that are sent as one.
struct Part {
  int32_t first;
  int32_t count;
};
std::vector<Part> PartsOf(const Schedule& schedule) {
  const int32_t k = schedule.segments;
  if (k == 1) return {{0, 1}};
  if (k == 2) return {{0, 1}, {1, 1}};
  return {{0, 1}, {1, k - 2}, {k - 1, 1}};
}

int64_t MessageCount(const Schedule& schedule) {
  int64_t count = 0;
  for (const Round& round : schedule.rounds) {
    for (const Message& message : schedule.messages_of(round)) {
      count += message.times;
    }
  }
  return count * static_cast<int64_t>(PartsOf(schedule).size());
}

// The last steps of every participant: what its next message waits for.
using Frontier = std::vector<std::vector<int32_t>>;

class Expander {
 public:
  Expander(const RoutedSchedule& routed, const ProtocolPair& protocols,
           double bytes, Duration before)
      : routed_(routed),
        schedule_(routed.schedule()),
        protocols_(protocols),
        bytes_(bytes),
        pipelined_(schedule_.segments > 1),
        channels_begin_(schedule_.messages.size()) {
    size_t channels = 0;
    for (size_t i = 0; i < schedule_.messages.size(); ++i) {
      channels_begin_[i] = channels;
      channels +=
          pipelined_ ? static_cast<size_t>(schedule_.messages[i].times) : 1;
    }
    last_of_channel_.assign(channels, -1);
    AddStep({.latency = before});
  }

  PlanSteps Expand() && {
    for (const Part& part : PartsOf(schedule_)) {
      part_ = part;
      Frontier frontier(Participants() * Threads(), {0});
      for (size_t phase = 0; phase < schedule_.phases.size();) {
        // A phase and those that stream behind it start together.
        Frontier done(frontier.size());
        Duration behind{};
        do {
          ExpandPhase(schedule_.phases[phase], behind, frontier, done);
          behind = AddTimes(behind, routed_.Latency(phase, protocols_));
          ++phase;
        } while (phase < schedule_.phases.size() &&
                 schedule_.phases[phase].streams);
        for (size_t r = 0; r < frontier.size(); ++r) {
          if (!done[r].empty()) frontier[r] = std::move(done[r]);
        }
      }
    }
    return std::move(plan_);
  }

 private:
  // Where in the plan a repetition begins.
  struct Written {
    size_t steps = 0;
    size_t orders = 0;
  };

  size_t Participants() const {
    return static_cast<size_t>(schedule_.participants());
  }
  size_t Threads() const {
    return schedule_.threads ? schedule_.rounds_of(schedule_.phases[0]).size()
                             : 1;
  }

  void ExpandPhase(const Phase& phase, Duration behind, Frontier& frontier,
                   Frontier& done) {
    size_t thread = 0;
    for (const Round& round : schedule_.rounds_of(phase)) {
      // Each thread has a frontier of its own.
      const size_t own = schedule_.threads ? Participants() * thread++ : 0;
      // What each participant got in the repetition before.
      Frontier arrived;
      const bool alike = round.repeat == 1 || HaveOneLatency(round);
      Written previous = {};
      for (int32_t repeat = 0; repeat < round.repeat; ++repeat) {
        Frontier next(round.repeat > 1 ? Participants() : 0);
        const Written here = {plan_.steps.size(), plan_.orders.size()};
        for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
          const auto message = static_cast<size_t>(i);
          const Message& m = schedule_.messages[message];
          if (repeat < m.first || repeat >= m.first + m.times) continue;
          const auto source = static_cast<size_t>(m.source);
          const auto destination = static_cast<size_t>(m.destination);
          waits_.clear();
          WaitFor(repeat == 0 || arrived[source].empty()
                      ? frontier[own + source]
                      : arrived[source]);
          if (repeat == m.first) WaitFor(frontier[own + destination]);
          std::sort(waits_.begin(), waits_.end());
          waits_.erase(std::unique(waits_.begin(), waits_.end()), waits_.end());
          AddMessage(message, round, repeat, behind, alike);
          if (!next.empty()) {
            next[destination].push_back(LastOf(message, repeat));
          }
        }
        // Who got nothing has what it had.
        for (size_t r = 0; r < next.size(); ++r) {
          if (next[r].empty() && repeat > 0) next[r] = std::move(arrived[r]);
        }
        arrived = std::move(next);
        repeat += Loop(round, repeat, previous, here);
        previous = here;
      }
      for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
        const Message& m = schedule_.messages[static_cast<size_t>(i)];
        const int32_t last =
            LastOf(static_cast<size_t>(i), m.first + m.times - 1);
        done[own + static_cast<size_t>(m.source)].push_back(last);
        done[own + static_cast<size_t>(m.destination)].push_back(last);
      }
    }
  }

  // Makes a loop of the repetition that was written from `here` on and those
  // that are like it; returns how many these are. The one written from `last`
  // on has to wait for what was before it in the same way, and one more has to
  // follow.
  int32_t Loop(const Round& round, int32_t repeat, const Written& last,
               const Written& here) {
    const size_t width = plan_.steps.size() - here.steps;
    const size_t orders = plan_.orders.size() - here.orders;
    const auto ahead = static_cast<int32_t>(width);
    // Segments follow one another repetition by repetition.
    if (pipelined_) return 0;
    if (repeat < 2 || width == 0 || here.steps - last.steps != width ||
        here.orders - last.orders != orders) {
      return 0;
    }
    std::vector<bool> follows(width, false);  // itself of the time before
    for (size_t i = 0; i < orders; ++i) {
      const StepOrder& was = plan_.orders[last.orders + i];
      const StepOrder& is = plan_.orders[here.orders + i];
      if (is.before != was.before + ahead || is.after != was.after + ahead ||
          is.before < static_cast<int32_t>(last.steps)) {
        return 0;
      }
      if (is.after == is.before + ahead) {
        follows[static_cast<size_t>(is.after) - here.steps] = true;
      }
    }
    for (size_t i = 0; i < width; ++i) {
      if (plan_.messages[here.steps + i].message !=
          plan_.messages[last.steps + i].message) {
        return 0;
      }
      if (plan_.steps[here.steps + i].work > 0 && !follows[i]) return 0;
    }
    int32_t changes = round.repeat;  // who sends, next
    for (const Message& m : schedule_.messages_of(round)) {
      for (const int32_t change : {m.first, m.first + m.times}) {
        if (change > repeat) changes = std::min(changes, change);
      }
    }
    const int32_t times = changes - 1 - repeat;
    if (times < 2) return 0;
    plan_.loops.push_back({static_cast<int32_t>(here.steps),
                           static_cast<int32_t>(plan_.steps.size()), times});
    return times - 1;
  }

  int32_t& LastOf(size_t message, int32_t repeat) {
    const int32_t channel =
        pipelined_ ? repeat - schedule_.messages[message].first : 0;
    return last_of_channel_[channels_begin_[message] +
                            static_cast<size_t>(channel)];
  }

  bool HaveOneLatency(const Round& round) const {
    std::optional<Duration> one;
    for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
      const Duration latency =
          StepLatency(routed_.routes().of(static_cast<size_t>(i)), protocols_);
      if (one && *one != latency) return false;
      one = latency;
    }
    return true;
  }

  void WaitFor(std::vector<int32_t>& steps) {
    Join(steps);
    waits_.insert(waits_.end(), steps.begin(), steps.end());
  }

  // Waits for many become one step that waits for them.
  void Join(std::vector<int32_t>& waits) {
    constexpr size_t kFew = 3;
    if (waits.size() <= kFew) return;
    const int32_t join = AddStep({});
    for (int32_t wait : waits) plan_.orders.push_back({wait, join});
    waits.assign(1, join);
  }

  int32_t AddStep(TransferStep step, StepMessage message = {}) {
    plan_.steps.push_back(std::move(step));
    plan_.messages.push_back(message);
    return static_cast<int32_t>(plan_.steps.size()) - 1;
  }

  // A message that waits for `waits_`, and whose bytes follow those that it had
  // before. Where all have `alike` latencies, they may pass after these too: a
  // chunk that goes round meets as many of them either way.
  void AddMessage(size_t message, const Round& round, int32_t repeat,
                  Duration behind, bool alike) {
    const StepMessage what = {static_cast<int32_t>(message), part_.first,
                              part_.count, repeat};
    const MessageRoutes& routes = routed_.routes();
    const MessageRoutes::Route& route = routes.of(message);
    const double efficiency = protocols_.Efficiency(route.tier);
    TransferStep flow = {
        .latency = AddTimes(behind, StepLatency(route, protocols_)),
        .work = schedule_.ShareOf(schedule_.messages[message], round) *
                part_.count * bytes_,
        .uses = routes.uses(message)};
    for (ResourceUse& use : flow.uses) use.weight /= efficiency;
    if (flow.work <= 0) flow.uses.clear();
    int32_t& last = LastOf(message, repeat);
    if (part_.count > 1) {
      // As the bytes come in.
      waits_.clear();
      flow.latency = Duration(0);
    } else if (pipelined_ || (last >= 0 && !alike)) {
      const int32_t latency = AddStep({.latency = flow.latency});
      for (int32_t wait : waits_) plan_.orders.push_back({wait, latency});
      waits_.assign(1, latency);
      flow.latency = Duration(0);
    }
    const int32_t step = AddStep(std::move(flow), what);
    for (int32_t wait : waits_) plan_.orders.push_back({wait, step});
    if (last >= 0) plan_.orders.push_back({last, step});
    last = step;
  }

  const RoutedSchedule& routed_;
  const Schedule& schedule_;
  ProtocolPair protocols_;
  double bytes_;
  bool pipelined_;
  Part part_ = {0, 1};
  // Of each message one channel, or one per repetition; the last step of each.
  std::vector<size_t> channels_begin_;
  std::vector<int32_t> last_of_channel_;
  std::vector<int32_t> waits_;
  PlanSteps plan_;
};

}  // namespace

absl::StatusOr<PlanSteps> SteppedPlan(const RoutedSchedule& routed,
                                      const ProtocolPair& protocols,
                                      double bytes, Duration before) {
  const int64_t messages = MessageCount(routed.schedule());
  if (messages > kMostSteppedMessages) {
    return absl::InvalidArgumentError(fmt::format(
        "{} over {} ranks takes {} messages, more than the {} that are "
        "simulated one by one; use fidelity FLUID",
        NameOf(routed.schedule().kind), routed.schedule().ranks, messages,
        kMostSteppedMessages));
  }
  return Expander(routed, protocols, bytes, before).Expand();
}

}  // namespace orrery
