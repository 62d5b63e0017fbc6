#pragma once
// Where the time of a critical path goes, and how much communication is hidden.
#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "base/units.h"
#include "sim/analysis/critical_path.h"
#include "sim/analysis/span_index.h"
#include "sim/analysis/step_breakdown.h"
#include "topology/traffic/communication_kind.h"
#include "workload/model/op.h"
#include "workload/program/program.h"

namespace orrery {

// Reports and explanations call it the same.
inline constexpr char kSlowedByCommunication[] =
    "kernels slowed by communication";
// On a critical path: what a rank that looks at it has a bubble for.
inline constexpr char kWorkOfOtherStages[] = "work of other stages";

// A part of some whole, by name.
struct TimeShare {
  std::string name;
  Duration time{0};
  int64_t count = 0;  // tasks that contribute
};

// Who looks at a path: one rank, with its bubbles (BreakdownSink); and how long
// calls take alone, if that is known.
struct PathViewpoint {
  RankId rank{};
  absl::Span<const Bubble> bubbles = {};
  const CallTimes* alone = nullptr;
};

// The path by cause, largest first; the parts sum to its length:
//   "compute: attention"         kernels, by what they are made of: arithmetic,
//   "memory-bound", "launch"       by kind of op where `ops` tells it
//   "optimizer"                  kernels of the optimizer, whole
//   "communication: tensor"      by the stream it runs on, whoever runs it
//   "congestion: tensor"         what such calls took longer than alone
//   "slow chip"                  what a slow chip adds to its kernels
//   kSlowedByCommunication       what communication beside a kernel adds to it
//   kWorkOfOtherStages           kernels of another stage's passes, while the
//                                rank that looks at them has nothing to do but
//                                wait for the pipeline
std::vector<TimeShare> PathByCause(const Program& program,
                                   const std::vector<PathStep>& path,
                                   const PathViewpoint& from,
                                   const IdVector<OpId, Op>& ops = {});

// The path by name of task and phase ("mlp_up forward"), largest first, at most
// `limit` of them.
std::vector<TimeShare> TopTasks(const Program& program,
                                const std::vector<PathStep>& path,
                                size_t limit);

// One kind of communication on one stream: how long it ran, and for how much of
// that the rank had nothing else to do, as its breakdown has it. exposed +
// hidden = total.
struct ExposedTime {
  std::string stream;
  CommunicationKind kind{};
  int64_t count = 0;
  Duration total{0};
  Duration exposed{0};
  // Of the total, what calls took longer than alone, if that is known.
  Duration congestion{0};
  Duration hidden() const { return total - exposed; }
};

// Of one rank, in the order of streams and kinds. Requires: `breakdown` is the
// rank's, finished.
std::vector<ExposedTime> ExposedCommunication(const Program& program,
                                              const SpanIndex& spans,
                                              RankId rank,
                                              const BreakdownSink& breakdown,
                                              const CallTimes* alone = nullptr);

}  // namespace orrery
