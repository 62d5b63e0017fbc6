#pragma once
// The kind of run that a resolved scenario is.
#include "accuracy/table/run_kind.h"
#include "proto/scenario.pb.h"

namespace orrery {

// Requires: presets are merged in and defaults are filled.
RunKind KindOf(const pb::Scenario& scenario);

}  // namespace orrery
