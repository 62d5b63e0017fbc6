#pragma once
// Which sizes of a run and of its model lie outside what was measured, on
// either side, and whether its pipeline schedule was measured.
#include <optional>
#include <string>
#include <vector>

#include "accuracy/table/run_kind.h"
#include "accuracy/trust/error_groups.h"

namespace orrery {

struct SizeChange {
  std::string field;  // "model.layers"
  std::string text;
  // A run of this kind on this chip had nearly such a size.
  bool within = false;
  // The size over the nearest measured one.
  std::optional<double> factor = std::nullopt;
};

// `counted` are the rows whose mean error is told, `alike` all rows of the
// chip and the kind of model.
std::vector<SizeChange> SizeChangesOf(const RunKind& run, bool training,
                                      const ErrorGroup& counted,
                                      const ErrorGroup& alike);

}  // namespace orrery
