#pragma once
// Reads rows of validation/collective_costs.csv.
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <cctype>
#include <string>
#include <vector>

#include "analytic/collective/alpha_beta.h"
#include "base/check.h"
#include "base/csv.h"
#include "base/file.h"

namespace orrery {

inline CsvTable Load(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path);
  CHECK(text.ok()) << text.status().ToString();
  absl::StatusOr<CsvTable> table = CsvTable::Parse(*text);
  CHECK(table.ok()) << table.status().ToString();
  return *std::move(table);
}

inline std::string Text(const CsvTable::Row& row, absl::string_view column) {
  return row.Get(column).value_or("");
}

// The integers in a text, in order.
inline std::vector<int> Integers(const std::string& text) {
  std::vector<int> numbers;
  for (size_t i = 0; i < text.size();) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    int number = 0;
    while (i < text.size() &&
           std::isdigit(static_cast<unsigned char>(text[i]))) {
      number = number * 10 + (text[i++] - '0');
    }
    numbers.push_back(number);
  }
  return numbers;
}

// Numbers separated by slashes, as "3.4/14.0".
inline std::vector<double> Slashed(std::string text) {
  std::vector<double> numbers;
  text = text.substr(0, text.find(' '));
  for (absl::string_view part : absl::StrSplit(text, '/')) {
    double number = 0;
    CHECK(absl::SimpleAtod(part, &number)) << text;
    numbers.push_back(number);
  }
  return numbers;
}

inline AlphaBeta PortOf(const CsvTable::Row& row) {
  return {Seconds(row.Number("alpha_us").value_or(0) * 1e-6),
          BytesPerSecond(*row.Number("link_GBps") * 1e9)};
}

inline Bytes SizeOf(const CsvTable::Row& row) {
  return Bytes(static_cast<int64_t>(*row.Number("bytes_m")));
}

inline double Microseconds(Seconds s) { return s.count() * 1e6; }

}  // namespace orrery
