#include "accuracy/trust/measured_rows.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <map>
#include <set>
#include <vector>

#include "accuracy/table/accuracy_table.h"
#include "accuracy/table/validation_data.h"
#include "base/check.h"
#include "base/csv.h"
#include "base/excerpt.h"
#include "base/format.h"
#include "catalog/nearest.h"

namespace orrery {
namespace {

using Ids = std::set<std::string>;

// The ids of a suite's tables, whose names begin with its own.
Ids IdsOf(const std::string& suite) {
  Ids ids;
  for (const EmbeddedFile& file : ValidationFiles()) {
    if (file.name != absl::StrCat(suite, ".csv") &&
        !absl::StartsWith(file.name, absl::StrCat(suite, "_"))) {
      continue;
    }
    const absl::StatusOr<CsvTable> csv = CsvTable::Parse(file.text);
    CHECK(csv.ok()) << csv.status().ToString();
    for (const CsvTable::Row& row : csv->rows()) {
      if (const auto id = row.Get("id")) ids.insert(*id);
    }
  }
  return ids;
}

const std::map<std::string, Ids>& IdsBySuite() {
  static const auto* const ids = [] {
    auto* made = new std::map<std::string, Ids>;
    for (const Suite suite : kSuites) {
      const std::string name(Name(suite));
      made->emplace(name, IdsOf(name));
    }
    return made;
  }();
  return *ids;
}

}  // namespace

absl::Status CheckMeasuredRow(const std::string& suite,
                              const std::string& row) {
  if (suite.empty()) return absl::OkStatus();
  const auto found = IdsBySuite().find(suite);
  if (found == IdsBySuite().end()) {
    std::vector<std::string> names;
    for (const auto& [name, ids] : IdsBySuite()) names.push_back(name);
    return absl::InvalidArgumentError(
        fmt::format("suite: must be one of {}, got '{}'",
                    absl::StrJoin(names, ", "), Excerpt(suite)));
  }
  if (row.empty() || found->second.contains(row)) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "row: the suite '{}' has no row '{}'{}; 'orrery validate {} --json -' "
      "lists its rows",
      suite, Excerpt(row),
      DidYouMean(row, std::vector<std::string>(found->second.begin(),
                                               found->second.end())),
      suite));
}

}  // namespace orrery
