#pragma once
// What a table says a measured collective ran by, as a planner is told it.
//
//   default, or nothing            what the library chooses
//   Ring, tree, NVLS, pxn          an algorithm: NCCL's names and ours
//   Ring/LL                        and a protocol
//   NVLS (stated)                  with a note, which is passed over
//   Ring/LL <=1MiB, NVLS above     by the size of the call
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "base/units.h"
#include "topology/traffic/collective_algorithm.h"

namespace orrery {

struct MeasuredAlgorithm {
  std::optional<CollectiveAlgorithm> algorithm = std::nullopt;
  std::optional<std::string> protocol = std::nullopt;
  friend auto operator<=>(const MeasuredAlgorithm&,
                          const MeasuredAlgorithm&) = default;
};

// Of a call of so many bytes; an error that names the column if the text says
// something else.
absl::StatusOr<MeasuredAlgorithm> ReadMeasuredAlgorithm(const std::string& text,
                                                        Bytes bytes);

}  // namespace orrery
