#include "sim/network/schedule_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/status.h"
#include "topology/collectives/collective_expert.h"
#include "topology/collectives/collective_traffic.h"

namespace orrery {
namespace {

// The traffic with members in another order.
ExpertTraffic InOrder(const ExpertTraffic& traffic,
                      absl::Span<const VertexId> from,
                      absl::Span<const VertexId> to) {
  ExpertTraffic result = traffic;
  for (size_t i = 0; i < to.size(); ++i) {
    const auto place = std::find(from.begin(), from.end(), to[i]);
    CHECK(place != from.end());
    result.share[i] = traffic.share[static_cast<size_t>(place - from.begin())];
  }
  return result;
}

// Tokens are sent pair by pair, or along rails and inside islands.
absl::Status CheckTokenPairs(const GroupLayout& layout,
                             const ExpertTraffic& traffic) {
  const int64_t n = layout.ranks;
  const int64_t g = layout.island_size;
  const bool islands = traffic.by_island && g > 1 && g < n;
  const int64_t messages = n * (islands ? n / g + g : n);
  constexpr int64_t kMost = MostListed(Detail::kMessages);
  if (messages <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "tokens to experts on {} ranks: {} messages would have to be listed, "
      "more than {}",
      n, messages, kMost));
}

}  // namespace

Detail ScheduleCache::detail(CommunicationKind kind,
                             CollectiveAlgorithm algorithm) const {
  if (options_.by_message) return Detail::kMessages;
  if (!router_.routing().Has(Routing::kAdaptive)) return Detail::kAmounts;
  // An adaptive router looks at all messages of a fabric together. These are
  // one exchange of it, or several of the same pairs.
  const bool exchanges_only = (algorithm == CollectiveAlgorithm::kDirect ||
                               algorithm == CollectiveAlgorithm::kPxn) &&
                              kind != CommunicationKind::kBroadcast &&
                              kind != CommunicationKind::kReduce;
  return exchanges_only ? Detail::kAmounts : Detail::kMessages;
}

absl::StatusOr<const Schedule*> ScheduleCache::ScheduleOf(
    const CollectiveCall& call, CollectiveAlgorithm algorithm,
    absl::Span<const VertexId> chips, const GroupPlacement& placement) {
  if (MovesTokens(call.shape)) {
    RETURN_IF_ERROR(CheckTokenPairs(placement.layout, *call.traffic));
    return &others_.emplace_back(ExpertSchedule(
        placement.layout, InOrder(*call.traffic, chips, placement.chips),
        call.shape));
  }
  // Of two, each sends to the other; more than two always do it so.
  if (call.shape == CallShape::kAroundTheRing && chips.size() == 2) {
    return &others_.emplace_back(TrafficSchedule(2, {0, 1, 1, 0}));
  }
  const GroupLayout& layout = placement.layout;
  LayoutKey key = {call.kind,          algorithm,    layout.ranks,
                   layout.island_size, layout.parts, layout.root,
                   layout.meshed,      layout.grid,  layout.open_sides,
                   layout.tree_parents};
  const auto found = by_layout_.find(key);
  if (found != by_layout_.end()) return &found->second;
  ASSIGN_OR_RETURN(Schedule schedule,
                   MakeSchedule(call.kind, algorithm, layout, options_.segments,
                                detail(call.kind, algorithm)));
  return &by_layout_.emplace(std::move(key), std::move(schedule)).first->second;
}

void ScheduleCache::ForgetIfMany() {
  if (kept_ < kMostKept) return;
  entries_.clear();
  others_.clear();
  kept_ = {};
}

ScheduleCache::Entry& ScheduleCache::Find(
    const CollectiveCall& call, CollectiveAlgorithm algorithm,
    absl::Span<const VertexId> chips, const GroupPlacement& placement,
    const std::optional<AdaptiveShares>& shares) {
  if (MovesTokens(call.shape)) {
    CHECK(call.traffic != nullptr) << "tokens move, but nobody says where";
    if (!traffic_) traffic_ = *call.traffic;
    CHECK(*call.traffic == *traffic_) << "a second traffic in one run";
  }
  std::unique_ptr<Entry>& cached =
      entries_[{call.kind, algorithm, call.shape, placement.layout.root,
                placement.chips, shares}];
  if (cached != nullptr) return *cached;
  auto entry = std::make_unique<Entry>();
  const absl::StatusOr<const Schedule*> schedule =
      ScheduleOf(call, algorithm, chips, placement);
  entry->status = schedule.status();
  if (schedule.ok()) {
    entry->schedule = *schedule;
    absl::StatusOr<RoutedSchedule> routed = RoutedSchedule::Make(
        **schedule, placement, resources_, router_,
        {.shares = shares, .keep_routes = options_.by_message}, scratch_);
    entry->status = routed.status();
    if (routed.ok()) {
      entry->routed = *std::move(routed);
      kept_ += entry->routed->size();
    }
  }
  cached = std::move(entry);
  return *cached;
}

const PhaseLoads& ScheduleCache::LoadsOf(Entry& entry) {
  RoutedSchedule& routed = *entry.routed;
  if (!routed.has_loads()) {
    const Bytes before = routed.size();
    routed.FindLoads(scratch_);
    kept_ += routed.size() - before;
  }
  return routed.loads();
}

}  // namespace orrery
