#include "cli/flags/scenario.h"

#include <utility>

#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"

namespace orrery {

Flag SetFlag() {
  return {.name = "set",
          .value = "PATH=VALUE",
          .help = "override a field, e.g. training.parallel.tensor=4",
          .repeated = true};
}

absl::StatusOr<ResolvedScenario> LoadScenario(const Arguments& arguments) {
  ASSIGN_OR_RETURN(pb::Scenario proto,
                   ResolveScenario(Catalog(), arguments.positional()[0],
                                   arguments.All("set")));
  return MakeScenario(std::move(proto));
}

}  // namespace orrery
