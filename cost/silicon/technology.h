#pragma once
// Technology to chip: a chip that nobody has built, from one that exists and a
// budget of process, area, power and edge.
//
// The architecture is that of a known chip: what a unit does in a clock, its
// caches, its share of the area. The budget says the rest:
//
//   units     grow with the area left for them (dies x area less the interfaces
//             of memory and links) and shrink with the area of one, by the
//             density of logic and of SRAM in the process
//   clock     grows with the speed of the process; the clock held under load is
//             what the power leaves: what the known chip draws grows with its
//             units, bandwidth and area (cost/kernel/power_limit.h). Where that
//             is not known, by the alpha-power law
//             f ~ (V - Vt)^1.3 / V (Sakurai and Newton, JSSC 1990) and
//             P ~ units C V^2 f, with C by the power of the process
//   memory    so many stacks of a kind
//   edge      stacks stand along the long sides of the dies, links along the
//             short ones; what does not fit is refused
//
// A chip derived from its own budget is itself. The result is an ordinary chip;
// its sources say what was derived from what.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "cost/silicon/geometry.h"
#include "cost/silicon/silicon_library.h"
#include "proto/chip.pb.h"
#include "proto/cost.pb.h"

namespace orrery {

struct TechnologyBudget {
  // A preset of processes/.
  std::string process;
  int dies = 1;
  // Of one compute die, without what links dies to each other.
  SquareMillimetres area{};
  // What those links add to it, as a share of it.
  double link_share = 0;
  int stacks = 0;
  // "HBM3E": a row of the price list.
  std::string memory;
  Watts power{};
  // Between chips; nothing: as many as the known chip has.
  std::optional<int> links;
};

// What the known chip is made of: its package says process, dies and stacks.
absl::StatusOr<TechnologyBudget> BudgetOf(const pb::Chip& chip,
                                          const pb::Package& package);

// The error lists everything that does not fit.
absl::StatusOr<pb::Chip> DeriveChip(const pb::Chip& base,
                                    const pb::Package& base_package,
                                    const TechnologyBudget& budget,
                                    const SiliconLibrary& library);

// The same as a package, so that it can be priced. A die has as many units that
// may be switched off as its area holds, and as large a share of them spare as
// leaves the chip no fewer than it has.
absl::StatusOr<pb::Package> DerivePackage(const pb::Package& base,
                                          const TechnologyBudget& budget,
                                          const SiliconLibrary& library);

}  // namespace orrery
