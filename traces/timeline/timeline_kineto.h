#pragma once
// The timeline of one rank for PyTorch's tools (see
// traces/format/kineto_writer.h).
#include <absl/types/span.h>

#include <functional>
#include <optional>
#include <string>

#include "topology/traffic/communication_kind.h"
#include "traces/format/kineto_writer.h"
#include "traces/format/span.h"
#include "traces/timeline/timeline_selection.h"
#include "workload/model/op.h"
#include "workload/program/placed_group.h"
#include "workload/program/program.h"

namespace orrery {

// As NCCL names its kernels: by this prefix tools tell communication from work.
std::string NcclKernelName(CommunicationKind kind);

// What the elements of a task's call are; nothing where that is not known.
using CallElements =
    std::function<std::optional<DType>(const Role& role, TaskId task)>;

// The step, and kernels and communication of `rank` that run in the options'
// window; the other options do not matter. Of a collective the wait for
// partners is part, as it is on the device; sends and receives start when they
// transfer, so that a stage that waits is idle. `groups`, if given, are those
// of the machine. Calls whose elements are not known are counted in bytes.
void WriteKineto(const Program& program, absl::Span<const TaskSpan> spans,
                 const GroupSizes& group_sizes,
                 const IdVector<GroupId, PlacedGroup>* groups, RankId rank,
                 const TimelineOptions& options, KinetoWriter& writer,
                 const CallElements& elements = nullptr);

}  // namespace orrery
