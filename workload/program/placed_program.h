#pragma once
// PlacedProgram: a program together with the machine it was written for.
//
// The program says what simulated ranks do; the rest says where they are: who
// really takes part in each group, how tokens travel in calls that are routed,
// and what every role has to do. Engine, network, bounds, breakdown, critical
// path and timeline work on any of them, whatever wrote it.
//
// Folded, one rank stands for all ranks of its role, and a group for all groups
// like it (PlacedGroup::replicas).
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "topology/traffic/expert_traffic.h"
#include "workload/program/placed_group.h"
#include "workload/program/program.h"
#include "workload/program/work_split.h"

namespace orrery {

// Who plays a role, and the time of its kernels by themselves.
struct RoleWork {
  int pipeline = 0;     // the pipeline rank
  int64_t ranks = 0;    // that play it, simulated or stood for
  WorkSplit passes;     // through the layers
  WorkSplit optimizer;  // the end of a training step
  Duration host{};      // starting what the passes run
  Duration total() const { return passes.total() + optimizer.total(); }
};

struct PlacedProgram {
  Program program;
  IdVector<GroupId, PlacedGroup> groups;
  IdVector<RoleId, RoleWork> work;
  bool folded = false;
  std::optional<ExpertTraffic> traffic = std::nullopt;
  // Folded: how many times what a call sends all groups send that it stands
  // for, itself included. The number of groups, where all lie alike.
  IdVector<CallId, double> stands_for = {};
};

}  // namespace orrery
