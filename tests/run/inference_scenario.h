#pragma once
// An inference scenario of the catalogue with changes, as tests write it.
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/scenario.h"

namespace orrery {

inline absl::StatusOr<ResolvedScenario> ScenarioWith(
    const std::string& name, const std::vector<std::string>& sets) {
  ASSIGN_OR_RETURN(pb::Scenario proto, ResolveScenario(Catalog(), name, sets));
  return MakeScenario(std::move(proto));
}

}  // namespace orrery
