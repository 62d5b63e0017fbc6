#pragma once
// Assembly: parts on a carrier, and assemblies of assemblies. One model for
// organic packages, fan-out, interposers, bridges and stacks.
//
// At one level the carrier and the parts come together with a yield
//
//   Y    = q_carrier prod q_part  y_part^n  y_pad^P  y_tsv^T / (1 + D A)
//   pass = 1 - (1 - Y) coverage
//   cost = (carrier + parts + work + test) / pass,  quality = Y / pass
//
// where the carrier was tested before (chip-last: its yield only makes it
// dearer) or is made on the parts (chip-first: they are lost with it). What is
// lost stays apart by cause in the breakdown. With perfect tests this is the
// model of Chiplet Actuary (arXiv 2203.12268, four yields), with coverage that
// of CATCH (arXiv 2503.15753).
#include <absl/types/span.h>

#include <vector>

#include "cost/silicon/cost_breakdown.h"
#include "cost/silicon/geometry.h"

namespace orrery {

// Something that is placed: a die, a stack, an assembly that is done.
struct Part {
  CostBreakdown cost;
  double quality = 1;
  int count = 1;
};

// What the parts are placed on.
struct Carrier {
  Dollars cost{};
  double yield = 1;
  enum class Flow : uint8_t {
    kChipLast,   // tested before parts are placed
    kChipFirst,  // built on the parts
  };
  Flow flow = Flow::kChipLast;
};

struct Joining {
  // Of placing and bonding one part.
  double part_yield = 1;
  // Of one pad, of one via through silicon, and how many there are.
  double pad_yield = 1;
  double pads = 0;
  double via_yield = 1;
  double vias = 0;
  // Fatal voids of a dielectric bond.
  double voids = 0;
  // Of everything else on the line.
  double line_yield = 1;
  // Material and machine time.
  Dollars work{};
  Dollars test{};
  double coverage = 1;
};

// The cost of one assembly, and the share of those that pass that are good.
Part Assemble(const Carrier& carrier, absl::Span<const Part> parts,
              const Joining& joining);

// Machine time of placing `parts`, in groups, by CATCH: seconds per group and
// dollars per second of the two machines.
struct Machine {
  Dollars price{};
  double life_years = 1;
  Dollars labour_per_year{};
  double uptime = 1;
  double seconds = 0;
  int group = 1;
  // CATCH multiplies by the uptime where it should divide.
  bool uptime_multiplies = false;
};
Dollars CostOfUse(const Machine& machine, int parts);

}  // namespace orrery
