#pragma once
// Rules between the axes and settings of a study. Study checks each axis alone.
#include "base/status.h"
#include "catalog/catalog.h"
#include "proto/scenario.pb.h"
#include "proto/study.pb.h"
#include "run/search/study.h"

namespace orrery {

// Adds: fields that two axes, or an axis and `set`, would both decide; cases of
// one name; values that are empty or there twice.
void CheckAxes(const pb::Study& study, Violations* violations);

// Checks the study's technology before any point is worked out: its numbers are
// legal, its names exist, the chip's package is known and, where no axis varies
// it, the parts fit together. The error lists all mistakes.
absl::Status CheckTechnology(const Catalog& catalog, const Study& study,
                             pb::Scenario base);

}  // namespace orrery
