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

// The candidates that were probably meant, at most three: those with one letter
// wrong, or else those that begin with what was typed, or have the fewest
// letters wrong, or contain it. Case and what separates words do not count.
std::vector<std::string> NearestNames(absl::string_view name,
                                      absl::Span<const std::string> candidates);

// "; did you mean 'x'?" or "" if nothing is near.
std::string DidYouMean(absl::string_view name,
                       absl::Span<const std::string> candidates);

}  // namespace orrery
