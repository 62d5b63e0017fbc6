#pragma once
// A chip that nobody has built, in the place of one that exists: what it is,
// what it costs to make, and what it would be sold for.
//
//   ASSIGN_OR_RETURN(const DerivedChip derived,
//                    DeriveFrom(catalog, chip, technology, library));
//
// cost/silicon/technology.h says how it is derived.
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "catalog/catalog.h"
#include "cost/silicon/price_range.h"
#include "cost/silicon/silicon_library.h"
#include "proto/chip.pb.h"
#include "proto/cost.pb.h"
#include "proto/scenario.pb.h"
#include "proto/study.pb.h"

namespace orrery {

struct DerivedChip {
  pb::Chip chip;
  pb::Package package;
  pb::Package known;  // of the chip it was derived from
};

// The error says what does not fit, or that nobody knows what `base` is made
// of.
absl::StatusOr<DerivedChip> DeriveFrom(const Catalog& catalog,
                                       const pb::Chip& base,
                                       const pb::Technology& technology,
                                       const SiliconLibrary& library);

// An error with every mistake in what `technology` says beside the scenario's
// chip: its package, names and counts.
absl::Status CheckBudget(const Catalog& catalog, const pb::Scenario& scenario,
                         const pb::Technology& technology);

// Dollars of one.
struct ChipPrice {
  double made = 0;  // what its package costs to make
  double sold = 0;
};

// Puts the derived chip in the place of the scenario's, and its price among the
// scenario's: what its package costs, times the markup.
absl::StatusOr<ChipPrice> ApplyTechnology(const Catalog& catalog,
                                          const pb::Technology& technology,
                                          pb::Scenario* scenario);

}  // namespace orrery
