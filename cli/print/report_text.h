#pragma once
// A report as a table that people read.
#include <string>

#include "proto/report.pb.h"

namespace orrery {

// At fidelity CLOSED_FORM neither the run nor the closed form beside it knows
// of other groups on a call's links, which 'estimate' counts.
inline constexpr char kLinksToItself[] =
    ", every call with the links to itself";

// Ends with a newline. Sections that the report does not have are left out.
std::string ReportText(const pb::Report& report);

// How near measured runs are, and what was measured of the run itself; a line
// each, empty if the report does not say.
std::string TrustText(const pb::Report& report);
std::string MeasuredText(const pb::Report& report);

// Of a plan that does not fit: what would make it fit, a line each, with the
// price in step time.
std::string AdviceText(const pb::Report& report);

}  // namespace orrery
