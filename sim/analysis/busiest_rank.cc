#include "sim/analysis/busiest_rank.h"

#include "base/check.h"

namespace orrery {

RankId BusiestRank(const PlacedProgram& placed) {
  RoleId busiest{};
  for (const RoleId role : placed.work.ids()) {
    if (placed.work[role].passes.total() >
        placed.work[busiest].passes.total()) {
      busiest = role;
    }
  }
  for (const RankId rank : placed.program.ranks().ids()) {
    if (placed.program.ranks()[rank].role == busiest) return rank;
  }
  CHECK(false) << "nobody plays the busiest role";
  return {};
}

}  // namespace orrery
