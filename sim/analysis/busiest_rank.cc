#include "sim/analysis/busiest_rank.h"

#include "base/check.h"

namespace orrery {

RankId BusiestRank(const PlacedProgram& placed) {
  const Program& program = placed.program;
  CHECK(!program.ranks().empty()) << "nobody plays a role";
  const auto work_of = [&](RankId rank) {
    const ProgramRank& of = program.ranks()[rank];
    return ToSeconds(placed.work[of.role].passes.total()) * of.slowness;
  };
  RankId busiest{};
  double most = -1;
  for (const RankId rank : program.ranks().ids()) {
    const double work = work_of(rank);
    const RoleId role = program.ranks()[rank].role;
    const RoleId first = program.ranks()[busiest].role;
    if (work < most || (work == most && !(role < first))) continue;
    busiest = rank;
    most = work;
  }
  return busiest;
}

}  // namespace orrery
