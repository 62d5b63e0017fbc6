#pragma once
// Which groups of ranks an exchange of a layer goes over.
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

}  // namespace orrery
