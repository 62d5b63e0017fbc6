#pragma once
// What the details panel says about a call by itself: the collective, its
// algorithm, bytes and group, with the names PyTorch's profiler uses, so that
// what people know how to search for is found; how fast it was, and how much
// longer than alone it took.
//
// What all runs of a call have in common is encoded once.
#include <string>

#include "base/ids.h"
#include "traces/format/argument_block.h"
#include "traces/format/perfetto_writer.h"
#include "traces/format/span.h"
#include "traces/timeline/timeline_source.h"

namespace orrery {

class CallArguments {
 public:
  // Both outlive this.
  CallArguments(const TimelineSource& source, PerfettoWriter& writer);

  // Requires: communication.
  void Append(const TaskSpan& span, ArgumentBlock& block);

 private:
  void Describe(const TaskSpan& span, const Task& task, ArgumentBlock& block);

  const TimelineSource& source_;
  PerfettoWriter& writer_;
  const ArgumentKey rate_, congestion_;
  ArgumentBlock buffer_;
  IdVector<CallId, std::string> calls_;  // empty: not described yet
};

}  // namespace orrery
