#include "sim/network/stepped_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace orrery {
namespace {

int64_t MessageCount(const Schedule& schedule) {
  int64_t count = 0;
  for (const Round& round : schedule.rounds) {
    for (const Message& message : schedule.messages_of(round)) {
      count += message.times;
    }
  }
  return count * schedule.segments;
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
        last_of_message_(schedule_.messages.size(), -1) {
    AddStep({.latency = before});
  }

  PlanSteps Expand() && {
    for (segment_ = 0; segment_ < schedule_.segments; ++segment_) {
      Frontier frontier(static_cast<size_t>(schedule_.participants()), {0});
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

  void ExpandPhase(const Phase& phase, Duration behind, Frontier& frontier,
                   Frontier& done) {
    for (const Round& round : schedule_.rounds_of(phase)) {
      Frontier before;
      Written previous = {};
      for (int32_t repeat = 0; repeat < round.repeat; ++repeat) {
        Frontier& ready = repeat == 0 ? frontier : before;
        Frontier after(frontier.size());
        const Written here = {plan_.steps.size(), plan_.orders.size()};
        for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
          const Message& m = schedule_.messages[static_cast<size_t>(i)];
          if (repeat < m.first || repeat >= m.first + m.times) continue;
          const size_t source = static_cast<size_t>(m.source);
          const size_t destination = static_cast<size_t>(m.destination);
          Join(ready[source]);
          Join(ready[destination]);
          waits_ = ready[source];
          waits_.insert(waits_.end(), ready[destination].begin(),
                        ready[destination].end());
          std::sort(waits_.begin(), waits_.end());
          waits_.erase(std::unique(waits_.begin(), waits_.end()), waits_.end());
          const int32_t step =
              AddMessage(static_cast<size_t>(i), round, repeat, behind);
          after[source].push_back(step);
          after[destination].push_back(step);
        }
        if (repeat + 1 == round.repeat) {
          for (size_t r = 0; r < after.size(); ++r) {
            // Or what it did last.
            const auto& last =
                after[r].empty() && repeat > 0 ? ready[r] : after[r];
            done[r].insert(done[r].end(), last.begin(), last.end());
          }
          continue;
        }
        // Who had nothing to do goes on waiting for what it had.
        for (size_t r = 0; r < after.size(); ++r) {
          if (after[r].empty()) after[r] = ready[r];
        }
        before = std::move(after);
        repeat += Loop(round, repeat, previous, here);
        previous = here;
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

  // A message that waits for `waits_`.
  int32_t AddMessage(size_t message, const Round& round, int32_t repeat,
                     Duration behind) {
    const StepMessage what = {static_cast<int32_t>(message), segment_, repeat};
    const MessageRoutes& routes = routed_.routes();
    const MessageRoutes::Route& route = routes.of(message);
    const double efficiency = protocols_.of(route.tier).efficiency;
    TransferStep flow = {
        .latency = AddTimes(behind, StepLatency(route, protocols_)),
        .work = schedule_.ShareOf(schedule_.messages[message], round) * bytes_,
        .uses = routes.uses(message)};
    for (ResourceUse& use : flow.uses) use.weight /= efficiency;
    const absl::Span<const PortUse> ports = routes.ports(message);
    flow.ports.assign(ports.begin(), ports.end());
    for (PortUse& use : flow.ports) use.weight /= efficiency;
    if (flow.work <= 0) {
      flow.uses.clear();
      flow.ports.clear();
    }
    if (!pipelined_) {
      const int32_t step = AddStep(std::move(flow), what);
      for (int32_t wait : waits_) plan_.orders.push_back({wait, step});
      return step;
    }
    const int32_t latency = AddStep({.latency = flow.latency});
    for (int32_t wait : waits_) plan_.orders.push_back({wait, latency});
    flow.latency = Duration(0);
    const int32_t step = AddStep(std::move(flow), what);
    plan_.orders.push_back({latency, step});
    int32_t& last = last_of_message_[message];
    if (last >= 0) plan_.orders.push_back({last, step});
    last = step;
    return step;
  }

  const RoutedSchedule& routed_;
  const Schedule& schedule_;
  ProtocolPair protocols_;
  double bytes_;
  bool pipelined_;
  int32_t segment_ = 0;
  std::vector<int32_t> last_of_message_;  // of the segment before
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
