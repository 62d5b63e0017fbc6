#include "cost/silicon/catch_netlist.h"

#include <cmath>

#include "base/check.h"

namespace orrery {
namespace {

// A square of side sqrt(n), which need not be whole: then the last chiplet of
// a row is linked to one that is not there, and that counts as outside.
CatchLinks Grid(int chiplets, double external_gbps, double link_gbps) {
  CatchLinks result;
  result.chiplets.resize(static_cast<size_t>(chiplets));
  const double side = std::sqrt(chiplets);
  const double edge_gbps = external_gbps / (side * 4);
  const auto at = [&](int i) -> CatchLinks::OfChiplet& {
    return result.chiplets[static_cast<size_t>(i)];
  };
  const auto join = [&](int from, int to) {
    const double links = std::ceil(edge_gbps / link_gbps);
    at(from).links += links;
    if (to < chiplets) {
      at(to).links += links;
    } else {
      at(from).outside += links;
    }
  };
  double outside_gbps = 0;
  for (int i = 0; i < chiplets; ++i) {
    const double column = std::fmod(i, side);
    if (i == 0 || i == chiplets - 1 || i == side - 1 || i == chiplets - side) {
      outside_gbps = 2 * edge_gbps;
    } else if (column == 0 || column == side - 1) {
      outside_gbps = edge_gbps;
    }
    // Chiplets inside take what the one before them took.
    const double links = std::ceil(outside_gbps / link_gbps);
    at(i).links += links;
    at(i).outside += links;
  }
  for (int i = 0; i < chiplets; ++i) {
    if (std::fmod(i, side) != side - 1) join(i, i + 1);
    if (i >= side) join(i, static_cast<int>(i - side));
  }
  return result;
}

}  // namespace

CatchLinks LinksOf(CatchNetlist netlist, int chiplets, double external_gbps,
                   double link_gbps) {
  switch (netlist) {
    case CatchNetlist::kGrid:
      return Grid(chiplets, external_gbps, link_gbps);
    case CatchNetlist::kFourWithOutside: {
      CHECK(chiplets == 4) << chiplets;
      // Two to the neighbours, two to the outside.
      return {.chiplets = std::vector<CatchLinks::OfChiplet>(4, {4, 2})};
    }
  }
  CHECK(false) << "no such netlist";
  return {};
}

}  // namespace orrery
