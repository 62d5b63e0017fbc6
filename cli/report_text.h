#pragma once
// A report as a table that people read.
#include <string>

#include "proto/report.pb.h"

namespace orrery {

// Ends with a newline. Sections that the report does not have are left out.
std::string ReportText(const pb::Report& report);

// "12.3 ms", "1.42 s"; "62.1 GiB".
std::string SecondsText(double seconds);
std::string BytesText(int64_t bytes);

}  // namespace orrery
