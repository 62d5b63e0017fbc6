#pragma once
// What the suites of `orrery validate` have in common: the table they read, and
// what they say of rows they could not predict.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>
#include <vector>

#include "base/csv.h"
#include "cli/command.h"

namespace orrery {

struct ValidationTable {
  CsvTable rows;
  std::string origin;  // for errors
};

// The user's FILE if there is one, else the table `name` of validation/.
absl::StatusOr<ValidationTable> OpenValidationTable(const Arguments& arguments,
                                                    absl::string_view name);

// "\n12 rows predicted, 1 refused\n  line 3: ...\n".
std::string RefusedText(size_t predicted,
                        const std::vector<std::string>& refused);

}  // namespace orrery
