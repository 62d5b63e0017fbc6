#include "catalog/nearest.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

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

namespace {

constexpr size_t kMostNames = 3;
// What is compared as part of another name is at least this long.
constexpr size_t kShortestPart = 3;
// The rank of a candidate is twice its wrong letters. One that begins with what
// was typed comes after those with one wrong letter.
constexpr int kBegins = 3;
constexpr int kContains = 2000;

// "Llama-4 Scout" is "llama4scout".
std::string Squeeze(absl::string_view name) {
  std::string out = absl::AsciiStrToLower(name);
  std::erase_if(out, [](char c) {
    return !absl::ascii_isalnum(static_cast<unsigned char>(c));
  });
  return out;
}

// How far the candidate is from what was typed; nothing if it was not meant.
std::optional<int> RankOf(absl::string_view name, const std::string& squeezed,
                          const std::string& candidate) {
  const std::string other = Squeeze(candidate);
  if (squeezed == other && !other.empty()) return 0;
  // Up to a third of the letters may be wrong, of a path those of its last
  // name.
  const int allowed = std::max(1, static_cast<int>(name.size()) / 3);
  const size_t dot = candidate.rfind('.');
  int distance = EditDistance(name, candidate);
  if (dot != std::string::npos && name.find('.') == absl::string_view::npos) {
    distance = std::min(
        distance,
        EditDistance(name, absl::string_view(candidate).substr(dot + 1)));
  }
  const size_t at = squeezed.size() < kShortestPart ? std::string::npos
                                                    : other.find(squeezed);
  std::optional<int> rank;
  if (distance <= allowed) rank = 2 * distance;
  if (at != std::string::npos) {
    const int part = at == 0 ? kBegins : kContains;
    rank = std::min(rank.value_or(part), part);
  }
  return rank;
}

}  // namespace

std::vector<std::string> NearestNames(
    absl::string_view name, absl::Span<const std::string> candidates) {
  if (name.size() > kLongestName) return {};
  const std::string squeezed = Squeeze(name);
  std::vector<std::string> nearest;
  int least = std::numeric_limits<int>::max();
  for (const std::string& candidate : candidates) {
    const std::optional<int> rank = RankOf(name, squeezed, candidate);
    if (!rank || *rank > least) continue;
    if (*rank < least) nearest.clear();
    least = *rank;
    nearest.push_back(candidate);
  }
  // Of many the shortest, which says least that was not typed.
  std::stable_sort(nearest.begin(), nearest.end(),
                   [](const std::string& a, const std::string& b) {
                     return a.size() < b.size();
                   });
  if (nearest.size() > kMostNames) nearest.resize(kMostNames);
  return nearest;
}

std::string DidYouMean(absl::string_view name,
                       absl::Span<const std::string> candidates) {
  const std::vector<std::string> nearest = NearestNames(name, candidates);
  std::string names;
  for (size_t i = 0; i < nearest.size(); ++i) {
    names += i == 0 ? "" : i + 1 == nearest.size() ? " or " : ", ";
    names += fmt::format("'{}'", nearest[i]);
  }
  return names.empty() ? "" : fmt::format("; did you mean {}?", names);
}

}  // namespace orrery
