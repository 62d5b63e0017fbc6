#pragma once
// Failures of storms that are known and not repaired: which law, on what kind
// of case, and why. The short storm asserts that each still fails, so that a
// repair takes its line out of the table.
#include <absl/types/span.h>

#include <string>

#include "tests/storm/storm.h"

namespace orrery {

struct KnownFailure {
  const char* storm;
  const char* law;
  // Of the case; empty: any.
  const char* label;
  const char* why;
};
absl::Span<const KnownFailure> KnownFailures();

// The line of the table that a failure falls under; null if none.
const KnownFailure* FindKnown(const std::string& storm,
                              const StormFailure& failure);

}  // namespace orrery
