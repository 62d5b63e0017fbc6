#include "sim/network/routed_schedule.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/status.h"
#include "sim/network/exchange_routes.h"

namespace orrery {
namespace {

bool SameEnds(const Schedule& schedule, int32_t a, int32_t b) {
  const Message& one = schedule.messages[static_cast<size_t>(a)];
  const Message& other = schedule.messages[static_cast<size_t>(b)];
  return one.source == other.source && one.destination == other.destination;
}

}  // namespace

absl::StatusOr<RoutedSchedule> RoutedSchedule::Make(
    const Schedule& schedule, const GroupPlacement& placement,
    const NetworkResources& resources, Router& router, const Options& options,
    RoutingScratch& scratch) {
  ASSIGN_OR_RETURN(MessageRoutes found,
                   MessageRoutes::Find(schedule, placement, resources, router,
                                       options.shares, scratch));
  RoutedSchedule result(schedule, placement.chips, resources,
                        options.keep_routes);
  result.routes_ = std::move(found);
  const MessageRoutes& routes = *result.routes_;
  std::vector<ExchangeRoutes>& exchanges = result.exchanges_;
  exchanges.resize(schedule.rounds.size());
  for (size_t i = 0; i < schedule.rounds.size(); ++i) {
    const Round& round = schedule.rounds[i];
    std::vector<LatencyTerm>& terms = result.latencies_.emplace_back();
    const auto count = [&](Tier tier, Duration latency, int64_t messages) {
      const auto same = std::find_if(
          terms.begin(), terms.end(), [&](const LatencyTerm& term) {
            return term.tier == tier && term.latency == latency;
          });
      if (same == terms.end()) {
        terms.push_back({tier, latency, messages});
      } else {
        same->messages += messages;
      }
    };
    for (int32_t m = round.messages_begin; m < round.messages_end; ++m) {
      // What one rank sends another in two parts takes one hop.
      if (m > round.messages_begin && SameEnds(schedule, m - 1, m)) continue;
      const MessageRoutes::Route& route = routes.of(static_cast<size_t>(m));
      count(route.tier, route.latency, 1);
    }
    result.AddStretches(round);
    if (!round.exchange) continue;
    ASSIGN_OR_RETURN(exchanges[i],
                     FindExchange(placement.chips, *round.exchange, resources,
                                  router, options.shares));
    scratch.KeepTold(resources, exchanges[i].loads);
    for (const ExchangeRoutes::Slowest& slowest : exchanges[i].slowest) {
      count(slowest.tier, slowest.latency, 1);
    }
  }
  return result;
}

void RoutedSchedule::FindLoads(RoutingScratch& scratch) {
  if (loads_) return;
  std::vector<TierShares>& sums = scratch.sums(resources_->capacities().size());
  loads_.emplace(*schedule_, *routes_, exchanges_, absl::MakeSpan(sums));
  exchanges_ = {};
  if (!keep_routes_) routes_.reset();
}

Bytes RoutedSchedule::size() const {
  size_t size = routes_ ? routes_->size_in_bytes() : 0;
  size_t loads = 0;
  for (const ExchangeRoutes& exchange : exchanges_) {
    loads += exchange.loads.size();
  }
  for (size_t phase = 0; loads_ && phase < schedule_->phases.size(); ++phase) {
    loads += loads_->loads(phase).size();
  }
  size += loads * sizeof(ResourceLoad);
  return Bytes(static_cast<int64_t>(size));
}

bool RoutedSchedule::touches(Tier tier) const {
  for (const std::vector<LatencyTerm>& round : latencies_) {
    for (const LatencyTerm& term : round) {
      if (term.tier == tier) return true;
    }
  }
  return false;
}

// Slides over the ring, so many hops at a time as the round has repetitions.
void RoutedSchedule::AddStretches(const Round& round) {
  std::vector<Stretch>& stretches = stretches_.emplace_back();
  const std::vector<LatencyTerm>& terms = latencies_.back();
  if (round.repeat == 1 || terms.size() < 2) return;
  const auto ranks = static_cast<size_t>(schedule_->participants());
  std::vector<int32_t> next(ranks, -1);
  std::vector<int32_t> term_of(ranks, -1);  // of the hop from a rank
  for (int32_t m = round.messages_begin; m < round.messages_end; ++m) {
    if (m > round.messages_begin && SameEnds(*schedule_, m - 1, m)) continue;
    const Message& message = schedule_->messages[static_cast<size_t>(m)];
    const auto source = static_cast<size_t>(message.source);
    if (message.times != round.repeat || next[source] >= 0) return;
    const MessageRoutes::Route& route = routes_->of(static_cast<size_t>(m));
    const auto term =
        std::find_if(terms.begin(), terms.end(), [&](const LatencyTerm& each) {
          return each.tier == route.tier && each.latency == route.latency;
        });
    next[source] = message.destination;
    term_of[source] = static_cast<int32_t>(term - terms.begin());
  }
  std::set<Stretch> distinct;
  std::vector<bool> seen(ranks, false);
  for (size_t first = 0; first < ranks; ++first) {
    if (next[first] < 0 || seen[first]) continue;
    std::vector<int32_t> ring;  // terms of its hops
    size_t at = first;
    do {
      if (next[at] < 0 || seen[at]) return;
      seen[at] = true;
      ring.push_back(term_of[at]);
      at = static_cast<size_t>(next[at]);
    } while (at != first);
    const auto length = static_cast<int32_t>(ring.size());
    if (round.repeat + 1 >= length) return;
    Stretch stretch(terms.size(), 0);
    const auto count = [&](int32_t hop, int32_t more) {
      stretch[static_cast<size_t>(ring[static_cast<size_t>(hop % length)])] +=
          more;
    };
    for (int32_t hop = 0; hop < round.repeat; ++hop) count(hop, 1);
    for (int32_t begin = 0; begin < length; ++begin) {
      distinct.insert(stretch);
      count(begin, -1);
      count(begin + round.repeat, 1);
    }
  }
  stretches.assign(distinct.begin(), distinct.end());
}

Duration RoutedSchedule::LatencyOfRound(size_t round,
                                        const ProtocolPair& protocols) const {
  Duration slowest{};
  double sum = 0;
  int64_t messages = 0;
  std::vector<Duration> times;
  for (const LatencyTerm& term : latencies_[round]) {
    const Duration one = StepLatency(term.tier, term.latency, protocols);
    times.push_back(one);
    slowest = std::max(slowest, one);
    sum += ToSeconds(one) * static_cast<double>(term.messages);
    messages += term.messages;
  }
  const int32_t repeat = schedule_->rounds[round].repeat;
  if (repeat == 1) return slowest;
  if (stretches_[round].empty()) {
    // A chunk that goes round a ring meets every hop in turn.
    const double mean = messages > 0 ? sum / static_cast<double>(messages) : 0;
    return FromSeconds(mean * repeat);
  }
  Duration longest{};
  for (const Stretch& stretch : stretches_[round]) {
    Duration time{};
    for (size_t i = 0; i < times.size(); ++i) time += stretch[i] * times[i];
    longest = std::max(longest, time);
  }
  return longest;
}

Duration RoutedSchedule::Latency(size_t phase,
                                 const ProtocolPair& protocols) const {
  if (schedule_->threads) return Latencies(protocols)[phase];
  Duration longest{};
  const Phase& rounds = schedule_->phases[phase];
  for (int32_t i = rounds.rounds_begin; i < rounds.rounds_end; ++i) {
    longest =
        std::max(longest, LatencyOfRound(static_cast<size_t>(i), protocols));
  }
  return longest;
}

std::vector<Duration> RoutedSchedule::Latencies(
    const ProtocolPair& protocols) const {
  std::vector<Duration> latencies;
  if (!schedule_->threads) {
    for (size_t phase = 0; phase < schedule_->phases.size(); ++phase) {
      latencies.push_back(Latency(phase, protocols));
    }
    return latencies;
  }
  Duration longest = Duration(-1);
  const Phase& first = schedule_->phases[0];
  for (int32_t i = 0; i < first.rounds_end - first.rounds_begin; ++i) {
    std::vector<Duration> thread;
    Duration sum{};
    for (const Phase& phase : schedule_->phases) {
      thread.push_back(LatencyOfRound(
          static_cast<size_t>(phase.rounds_begin + i), protocols));
      sum = AddTimes(sum, thread.back());
    }
    if (sum <= longest) continue;
    longest = sum;
    latencies = std::move(thread);
  }
  return latencies;
}

}  // namespace orrery
