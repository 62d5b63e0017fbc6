#pragma once
// Tables of measurements from text.
#include <absl/strings/string_view.h>

#include <utility>

#include "accuracy/table/measurement_table.h"
#include "base/check.h"

namespace orrery {

inline MeasurementTable Table(absl::string_view text) {
  auto table = MeasurementTable::Parse(text, "mine.csv", {});
  CHECK(table.ok()) << table.status().ToString();
  return *std::move(table);
}

}  // namespace orrery
