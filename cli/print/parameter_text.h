#pragma once
// Parameter counts of a model, as a comment in front of its text.
#include <string>

#include "workload/model/model.h"

namespace orrery {

// "# parameters: 8.03e9 ..., active ...": lines that begin with #.
std::string ParameterComment(const Model& model);

}  // namespace orrery
