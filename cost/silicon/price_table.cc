#include "cost/silicon/price_table.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"

namespace orrery {
namespace {

absl::StatusOr<PriceEntry> Read(const pb::Price& price) {
  PriceEntry entry{.description = price.description(), .range = {}};
  ASSIGN_OR_RETURN(
      entry.range,
      ParseRange(price.price(), UnitOfPrice(price.price().nominal()),
                 fmt::format("price '{}'", price.id())));
  if (price.has_power()) {
    ASSIGN_OR_RETURN(entry.power, ParseWatts(price.power()));
  }
  return entry;
}

// An entry that only repeats the list, as the output of `orrery show` does.
bool Same(const PriceEntry& a, const PriceEntry& b) {
  return a.range.low == b.range.low && a.range.nominal == b.range.nominal &&
         a.range.high == b.range.high && a.range.unit == b.range.unit &&
         a.power == b.power;
}

}  // namespace

absl::StatusOr<PriceTable> PriceTable::FromProto(
    const pb::PriceList& list, const pb::CostOptions& options) {
  PriceTable table;
  table.name_ = list.name();
  Violations violations;
  const auto add = [&](const pb::Price& price, bool replaces) {
    if (!price.has_id()) {
      violations.Add("price: not set: id");
      return;
    }
    if (!replaces && table.entries_.contains(price.id())) {
      violations.Add(fmt::format("price '{}' is there twice", price.id()));
    }
    absl::StatusOr<PriceEntry> entry = Read(price);
    if (!entry.ok()) {
      violations.Add(std::string(entry.status().message()));
      return;
    }
    if (replaces) {
      entry->replaced = entry->added = true;
      const auto listed = table.entries_.find(price.id());
      if (listed != table.entries_.end()) {
        entry->added = false;
        // Another price does not change what the thing is.
        if (!price.has_power()) entry->power = listed->second.power;
        if (!price.has_description()) {
          entry->description = listed->second.description;
        }
        if (Same(*entry, listed->second)) return;
      }
    }
    table.entries_[price.id()] = *std::move(entry);
  };
  for (const pb::Price& price : list.price()) add(price, false);
  for (const pb::Price& price : options.price()) add(price, true);
  RETURN_IF_ERROR(violations.ToStatus());
  return table;
}

bool PriceTable::Has(absl::string_view id) const {
  return entries_.contains(id);
}

std::string PriceTable::Others(absl::string_view id) const {
  constexpr size_t kMost = 8;
  const std::vector<std::string> wanted = absl::StrSplit(id, '/');
  std::vector<std::string> others;
  for (const auto& [known, entry] : entries_) {
    const std::vector<std::string> parts = absl::StrSplit(known, '/');
    if (parts.size() != wanted.size() || parts.front() != wanted.front() ||
        (parts.size() > 2 && parts.back() != wanted.back())) {
      continue;
    }
    others.push_back(parts.size() > 1 ? parts[1] : parts[0]);
  }
  std::sort(others.begin(), others.end());
  if (others.size() > kMost) {
    others.resize(kMost);
    others.emplace_back("...");
  }
  return absl::StrJoin(others, ", ");
}

absl::StatusOr<const PriceEntry*> PriceTable::Find(
    absl::string_view id, absl::string_view unit) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) {
    const std::string others = Others(id);
    return absl::NotFoundError(
        fmt::format("price list '{}' has no '{}'{}; a scenario can say it: "
                    "cost {{ price {{ "
                    "id: \"{}\" price {{ nominal: \"1 {}\" }} }} }}",
                    name_, std::string(id),
                    others.empty() ? "" : fmt::format(" (it has {})", others),
                    std::string(id), std::string(unit)));
  }
  if (found->second.range.unit != unit) {
    return absl::InvalidArgumentError(fmt::format(
        "price '{}' must be a number {}, it is one {}", std::string(id),
        UnitText(unit), UnitText(found->second.range.unit)));
  }
  return &found->second;
}

}  // namespace orrery
