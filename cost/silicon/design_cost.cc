#include "cost/silicon/design_cost.h"

#include <map>

namespace orrery {

std::vector<Dollars> SpreadDesigns(absl::Span<const ProductDesigns> products) {
  std::map<std::string, double> made;
  for (const ProductDesigns& product : products) {
    for (const DesignUse& use : product.uses) {
      made[use.design] += use.count * product.units;
    }
  }
  std::vector<Dollars> shares;
  for (const ProductDesigns& product : products) {
    Dollars share{};
    for (const DesignUse& use : product.uses) {
      share += use.cost * (use.count / made[use.design]);
    }
    shares.push_back(share);
  }
  return shares;
}

}  // namespace orrery
