#pragma once
// Links between the chiplets of a CATCH system, as its generator lays them.
#include <vector>

#include "cost/silicon/catch_model.h"

namespace orrery {

struct CatchLinks {
  struct OfChiplet {
    // All, and those that leave the system.
    double links = 0;
    double outside = 0;
  };
  std::vector<OfChiplet> chiplets;
};

// Requires: chiplets >= 1; four of them for kFourWithOutside.
CatchLinks LinksOf(CatchNetlist netlist, int chiplets, double external_gbps,
                   double link_gbps);

}  // namespace orrery
