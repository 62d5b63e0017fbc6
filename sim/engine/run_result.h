#pragma once
// What a run of the engine is told and what it tells, apart from the spans.
#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "base/units.h"
#include "sim/engine/memory_tracker.h"
#include "sim/sharing/sharing.h"
#include "sim/sharing/transfer_log.h"
#include "sim/sharing/transfer_plan.h"
#include "workload/program/program.h"

namespace orrery {

struct EngineOptions {
  // A run whose state would exceed this is refused.
  Bytes max_state{int64_t{8} << 30};
  // If given, is told of every step of every transfer.
  TransferLog* log = nullptr;
  // If given, is told now and then what part of the tasks is done.
  std::function<void(double done)> progress = {};
};

struct RankResult {
  Time finished{};
  MemoryPeak memory;
};

struct RunResult {
  Time end{};
  int64_t tasks = 0;  // of all simulated ranks
  // Ends of kernels and of stages of transfers; and the instants at which the
  // queue had any, which are fewer where kernels are chained.
  int64_t events = 0;
  int64_t instants = 0;
  int64_t transfer_steps = 0;  // of all calls
  int64_t kernel_rate_changes = 0;
  Sharing::Counters sharing;
  IdVector<RankId, RankResult> ranks;
  IdVector<ResourceId, double> carried;  // units over each resource
};

// What the engine's own state takes at most for this program, with a queue that
// takes `bytes_per_event`.
Bytes StateBytes(const Program& program, const Transfers& transfers,
                 size_t bytes_per_event);

// OK if the program can be run: sizes within range and memory, a plan for every
// call, a capacity for every resource.
absl::Status CheckRun(const Program& program, const Transfers& transfers,
                      const EngineOptions& options, size_t bytes_per_event);

}  // namespace orrery
