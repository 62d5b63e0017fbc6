#pragma once
// Which groups of ranks an exchange of a layer goes over.
#include <array>

#include "base/check.h"
#include "workload/model/layer.h"
#include "workload/plan/placement.h"

namespace orrery {

inline GroupFamily FamilyOf(ExchangeGroup group) {
  switch (group) {
    case ExchangeGroup::kTensor:
      return GroupFamily::kTensor;
    case ExchangeGroup::kContext:
      return GroupFamily::kContext;
    case ExchangeGroup::kExpert:
      return GroupFamily::kExpert;
    case ExchangeGroup::kExpertTensor:
      return GroupFamily::kExpertTensor;
  }
  CHECK(false) << "no such group";
  return {};
}

// Members that the groups of the first rank have on its node.
inline std::array<int, kExchangeGroups> MembersOnNode(
    const ParallelLayout& layout, int chips_per_node) {
  const Placement placement(layout);
  const int node = placement.ChipOf(0) / chips_per_node;
  std::array<int, kExchangeGroups> on_node{};
  for (size_t i = 0; i < kExchangeGroups; ++i) {
    const GroupFamily family = FamilyOf(static_cast<ExchangeGroup>(i));
    for (const int member : placement.Members(family, 0)) {
      if (placement.ChipOf(member) / chips_per_node == node) ++on_node[i];
    }
  }
  return on_node;
}

}  // namespace orrery
