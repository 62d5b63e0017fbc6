#include "run/silicon_catalog.h"

#include <utility>

#include "base/status.h"

namespace orrery {

absl::StatusOr<PriceTable> LoadPrices(const Catalog& catalog,
                                      const pb::CostOptions& options) {
  ASSIGN_OR_RETURN(
      const pb::PriceList list,
      catalog.Prices(options.has_prices() ? options.prices() : kDefaultPrices));
  return PriceTable::FromProto(list, options);
}

absl::StatusOr<SiliconLibrary> LoadSilicon(const Catalog& catalog,
                                           const pb::CostOptions& options) {
  ASSIGN_OR_RETURN(PriceTable prices, LoadPrices(catalog, options));
  SiliconLibrary library{
      .processes = {}, .packagings = {}, .prices = std::move(prices)};
  for (const std::string& name : catalog.Names("processes")) {
    ASSIGN_OR_RETURN(library.processes[name], catalog.Process(name));
  }
  for (const std::string& name : catalog.Names("packaging")) {
    ASSIGN_OR_RETURN(library.packagings[name], catalog.Packaging(name));
  }
  return library;
}

}  // namespace orrery
