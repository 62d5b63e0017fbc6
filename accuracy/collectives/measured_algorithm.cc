#include "accuracy/collectives/measured_algorithm.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <fmt/format.h>

#include <vector>

#include "base/excerpt.h"
#include "base/status.h"
#include "base/units_text.h"

namespace orrery {
namespace {

std::optional<CollectiveAlgorithm> Named(absl::string_view name) {
  if (absl::EqualsIgnoreCase(name, "tree")) {
    return CollectiveAlgorithm::kDoubleBinaryTree;
  }
  for (int i = 0; i <= static_cast<int>(CollectiveAlgorithm::kPxn); ++i) {
    const auto algorithm = static_cast<CollectiveAlgorithm>(i);
    const std::string_view ours = NameOf(algorithm);
    if (absl::EqualsIgnoreCase(name, {ours.data(), ours.size()})) {
      return algorithm;
    }
  }
  return std::nullopt;
}

absl::Status Unknown(absl::string_view text) {
  return absl::InvalidArgumentError(fmt::format(
      "algo '{}': write 'default', an algorithm such as Ring, Tree or NVLS, or "
      "one with its protocol such as Ring/LL",
      Excerpt(text)));
}

absl::StatusOr<MeasuredAlgorithm> ReadOne(absl::string_view text) {
  // A note in brackets says where it is known from.
  text = absl::StripAsciiWhitespace(text.substr(0, text.find('(')));
  if (text.empty() || absl::EqualsIgnoreCase(text, "default")) {
    return MeasuredAlgorithm{};
  }
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  MeasuredAlgorithm result = {.algorithm = Named(parts[0])};
  if (!result.algorithm || parts.size() > 2) return Unknown(text);
  if (parts.size() == 2) result.protocol = parts[1];
  return result;
}

}  // namespace

absl::StatusOr<MeasuredAlgorithm> ReadMeasuredAlgorithm(const std::string& text,
                                                        Bytes bytes) {
  const std::vector<std::string> cases = absl::StrSplit(text, ", ");
  for (const std::string& one : cases) {
    const std::vector<std::string> bounded = absl::StrSplit(one, " <=");
    if (bounded.size() == 1) {
      return ReadOne(absl::StripSuffix(one, " above"));
    }
    if (bounded.size() != 2) return Unknown(text);
    const absl::StatusOr<Bytes> most = ParseBytes(bounded[1]);
    if (!most.ok()) return Unknown(text);
    if (bytes <= *most) return ReadOne(bounded[0]);
  }
  return Unknown(text);
}

}  // namespace orrery
