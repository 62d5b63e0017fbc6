#pragma once
// GroupSpans: how the groups of a placement lie on the machine of a price list.
//
//   GroupSpans& spans = known.Of(plan.layout(), chips_per_node, prices);
//   AskedSpans asked(spans);
//   asked.of(GroupFamily::kShard, /*stage=*/3);
//
// Plans that differ in neither degrees nor order have their groups in the same
// places: KnownSpans remembers them.
#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analytic/collective/group_cost.h"
#include "analytic/step/price_list.h"
#include "workload/plan/parallel_layout.h"
#include "workload/plan/placement.h"

namespace orrery {

class GroupSpans {
 public:
  // The prices must outlive the spans.
  GroupSpans(const ParallelLayout& layout, int chips_per_node,
             PriceList& prices);

  const Placement& placement() const { return placement_; }
  // Of rank 0's group, or, where groups lie on nodes in different ways or links
  // have faults, of the slowest: all wait for it in the end. Of one stage, if
  // it is said which. Found once.
  const GroupSpan& of(GroupFamily family,
                      std::optional<int> stage = std::nullopt);
  // Of the pipeline that a rank with the fullest experts belongs to: its groups
  // that lie in different ways. Nothing that its ranks do takes less than with
  // the cheapest of them.
  const std::vector<GroupSpan>& column(GroupFamily family);
  // Whether groups of the family lie in different ways. Requires: it was asked
  // for.
  bool differ(GroupFamily family) const {
    return differ_[static_cast<size_t>(family)];
  }
  // In that pipeline: from each rank to the next, and from the last to the
  // first.
  const std::vector<GroupSpan>& hops();

 private:
  GroupSpan SpanOf(std::vector<int> members) const;
  // Whether groups like this one may cross nodes in other places.
  bool MayDiffer(absl::Span<const int> members) const;
  GroupSpan Slowest(GroupFamily family, std::optional<int> stage) const;

  Placement placement_;
  int pipeline_;
  int column_ = 0;  // the pipeline's rank in the first stage
  // Chips of a node, and of blocks within islands.
  std::vector<int> blocks_;
  bool mapped_;
  PriceList& prices_;
  std::array<std::optional<GroupSpan>, kGroupFamilies> known_;
  // Where groups differ, by family and stage.
  std::array<bool, kGroupFamilies> differ_{};
  absl::flat_hash_map<std::pair<GroupFamily, int>, GroupSpan> of_stage_;
  std::array<std::vector<GroupSpan>, kGroupFamilies> of_column_;
  std::vector<GroupSpan> hops_;
};

// What one plan asks for.
class AskedSpans {
 public:
  // The spans must outlive this.
  explicit AskedSpans(GroupSpans& spans) : spans_(spans) {}

  const GroupSpan& of(GroupFamily family,
                      std::optional<int> stage = std::nullopt) {
    const GroupSpan& span = spans_.of(family, stage);
    any_differ_ |= spans_.differ(family);
    return span;
  }
  absl::Span<const GroupSpan> column(GroupFamily family) {
    return spans_.column(family);
  }
  // Whether groups of a family that was asked for here lie in different ways.
  bool any_differ() const { return any_differ_; }

 private:
  GroupSpans& spans_;
  bool any_differ_ = false;
};

class KnownSpans {
 public:
  // Stays until Trim().
  GroupSpans& Of(const ParallelLayout& layout, int chips_per_node,
                 PriceList& prices);
  // Forgets all where they have become many.
  void Trim();

 private:
  // All that a placement depends on.
  struct Key {
    Degrees degrees;
    std::vector<int> rank_map;
    int sharding_group;
    int fullest_place;
    bool bidirectional;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  absl::flat_hash_map<Key, std::unique_ptr<GroupSpans>, KeyHash> spans_;
};

}  // namespace orrery
