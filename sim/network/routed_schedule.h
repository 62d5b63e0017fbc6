#pragma once
// RoutedSchedule: a collective's steps placed on the machine.
//
// Each phase has what it puts on the resources (PhaseLoads) and how long its
// messages take to get going. Fluid and closed-form plans are read off the
// phases; stepped plans off the messages, whose routes (MessageRoutes) are kept
// for them only. Loads are found when they are asked for: most schedules are
// told from better ones by their latencies.
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <optional>
#include <utility>
#include <vector>

#include "sim/network/library_costs.h"
#include "sim/network/message_routes.h"
#include "sim/network/phase_loads.h"

namespace orrery {

class RoutedSchedule {
 public:
  struct Options {
    // As of MessageRoutes::Find.
    std::optional<AdaptiveShares> shares = std::nullopt;
    // Whether routes are kept message by message.
    bool keep_routes = false;
  };
  // Fails as MessageRoutes::Find and FindExchange do. `schedule` and
  // `resources` must outlive the result.
  static absl::StatusOr<RoutedSchedule> Make(const Schedule& schedule,
                                             const GroupPlacement& placement,
                                             const NetworkResources& resources,
                                             Router& router,
                                             const Options& options,
                                             RoutingScratch& scratch);

  const Schedule& schedule() const { return *schedule_; }
  // The chip of each rank of the schedule.
  absl::Span<const VertexId> chips() const { return chips_; }
  // Requires: Options::keep_routes.
  const MessageRoutes& routes() const { return *routes_; }
  // Finds the loads, unless they are known.
  void FindLoads(RoutingScratch& scratch);
  bool has_loads() const { return loads_.has_value(); }
  // Requires: they have been found.
  const PhaseLoads& loads() const { return *loads_; }
  // What it takes beside the schedule, which others have as well.
  Bytes size() const;
  bool touches(Tier tier) const;

  // How long phase `phase` of one segment waits before bytes flow: of a round,
  // the slowest message; if it repeats, so many messages in a row. What goes
  // all the way round a ring meets the mean of its hops, what goes part of the
  // way the slowest stretch. Where rounds are threads (Schedule::threads), the
  // phases of the slowest thread count.
  Duration Latency(size_t phase, const ProtocolPair& protocols) const;
  // The same of every phase.
  std::vector<Duration> Latencies(const ProtocolPair& protocols) const;

 private:
  // So many messages of a round whose links take so long.
  struct LatencyTerm {
    Tier tier;
    Duration latency{};
    int64_t messages = 0;
  };

  RoutedSchedule(const Schedule& schedule, std::vector<VertexId> chips,
                 const NetworkResources& resources, bool keep_routes)
      : schedule_(&schedule),
        chips_(std::move(chips)),
        resources_(&resources),
        keep_routes_(keep_routes) {}

  const Schedule* schedule_;
  std::vector<VertexId> chips_;
  const NetworkResources* resources_;
  bool keep_routes_;
  std::optional<MessageRoutes> routes_;    // until loads are found, or kept
  std::vector<ExchangeRoutes> exchanges_;  // by round, until loads are found
  std::optional<PhaseLoads> loads_;
  // How often each term of its round is in a stretch of the ring.
  using Stretch = std::vector<int32_t>;

  Duration LatencyOfRound(size_t round, const ProtocolPair& protocols) const;
  void AddStretches(const Round& round);

  std::vector<std::vector<LatencyTerm>> latencies_;  // by round
  // By round, the stretches of a ring that differ; none where the mean counts.
  std::vector<std::vector<Stretch>> stretches_;
};

}  // namespace orrery
