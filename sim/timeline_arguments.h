#pragma once
// What the details panel of a timeline says about a task.
#include <absl/types/span.h>

#include <vector>

#include "base/ids.h"
#include "sim/timeline_selection.h"
#include "sim/transfer_plan.h"
#include "traces/perfetto_writer.h"
#include "traces/span.h"
#include "workload/op.h"
#include "workload/program.h"

namespace orrery {

// Collectives are described with the names PyTorch's profiler uses, so that
// what people know how to search for is found.
class TimelineArguments {
 public:
  // `ops` is what the facts of kernels refer to. All outlive this.
  TimelineArguments(const Program& program, const Transfers& transfers,
                    const IdVector<OpId, Op>& ops,
                    const GroupSizes& group_sizes, PerfettoWriter& writer);

  // The span's own; valid until the next call.
  absl::Span<const EventArgument> Of(const TaskSpan& span);
  // Of a wait for something, from `begin` to `end`.
  absl::Span<const EventArgument> OfWait(const TaskSpan& span, Time begin,
                                         Time end);

 private:
  void Add(absl::string_view key, int64_t value);
  void Add(absl::string_view key, double value);
  void Add(absl::string_view key, absl::string_view text);
  void AddTimes(Time begin, Time end);
  void AddPlace(const TaskSpan& span);
  void AddKernel(const TaskSpan& span);
  void AddShape(OpId op);
  void AddCommunication(const TaskSpan& span);

  const Program& program_;
  const Transfers& transfers_;
  const IdVector<OpId, Op>& ops_;
  const GroupSizes& group_sizes_;
  PerfettoWriter& writer_;
  std::vector<EventArgument> arguments_;
  IdVector<OpId, std::vector<EventArgument>> shapes_;  // made when needed
};

}  // namespace orrery
