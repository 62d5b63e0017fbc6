#pragma once
// Where the time of a critical path goes, and how much communication is hidden.
#include <cstdint>
#include <string>
#include <vector>

#include "base/simulation_ids.h"
#include "base/units.h"
#include "sim/critical_path.h"
#include "sim/span_index.h"
#include "topology/communication_kind.h"
#include "workload/program.h"

namespace orrery {

// A part of some whole, by name.
struct TimeShare {
  std::string name;
  Duration time{0};
  int64_t count = 0;  // tasks that contribute
};

// The path by cause, largest first; the parts sum to its length:
//   "compute", "memory-bound", "launch"   kernels, by what they are made of
//   "optimizer"                           kernels of the optimizer, whole
//   "communication: tensor"               by the stream it runs on
//   "slow rank"                           what slow chips add to kernels
//   "shared chip"                         what communication beside it adds
std::vector<TimeShare> PathByCause(const Program& program,
                                   const std::vector<PathStep>& path);

// The path by name of task and phase ("mlp_up forward"), largest first, at most
// `limit` of them.
std::vector<TimeShare> TopTasks(const Program& program,
                                const std::vector<PathStep>& path,
                                size_t limit);

// One kind of communication on one stream: how long it ran, and for how much of
// that no kernel ran beside it. exposed + hidden = total.
struct ExposedTime {
  std::string stream;
  CommunicationKind kind{};
  int64_t count = 0;
  Duration total{0};
  Duration exposed{0};
  Duration hidden() const { return total - exposed; }
};

// Of one rank, in the order of streams and kinds.
std::vector<ExposedTime> ExposedCommunication(const Program& program,
                                              const SpanIndex& spans,
                                              RankId rank);

}  // namespace orrery
