#include "run/search/sweep_row.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <iterator>

#include "base/csv.h"
#include "base/format.h"
#include "base/status.h"

namespace orrery {

std::string SweepHeader(const Study& study) {
  std::vector<std::string> names = {"point"};
  for (const StudyAxis& axis : study.axes()) {
    names.push_back(CsvField(axis.name));
  }
  names.emplace_back("problem");
  for (const StudyColumn& column : study.columns()) {
    names.push_back(CsvField(column.name));
  }
  names.insert(names.end(), {"trust", "trust_error"});
  return absl::StrJoin(names, ",");
}

std::string SweepRecord(const SweepRow& row) {
  std::string record = absl::StrCat(row.point);
  for (const std::string& value : row.values) {
    absl::StrAppend(&record, ",", CsvField(value));
  }
  absl::StrAppend(&record, ",", CsvField(row.problem));
  for (const double value : row.columns) {
    fmt::format_to(std::back_inserter(record), ",{}", value);
  }
  if (!row.problem.empty()) return record;
  absl::StrAppend(&record, ",", CsvField(row.trust), ",");
  if (row.trust_error) {
    fmt::format_to(std::back_inserter(record), "{}", *row.trust_error);
  }
  return record;
}

absl::StatusOr<SweepRow> ParseSweepRecord(const Study& study,
                                          absl::string_view record) {
  const size_t axes = study.axes().size();
  const size_t columns = study.columns().size();
  const std::vector<std::string> fields = CsvFields(record);
  const auto bad = [&] {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is not a row of this study", record.substr(0, 100)));
  };
  SweepRow row;
  if (fields.size() < 2 + axes || !absl::SimpleAtoi(fields[0], &row.point)) {
    return bad();
  }
  row.values.assign(fields.begin() + 1,
                    fields.begin() + 1 + static_cast<ptrdiff_t>(axes));
  row.problem = fields[1 + axes];
  const size_t rest = fields.size() - 2 - axes;
  if (!row.problem.empty()) {
    if (rest != 0) return bad();
    return row;
  }
  constexpr size_t kTrust = 2;
  if (rest != columns + kTrust) return bad();
  row.columns.resize(columns);
  for (size_t i = 0; i < columns; ++i) {
    if (!absl::SimpleAtod(fields[2 + axes + i], &row.columns[i])) return bad();
  }
  row.trust = fields[2 + axes + columns];
  const std::string& error = fields.back();
  if (!error.empty() && !absl::SimpleAtod(error, &row.trust_error.emplace())) {
    return bad();
  }
  return row;
}

}  // namespace orrery
