#include "sim/network/routed_schedule.h"

#include <algorithm>

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
  ASSIGN_OR_RETURN(MessageRoutes routes,
                   MessageRoutes::Find(schedule, placement, resources, router,
                                       options.rules, scratch));
  RoutedSchedule result(schedule, placement.chips, resources,
                        options.keep_routes);
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
    if (!round.exchange) continue;
    ASSIGN_OR_RETURN(exchanges[i],
                     FindExchange(placement.chips, *round.exchange, resources,
                                  router, options.rules.shares));
    scratch.KeepTold(resources, exchanges[i].loads);
    for (const ExchangeRoutes::Slowest& slowest : exchanges[i].slowest) {
      count(slowest.tier, slowest.latency, 1);
    }
  }
  result.routes_ = std::move(routes);
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

Duration RoutedSchedule::Latency(size_t phase,
                                 const ProtocolPair& protocols) const {
  Duration longest{};
  const Phase& rounds = schedule_->phases[phase];
  for (int32_t i = rounds.rounds_begin; i < rounds.rounds_end; ++i) {
    const Round& round = schedule_->rounds[static_cast<size_t>(i)];
    Duration slowest{};
    double sum = 0;
    int64_t messages = 0;
    for (const LatencyTerm& term : latencies_[static_cast<size_t>(i)]) {
      const Duration one = StepLatency(term.tier, term.latency, protocols);
      slowest = std::max(slowest, one);
      sum += ToSeconds(one) * static_cast<double>(term.messages);
      messages += term.messages;
    }
    // A chunk that goes round a ring meets every hop in turn.
    const double mean = messages > 0 ? sum / static_cast<double>(messages) : 0;
    longest =
        std::max(longest, round.repeat == 1 ? slowest
                                            : FromSeconds(mean * round.repeat));
  }
  return longest;
}

}  // namespace orrery
