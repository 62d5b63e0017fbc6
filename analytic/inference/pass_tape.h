#pragma once
// Tapes of the ranks of an inference engine, for passes in which nothing hides
// (see analytic/step/rank_tape.h).
#include <vector>

#include "analytic/inference/pass_ops.h"
#include "analytic/step/price_list.h"
#include "analytic/step/rank_tape.h"
#include "base/units.h"
#include "workload/plan/engine_profile.h"
#include "workload/plan/placement.h"

namespace orrery {

struct PassTapeQuestion {
  const EngineProfile& engine;
  EngineLaunch launch;
  CollectiveLaunches collective;  // what it takes to start a call
  const Placement& placement;
  std::vector<PassOps> classes;  // of ranks
  PriceList& prices;
  Bytes transfer;  // from stage to stage
  // Parts follow one another; then comes the host's work.
  int parts = 1;
  Duration between{};
};

RankTapes WritePassTapes(const PassTapeQuestion& question);

}  // namespace orrery
