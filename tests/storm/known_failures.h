#pragma once
// Failures of storms that are known and not repaired. Each entry says on what
// kind of case its law fails, why, and by how much that reason lets it fail at
// the most: a larger deviation is a new failure, and so is the same one on
// another kind of case. Bounds follow from the reason, not from what was seen.
//
// Each names a case that falls under it. A test asserts that it still does, so
// that a repair takes the entry out of the table.
#include <absl/types/span.h>

#include <cstdint>
#include <string>

#include "tests/storm/storm.h"

namespace orrery {

struct KnownFailure {
  const char* storm;
  // Its name, or the first words of several.
  const char* law;
  // Whether the reason can be there, by labels and facts of the failure.
  bool (*applies)(const StormFailure& failure);
  // The largest deviation that the reason explains.
  double (*bound)(const StormFailure& failure);
  const char* why;
  // A case that fails so.
  uint64_t seed;
  int64_t number;
};
absl::Span<const KnownFailure> KnownFailures();

// The entry that a failure falls under; null if none.
const KnownFailure* FindKnown(const std::string& storm,
                              const StormFailure& failure);

}  // namespace orrery
