#pragma once
// MeasurementTable: measurements in a CSV file, ours or the user's, read in the
// same way by every suite.
//
// Columns are found by name, in any order; a table of the user's with others is
// refused, and says which they are. A table without
// what its suite needs, or without rows, is no table of that suite: the error
// names the file and every missing column. A row that cannot be used is refused
// with the reason; the others still count.
//
//   ASSIGN_OR_RETURN(const MeasurementTable table,
//                    MeasurementTable::Open(file, "kernels.csv",
//                                           {"kernel", "chip|hardware"}));
//   const auto read = ReadMeasurements<Product>(table, [](const auto& row) {...
//     ASSIGN_OR_RETURN(const int64_t m, row.Whole("m"));
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "topology/machine/dtype.h"

namespace orrery {

// A row that could not be read or predicted.
struct RefusedRow {
  int line = 0;
  std::string id;
  std::string reason;
  // "line 7 (C00282): column 'size_bytes' must be ...".
  std::string ToString() const;
};

// One row. The errors of its accessors name the column, what it must be, and
// what it is.
class MeasurementRow {
 public:
  // The column 'id', or "line 7".
  const std::string& id() const { return id_; }
  int line() const { return row_->line(); }

  // Nothing if the field is empty or there is no such column.
  std::optional<std::string> Get(absl::string_view column) const {
    return row_->Get(column);
  }
  bool Has(absl::string_view column) const { return Get(column).has_value(); }
  // The same, with nothing as "".
  std::string Text(absl::string_view column) const;

  // Above 0 and below 10^15.
  absl::StatusOr<double> Positive(absl::string_view column) const;
  absl::StatusOr<int64_t> Whole(absl::string_view column, int64_t low = 1,
                                int64_t high = 1'000'000'000'000) const;
  // As published tables spell formats: "bf16", "bfloat16", "fp8 e4m3", "bf16
  // (fp32 sums)".
  absl::StatusOr<DType> Format(absl::string_view column) const;
  // One of the names; a remark in parentheses behind it is passed over. The
  // name "" is for a field that is not set.
  template <class T>
  absl::StatusOr<T> Choice(
      absl::string_view column,
      std::initializer_list<std::pair<absl::string_view, T>> choices) const;

  // "column 'm' must be <what>, got '12.5'".
  absl::Status Wrong(absl::string_view column, absl::string_view what) const;
  RefusedRow Refused(const absl::Status& why) const;

 private:
  friend class MeasurementTable;
  explicit MeasurementRow(const CsvTable::Row& row);
  // The field without a remark in parentheses.
  std::string Name(absl::string_view column) const;

  const CsvTable::Row* row_;
  std::string id_;
};

class MeasurementTable {
 public:
  // `needed` are the columns without which it is not a table of the suite;
  // "time_us|busbw_GBps" is one of the two. `origin` is for messages.
  static absl::StatusOr<MeasurementTable> Parse(
      absl::string_view text, std::string origin,
      absl::Span<const absl::string_view> needed);
  // The user's file if there is one, else the table `name` of validation/.
  static absl::StatusOr<MeasurementTable> Open(
      const std::optional<std::string>& file, absl::string_view name,
      absl::Span<const absl::string_view> needed);

  const std::string& origin() const { return origin_; }
  // Rows with as many fields as the header and, in a table of the user's, with
  // an id of their own and what each column may hold (column_types.h).
  const std::vector<MeasurementRow>& rows() const { return rows_; }
  // The others.
  const std::vector<RefusedRow>& malformed() const { return malformed_; }

 private:
  MeasurementTable(CsvTable csv, std::string origin);

  // Rows point into it, wherever it moves.
  CsvTable csv_;
  std::string origin_;
  std::vector<MeasurementRow> rows_;
  std::vector<RefusedRow> malformed_;
};

// What could be read of a table, and what not.
template <class T>
struct Measurements {
  std::vector<T> rows;
  std::vector<RefusedRow> refused;
};

template <class T>
Measurements<T> ReadMeasurements(
    const MeasurementTable& table,
    absl::FunctionRef<absl::StatusOr<T>(const MeasurementRow&)> read) {
  Measurements<T> result;
  result.refused = table.malformed();
  for (const MeasurementRow& row : table.rows()) {
    absl::StatusOr<T> measurement = read(row);
    if (measurement.ok()) {
      result.rows.push_back(*std::move(measurement));
    } else {
      result.refused.push_back(row.Refused(measurement.status()));
    }
  }
  return result;
}

template <class T>
absl::StatusOr<T> MeasurementRow::Choice(
    absl::string_view column,
    std::initializer_list<std::pair<absl::string_view, T>> choices) const {
  const std::string name = Name(column);
  std::string legal;
  for (const auto& [text, value] : choices) {
    if (text == name) return value;
    if (text.empty()) continue;
    legal += legal.empty() ? "" : ", ";
    legal.append(text.data(), text.size());
  }
  return Wrong(column, "one of " + legal);
}

}  // namespace orrery
