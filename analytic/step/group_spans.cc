#include "analytic/step/group_spans.h"

#include <absl/hash/hash.h>

#include <algorithm>

namespace orrery {
namespace {

// Of some thousand bytes where groups differ, and some hundred else.
constexpr size_t kMostKnown = 256;

}  // namespace

GroupSpans::GroupSpans(const ParallelLayout& layout, int chips_per_node,
                       PriceList& prices)
    : placement_(layout),
      pipeline_(layout.degrees.pipeline),
      blocks_(prices.Blocks()),
      mapped_(!layout.rank_map.empty()),
      prices_(prices) {
  blocks_.push_back(chips_per_node);
  const int fullest = layout.routing.FullestPlace(layout.degrees.expert);
  for (int place = 0; placement_.ExpertPlace(column_) != fullest; ++place) {
    column_ = placement_.FromStage(place, 0);
  }
}

const std::vector<GroupSpan>& GroupSpans::column(GroupFamily family) {
  std::vector<GroupSpan>& spans = of_column_[static_cast<size_t>(family)];
  if (!spans.empty()) return spans;
  if (const GroupSpan& alike = of(family); !differ(family)) {
    spans.push_back(alike);
    return spans;
  }
  for (int rank = 0; rank < pipeline_; ++rank) {
    const GroupSpan span =
        SpanOf(placement_.Members(family, placement_.PeerOf(column_, rank)));
    if (std::find(spans.begin(), spans.end(), span) == spans.end()) {
      spans.push_back(span);
    }
  }
  return spans;
}

const GroupSpan& GroupSpans::of(GroupFamily family, std::optional<int> stage) {
  std::optional<GroupSpan>& span = known_[static_cast<size_t>(family)];
  bool& differ = differ_[static_cast<size_t>(family)];
  if (!span) {
    if (placement_.Size(family) == 1) return span.emplace();
    const std::vector<int> members = placement_.Members(family, 0);
    differ = mapped_ || prices_.has_faults() || MayDiffer(members);
    span = differ ? Slowest(family, std::nullopt) : SpanOf(members);
  }
  if (!differ || !stage) return *span;
  const auto [it, added] = of_stage_.try_emplace({family, *stage});
  if (added) it->second = Slowest(family, stage);
  return it->second;
}

const std::vector<GroupSpan>& GroupSpans::hops() {
  if (!hops_.empty()) return hops_;
  hops_.reserve(static_cast<size_t>(pipeline_));
  for (int rank = 0; rank < pipeline_; ++rank) {
    const int ends[] = {
        placement_.ChipOf(placement_.PeerOf(column_, rank)),
        placement_.ChipOf(placement_.PeerOf(column_, (rank + 1) % pipeline_))};
    hops_.push_back(prices_.Span(ends));
  }
  return hops_;
}

GroupSpan GroupSpans::SpanOf(std::vector<int> members) const {
  for (int& member : members) member = placement_.ChipOf(member);
  return prices_.Span(members);
}

// Ranks next to each other within the group lie as far apart as the first two.
// All groups lie alike if a group fills whole nodes or a node whole groups, the
// same holds of the rows and planes of a grid, and no link has a fault.
bool GroupSpans::MayDiffer(absl::Span<const int> members) const {
  const int64_t stride = members[1] - members[0];
  const int64_t extent = stride * static_cast<int64_t>(members.size());
  for (size_t i = 1; i < members.size(); ++i) {
    if (members[i] - members[i - 1] != stride) return true;
  }
  return std::any_of(blocks_.begin(), blocks_.end(), [&](int block) {
    if (extent <= block) return block % extent != 0;
    return extent % block != 0 || (stride < block && block % stride != 0);
  });
}

GroupSpan GroupSpans::Slowest(GroupFamily family,
                              std::optional<int> stage) const {
  // Large enough for bandwidth to count, and latency still.
  constexpr Bytes kProbe(16'000'000);
  GroupSpan slowest;
  double most = -1;
  // Each group once, however many of its ranks come by.
  std::vector<bool> seen(static_cast<size_t>(placement_.ranks()));
  const auto visit = [&](int rank) {
    if (seen[static_cast<size_t>(rank)]) return;
    std::vector<int> members = placement_.Members(family, rank);
    for (const int member : members) seen[static_cast<size_t>(member)] = true;
    const GroupSpan span = SpanOf(std::move(members));
    const double time =
        prices_.Call(CommunicationKind::kAllGather, kProbe, span);
    if (time <= most) return;
    most = time;
    slowest = span;
  };
  if (!stage) {
    for (int rank = 0; rank < placement_.ranks(); ++rank) visit(rank);
    return slowest;
  }
  const int in_stage = placement_.ranks() / pipeline_;
  for (int place = 0; place < in_stage; ++place) {
    visit(placement_.FromStage(place, *stage));
  }
  return slowest;
}

size_t KnownSpans::KeyHash::operator()(const Key& key) const {
  const Degrees& d = key.degrees;
  return absl::HashOf(d.tensor, d.context, d.pipeline, d.data, d.expert,
                      d.expert_tensor, d.order, key.sharding_group);
}

GroupSpans& KnownSpans::Of(const ParallelLayout& layout, int chips_per_node,
                           PriceList& prices) {
  const auto [found, added] = spans_.try_emplace(
      {layout.degrees, layout.rank_map, layout.sharding_group,
       layout.routing.FullestPlace(layout.degrees.expert),
       layout.stages.bidirectional()});
  if (added) {
    found->second =
        std::make_unique<GroupSpans>(layout, chips_per_node, prices);
  }
  return *found->second;
}

void KnownSpans::Trim() {
  if (spans_.size() > kMostKnown) spans_.clear();
}

}  // namespace orrery
