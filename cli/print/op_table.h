#pragma once
// Ops with their times as a table or as JSON: one row per op, with what limits
// it and how near it comes to the chip's roofline.
#include <absl/status/status.h>
#include <absl/types/span.h>

#include <string>
#include <vector>

#include "cost/kernel/kernel_timer.h"
#include "topology/machine/chip.h"
#include "workload/model/op.h"

namespace orrery {

struct OpRow {
  Op op;
  OpTime time;
  // What no kernel could beat.
  Duration bound;
};

OpRow TimeRow(const Op& op, const KernelTimer& timer, const Chip& chip);

// An error that names the op if its time is beyond the range of time.
absl::Status CheckTime(const OpRow& row);

// "4096 x 4096 x 4096 BF16", "16 x 32/8 heads, 1 x 4096, 128 wide".
std::string ShapeText(const Op& op);

// One line per row under a header; and the sum, if there are several.
std::string OpTable(absl::Span<const OpRow> rows);
// A JSON array of objects, indented by two.
std::string OpJson(absl::Span<const OpRow> rows);

}  // namespace orrery
