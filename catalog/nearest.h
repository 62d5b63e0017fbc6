#pragma once
// The known name that someone who mistyped probably meant.
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <optional>
#include <string>
#include <vector>

namespace orrery {

// Number of letters to insert, delete, replace or swap with their neighbour to
// turn `a` into `b`, ignoring case. Cost: O(|a| * |b|).
int EditDistance(absl::string_view a, absl::string_view b);

// The candidate nearest to `name` (the first of them, if several are), or
// nothing if none is near enough to be meant.
std::optional<std::string> NearestName(
    absl::string_view name, absl::Span<const std::string> candidates);

// "; did you mean 'x'?" or "" if nothing is near.
std::string DidYouMean(absl::string_view name,
                       absl::Span<const std::string> candidates);

}  // namespace orrery
