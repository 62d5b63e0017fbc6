#pragma once
// An explanation as tables that people read.
#include <string>

#include "proto/explanation.pb.h"

namespace orrery {

// Ends with a newline.
std::string ExplanationText(const pb::Explanation& explanation);

}  // namespace orrery
