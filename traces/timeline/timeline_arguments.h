#pragma once
// What the details panel of a timeline says about a task.
#include <absl/container/flat_hash_map.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "sim/sharing/transfer_plan.h"
#include "traces/format/perfetto_writer.h"
#include "traces/format/span.h"
#include "traces/timeline/timeline_selection.h"
#include "workload/model/op.h"
#include "workload/program/program.h"

namespace orrery {

// Collectives are described with the names PyTorch's profiler uses, so that
// what people know how to search for is found. What all runs of a kernel or a
// call have in common is encoded once.
class TimelineArguments {
 public:
  // `ops` is what the facts of kernels refer to. All outlive this.
  TimelineArguments(const Program& program, const Transfers& transfers,
                    const IdVector<OpId, Op>& ops,
                    const GroupSizes& group_sizes, PerfettoWriter& writer);

  // Details with the span's arguments; valid until the next call.
  EventDetails Of(const TaskSpan& span, absl::string_view category);
  // Of a wait for something, from `begin` to `end`.
  EventDetails OfWait(const TaskSpan& span, Time begin, Time end);

 private:
  void Add(ArgumentKey key, int64_t value);
  void AddTimes(Time begin, Time end);
  void AddPlace(const TaskSpan& span);
  absl::string_view Kernel(const TaskSpan& span);
  absl::string_view Communication(const TaskSpan& span);
  // What they have in common.
  std::string EncodeKernel(const KernelWork& kernel);
  std::string EncodeCall(const TaskSpan& span, const Task& task);
  void AddNamed(absl::string_view key, int64_t value);
  void AddNamed(absl::string_view key, double value);
  void AddNamed(absl::string_view key, absl::string_view text);

  const Program& program_;
  const Transfers& transfers_;
  const IdVector<OpId, Op>& ops_;
  const GroupSizes& group_sizes_;
  PerfettoWriter& writer_;
  const ArgumentKey start_, duration_, rank_, phase_, micro_batch_, layer_,
      slowed_, rate_;
  std::vector<EventArgument> arguments_;
  std::vector<EventArgument> common_;
  absl::flat_hash_map<const KernelWork*, std::string> kernels_;
  absl::flat_hash_map<CallId, std::string> calls_;
};

}  // namespace orrery
