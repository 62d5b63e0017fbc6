#include "catalog/nearest.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <numeric>

#include "base/format.h"

namespace orrery {
namespace {

// Longer words are not compared: nobody mistypes that much.
constexpr size_t kLongestName = 64;

}  // namespace

int EditDistance(absl::string_view a, absl::string_view b) {
  const std::string x = absl::AsciiStrToLower(a);
  const std::string y = absl::AsciiStrToLower(b);
  // Three rows of the optimal-string-alignment table.
  std::vector<int> before(y.size() + 1), last(y.size() + 1), row(y.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= x.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= y.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1,
                         last[j - 1] + (x[i - 1] == y[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[y.size()];
}

std::optional<std::string> NearestName(
    absl::string_view name, absl::Span<const std::string> candidates) {
  if (name.size() > kLongestName) return std::nullopt;
  // Up to a third of the letters may be wrong.
  int best_distance = std::max(1, static_cast<int>(name.size()) / 3) + 1;
  std::optional<std::string> best;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string DidYouMean(absl::string_view name,
                       absl::Span<const std::string> candidates) {
  const std::optional<std::string> nearest = NearestName(name, candidates);
  return nearest ? fmt::format("; did you mean '{}'?", *nearest) : "";
}

}  // namespace orrery
