#pragma once
// What slices and tracks of a timeline are called.
//
// Passes are labelled as in the figures of the papers on pipelines: F3, B3, W3
// for forward, backward and weight gradients of micro-batch 3, with the chunk
// of the model where a rank has several: "F3 c1". A viewer colours slices by
// their name without its digits, so that each kind of pass has a colour.
#include <absl/strings/string_view.h>

#include <string>
#include <string_view>

#include "base/ids.h"
#include "workload/model/op.h"
#include "workload/program/program.h"
#include "workload/program/task.h"

namespace orrery {

// The names that values carry, as writers take them: Debian's Abseil has a view
// of its own.
inline absl::string_view View(std::string_view name) {
  return absl::string_view(name.data(), name.size());
}

// A step of an inference engine: what counts micro-batches counts steps there,
// and pieces are parts of the batch.
inline bool IsEngineStep(const Mark& mark) {
  return mark.phase == WorkPhase::kPrefill || mark.phase == WorkPhase::kDecode;
}
// "F3", "B3 c1", "optimizer", "decode 3 part 1"; empty for work of no phase.
std::string PassLabel(const Mark& mark);
// "forward mb 3 chunk 1", "decode 3 part 1".
std::string PassTitle(const Mark& mark);

// A kernel by its op and what of it: "mlp_up", "mlp_up dgrad", "mlp_up wgrad",
// "attention backward", "norm recompute".
// `product`: of matrices, whose backward pass is split in two.
std::string KernelLabel(std::string_view name, WorkPhase phase, bool product);
bool IsProduct(const KernelFacts& facts, const IdVector<OpId, Op>& ops);

// Numbers without leading zeros: "stage 0003" is "stage 3".
std::string NaturalName(std::string_view name);

}  // namespace orrery
