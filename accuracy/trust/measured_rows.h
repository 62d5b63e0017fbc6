#pragma once
// Which rows the suites of measured runs hold.
#include <absl/status/status.h>

#include <string>

namespace orrery {

// An error if there is no such suite, or if it holds no such row; an empty name
// is not looked for.
absl::Status CheckMeasuredRow(const std::string& suite, const std::string& row);

}  // namespace orrery
