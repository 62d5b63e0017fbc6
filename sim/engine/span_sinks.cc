#include "sim/engine/span_sinks.h"

#include <fmt/format.h>

#include "base/units_text.h"

namespace orrery {

absl::Status RecordingSink::Expect(const Program& program) {
  program_ = &program;
  if (window_) {
    forgotten_ =
        IdVector<RankId, MemoryByKind>(program.ranks().size(), MemoryByKind{});
    is_past_ = IdVector<RankId, bool>(program.ranks().size(), false);
    return absl::OkStatus();
  }
  const int64_t allowed =
      limit_.value() / static_cast<int64_t>(sizeof(TaskSpan));
  if (program.task_count() > allowed) {
    return absl::ResourceExhaustedError(fmt::format(
        "to record {} tasks takes {} bytes each, more than the {} allowed; "
        "record fewer ranks or raise the limit",
        program.task_count(), sizeof(TaskSpan), ToBinaryText(limit_, 4)));
  }
  spans_.reserve(static_cast<size_t>(program.task_count()));
  return absl::OkStatus();
}

}  // namespace orrery
