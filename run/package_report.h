#pragma once
// What a package costs to make, as a report.
#include <absl/status/statusor.h>

#include "cost/silicon/silicon_library.h"
#include "proto/cost.pb.h"

namespace orrery {

// The error lists everything that is wrong with the package.
absl::StatusOr<pb::PackageResult> ReportPackage(const pb::Package& package,
                                                const SiliconLibrary& library);

}  // namespace orrery
