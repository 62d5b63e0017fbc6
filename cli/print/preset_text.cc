#include "cli/print/preset_text.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <regex>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "catalog/field_text.h"

namespace orrery {

absl::StatusOr<std::string> WithConstants(absl::string_view preset,
                                          absl::Span<const Override> changes,
                                          absl::Span<const std::string> ids) {
  std::vector<std::string> lines = absl::StrSplit(preset, '\n');
  for (const Override& change : changes) {
    const std::vector<std::string> steps = absl::StrSplit(change.path, '.');
    const FieldName last = ParseFieldName(steps.back());
    const FieldName parent = steps.size() > 1
                                 ? ParseFieldName(steps[steps.size() - 2])
                                 : FieldName{};
    // `name: value`, the value quoted or bare.
    const std::regex field(
        fmt::format("(^| ){}: (\"[^\"]*\"|[^ ]+)", last.name));
    std::string* place = nullptr;
    for (std::string& line : lines) {
      if (!std::regex_search(line, field)) continue;
      if (!parent.key.empty() && !absl::StrContains(line, parent.key)) continue;
      if (place != nullptr) {
        return absl::InvalidArgumentError(
            fmt::format("{} stands more than once in the preset", change.path));
      }
      place = &line;
    }
    if (place == nullptr) {
      return absl::InvalidArgumentError(
          fmt::format("{} does not stand in the preset", change.path));
    }
    const bool quoted = absl::StrContains(change.value, ' ');
    *place = std::regex_replace(
        *place, field,
        fmt::format(
            "$1{}: {}", last.name,
            quoted ? absl::StrCat("\"", change.value, "\"") : change.value));
  }
  // The ids go before the first source.
  std::vector<std::string> result;
  bool written = false;
  for (const std::string& line : lines) {
    if (absl::StrContains(line, "fitted_row:")) continue;
    if (!written && absl::StartsWith(line, "source {")) {
      for (const std::string& id : ids) {
        result.push_back(fmt::format("fitted_row: \"{}\"", id));
      }
      written = true;
    }
    result.push_back(line);
  }
  if (!written) {
    return absl::InvalidArgumentError("the preset has no source");
  }
  return absl::StrJoin(result, "\n");
}

}  // namespace orrery
