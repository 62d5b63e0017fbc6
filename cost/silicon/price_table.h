#pragma once
// PriceTable: everything that is bought, by id, each with its range and date.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <map>
#include <string>

#include "base/units.h"
#include "cost/silicon/price_range.h"
#include "proto/cost.pb.h"

namespace orrery {

struct PriceEntry {
  std::string description;
  PriceRange range;
  // Of one, where it matters.
  Watts power{};
  // The scenario gives another number than the list has.
  bool replaced = false;
  // The list has nothing under this id.
  bool added = false;
};

class PriceTable {
 public:
  // Entries of `options` replace those of the list. The error lists everything
  // that is wrong.
  static absl::StatusOr<PriceTable> FromProto(const pb::PriceList& list,
                                              const pb::CostOptions& options);

  const std::string& name() const { return name_; }
  const std::map<std::string, PriceEntry, std::less<>>& entries() const {
    return entries_;
  }
  bool Has(absl::string_view id) const;
  // The error names the id and those that look like it.
  absl::StatusOr<const PriceEntry*> Find(absl::string_view id,
                                         absl::string_view unit) const;

 private:
  PriceTable() = default;
  // Of ids that are like it but for one part those parts: "HBM3, HBM3E".
  std::string Others(absl::string_view id) const;

  std::string name_;
  std::map<std::string, PriceEntry, std::less<>> entries_;
};

}  // namespace orrery
