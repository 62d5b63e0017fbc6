#pragma once
// The catalogue's processes, packagings and prices, as the cost rooms take
// them.
#include <absl/status/statusor.h>

#include "catalog/catalog.h"
#include "cost/silicon/silicon_library.h"
#include "proto/cost.pb.h"

namespace orrery {

// The price list of options that name none.
inline constexpr char kDefaultPrices[] = "market_2025";

absl::StatusOr<PriceTable> LoadPrices(const Catalog& catalog,
                                      const pb::CostOptions& options);
absl::StatusOr<SiliconLibrary> LoadSilicon(const Catalog& catalog,
                                           const pb::CostOptions& options);

}  // namespace orrery
