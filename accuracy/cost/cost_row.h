#pragma once
// A row of a table of published costs: what went in, and what came out.
//
// Inputs are text as the sources write them: fields separated by semicolons,
// `key=value` or words ("node=7;area_mm2=400", "6.7x5mm;saw street 0.1"). A
// value is a number with or without a remark behind it ("0.1 of module area").
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <optional>
#include <string>
#include <vector>

#include "accuracy/table/measurement_table.h"

namespace orrery {

// The numbers that stand where `pattern` has a %, if `text` is like it; a *
// stands for anything. Nothing if it is not.
//   Scan("CCD 67mm2@7 + 7mm2 D2D", "CCD %mm2@% + %mm2 D2D")   {67, 7, 7}
std::optional<std::vector<double>> Scan(absl::string_view text,
                                        absl::string_view pattern);

class CostInputs {
 public:
  explicit CostInputs(absl::string_view text);
  const std::string& text() const { return text_; }
  const std::vector<std::string>& fields() const { return fields_; }

  // The value of a key, or nothing.
  std::optional<std::string> Find(absl::string_view key) const;
  bool HasWord(absl::string_view word) const;
  // The errors name the key, or the pattern.
  absl::StatusOr<std::string> Text(absl::string_view key) const;
  absl::StatusOr<double> Number(absl::string_view key) const;
  // Of the first field that is like the pattern.
  absl::StatusOr<std::vector<double>> Numbers(absl::string_view pattern) const;
  std::optional<std::vector<double>> FindNumbers(
      absl::string_view pattern) const;

 private:
  std::string text_;
  std::vector<std::string> fields_;
};

// A whole number within 1 .. 20 000 of something that is counted.
absl::StatusOr<int> CountOf(double value, absl::string_view what);

struct CostRow {
  std::string id;
  int line = 0;
  std::string model;  // the source's name
  std::string kase;
  CostInputs inputs;
  std::string quantity;
  double expected = 0;
  std::string expected_text;
  std::string unit;
};

absl::StatusOr<CostRow> ReadCostRow(const MeasurementRow& row);

// As many digits as the source prints: "2.97" makes 2.9682 2.97.
double RoundedLike(double value, absl::string_view printed);

}  // namespace orrery
