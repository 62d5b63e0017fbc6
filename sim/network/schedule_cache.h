#pragma once
// ScheduleCache: routed schedules, each made once.
//
// Calls of the same group by the same algorithm differ in bytes only: the
// schedule and its routes are found the first time and kept; groups that lie
// alike share the schedule. Entries stay where they are until all are
// forgotten. One per run, not shared between threads.
#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/types/span.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/network/collective_call.h"
#include "sim/network/network_resources.h"
#include "sim/network/routed_schedule.h"
#include "sim/network/routing_scratch.h"
#include "topology/collectives/collective.h"
#include "topology/collectives/group_placement.h"
#include "topology/routing/route.h"

namespace orrery {

class ScheduleCache {
 public:
  struct Options {
    int32_t segments;  // of pipelined schedules
    // Whether messages are simulated one by one, and their routes kept.
    bool by_message;
    // Of resources that carry the same at any time, whether the first alone is
    // told (NetworkResources::first_alike).
    bool one_of_alike = false;
  };
  // A schedule on the machine, or why there is none.
  struct Entry {
    absl::Status status;
    const Schedule* schedule = nullptr;    // null if there is none anywhere
    std::optional<RoutedSchedule> routed;  // set if `status` is ok
  };

  // `resources` and `router` must outlive it.
  ScheduleCache(const NetworkResources& resources, Router& router,
                Options options)
      : resources_(resources),
        router_(router),
        options_(options),
        scratch_(options.one_of_alike) {}

  // How much of a schedule the network needs to see.
  Detail detail(CommunicationKind kind, CollectiveAlgorithm algorithm) const;

  // The schedule of `call` by `algorithm` among `chips`, its own or those of a
  // replica, which are placed as `placement` says, routed with `shares`
  // (MessageRoutes::Find). Requires: all calls that move tokens have the same
  // traffic.
  Entry& Find(const CollectiveCall& call, CollectiveAlgorithm algorithm,
              absl::Span<const VertexId> chips, const GroupPlacement& placement,
              const std::optional<AdaptiveShares>& shares = {});

  // The loads of a schedule that is routed, found once.
  const PhaseLoads& LoadsOf(Entry& entry);

  // Drops all entries if together they take much.
  void ForgetIfMany();
  static constexpr Bytes kMostKept{int64_t{128} << 20};
  Bytes kept() const { return kept_; }

 private:
  struct Key {
    CommunicationKind kind;
    CollectiveAlgorithm algorithm;
    CallShape shape;
    int32_t root;
    std::vector<VertexId> chips;  // as placed
    std::optional<AdaptiveShares> shares;
    friend bool operator==(const Key&, const Key&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.kind, key.algorithm, key.shape,
                        key.root, key.chips, key.shares.has_value(),
                        key.shares.value_or(AdaptiveShares()));
    }
  };

  // Schedules depend on how a group lies, not on where.
  struct LayoutKey {
    CommunicationKind kind;
    CollectiveAlgorithm algorithm;
    int32_t ranks;
    int32_t island_size;
    std::vector<IslandPart> parts;
    int32_t root;
    bool meshed;
    std::vector<int32_t> grid;
    std::vector<bool> open_sides;
    std::vector<int32_t> tree_parents;
    auto operator<=>(const LayoutKey&) const = default;
  };
  absl::StatusOr<const Schedule*> ScheduleOf(const CollectiveCall& call,
                                             CollectiveAlgorithm algorithm,
                                             absl::Span<const VertexId> chips,
                                             const GroupPlacement& placement);

  const NetworkResources& resources_;
  Router& router_;
  Options options_;
  RoutingScratch scratch_;
  std::optional<ExpertTraffic> traffic_;  // of all calls that move tokens
  // At fixed addresses: entries refer to them.
  std::map<LayoutKey, Schedule> by_layout_;
  std::deque<Schedule> others_;
  Bytes kept_{};
  absl::flat_hash_map<Key, std::unique_ptr<Entry>> entries_;
};

}  // namespace orrery
