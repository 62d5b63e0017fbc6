#pragma once
// WaitChain: what a rank's compute stream waited for.
//
// A kernel that waits, waits for communication of its own rank, which has often
// waited itself: an exchange for a receive, a receive for another stage. The
// chain is followed back over the whole wait, and every moment of it is one of
//
//   transfer   something of the chain was being transferred
//   partner    the chain waited for another rank to come
//   nothing    no communication of this rank explains it
//
// This is the one attribution of waiting: what reports call exposed, bubble and
// late peer, and what timelines give as the cause of a wait, are read off it.
#include <absl/functional/function_ref.h>

#include <cstdint>

#include "base/simulation_ids.h"
#include "base/units.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

struct WaitPart {
  enum class Cause : uint8_t { kTransfer, kPartner, kNothing };
  Cause cause = Cause::kNothing;
  Time from{};
  Time to{};
  // The communication that was under way or waited; null for kNothing.
  const TaskSpan* link = nullptr;
  Duration time() const { return to - from; }
};

// Work of a host: what it starts, and what it compares before a call, which
// stands on the stream of that call.
bool RunsOnHost(const Program& program, const TaskSpan& span);

// A span of the rank that waits, by stream and task; null if it ended before
// the wait or is not known.
using FindSpan = absl::FunctionRef<const TaskSpan*(StreamId, TaskId)>;

// The parts of [from, to), in which `span` waited to start, from the last to
// the first. Requires: stream 0 is the compute stream.
void FollowWait(const Program& program, const TaskSpan& span, Time from,
                Time to, FindSpan find,
                absl::FunctionRef<void(const WaitPart&)> visit);

// Whether the partner that `link` waited for has the same work to do as `rank`
// and was late with it.
bool WaitsForLatePeer(const Program& program, const TaskSpan& link,
                      RankId rank);

}  // namespace orrery
