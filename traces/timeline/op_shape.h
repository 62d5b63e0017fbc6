#pragma once
// The shape of an op as names and numbers, for people: the sizes by the letters
// everybody uses (m, n, k), heads, lengths of sequences, data types.
#include <absl/strings/string_view.h>

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "workload/model/op.h"

namespace orrery {

using ShapeValue = std::variant<int64_t, double, absl::string_view>;

// In the order in which people name them; the texts live for ever.
std::vector<std::pair<absl::string_view, ShapeValue>> ShapeOf(const Op& op);

}  // namespace orrery
