#pragma once
// The timeline of one rank for PyTorch's tools (see traces/kineto_writer.h).
#include <absl/types/span.h>

#include <string>
#include <string_view>

#include "sim/timeline_selection.h"
#include "topology/communication_kind.h"
#include "traces/kineto_writer.h"
#include "traces/span.h"
#include "workload/program.h"

namespace orrery {

// As NCCL names its kernels: by this prefix tools tell communication from work.
std::string NcclKernelName(CommunicationKind kind);

// Kernels and communication of `rank` that lie in the options' window; the
// other options do not matter. A wait for partners is part of the
// communication, as it is on the device.
void WriteKineto(const Program& program, absl::Span<const TaskSpan> spans,
                 const GroupSizes& group_sizes, RankId rank,
                 const TimelineOptions& options, KinetoWriter& writer);

}  // namespace orrery
