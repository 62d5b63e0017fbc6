#pragma once
// Design cost that products share: every distinct design (a module, a chip, a
// package) is paid once and spread over the units of all products it is in.
//
//   share of one unit of a product =
//       sum over its designs: count x cost / sum over products(count x units)
#include <absl/types/span.h>

#include <string>
#include <vector>

#include "base/units.h"

namespace orrery {

struct DesignUse {
  // Designs with the same name are one, and have the same cost.
  std::string design = {};
  Dollars cost{};
  double count = 1;
};

struct ProductDesigns {
  std::vector<DesignUse> uses = {};
  double units = 1;
};

// Of each product, per unit, in their order. Requires: units > 0.
std::vector<Dollars> SpreadDesigns(absl::Span<const ProductDesigns> products);

}  // namespace orrery
