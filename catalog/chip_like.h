#pragma once
// A chip of one's own in ten lines: `like` names the preset that stands in for
// everything it does not say.
//
//   name: "my_chip"
//   like: "h100_sxm"
//   peak { dtype: BF16 rate: "1.2 PFLOP/s" }
//   memory: "96 GB"
//   memory_bandwidth: "4 TB/s"
//   matrix_efficiency: 0.8
//
// What was taken over is written down as a source of the chip, an estimate that
// covers those fields by name, so that `orrery show` and the warnings of every
// report say so.
#include <absl/status/status.h>

#include "catalog/catalog.h"
#include "proto/chip.pb.h"

namespace orrery {

// Completes a chip that says what it is like; leaves any other as it is. Doing
// it twice changes nothing.
absl::Status CompleteLike(const Catalog& catalog, pb::Chip* chip);

// "; add like: \"h200_sxm\" ..." for a chip that lacks fields and does not say
// what it is like: the preset whose rates are nearest. Empty if nothing of it
// can be compared, or nothing lacks.
std::string SuggestLike(const Catalog& catalog, const pb::Chip& chip);

}  // namespace orrery
