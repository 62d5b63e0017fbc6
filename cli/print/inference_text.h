#pragma once
// The report of an inference scenario as a table for people.
#include <string>

#include "proto/report.pb.h"

namespace orrery {

std::string InferenceText(const pb::Report& report);

}  // namespace orrery
