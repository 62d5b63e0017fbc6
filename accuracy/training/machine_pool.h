#pragma once
// MachinePool: networks of machines, each with a planner that knows how calls
// are routed there, lent to one run at a time.
//
//   MachinePool machines;
//   ASSIGN_OR_RETURN(std::unique_ptr<PooledMachine> machine,
//                    machines.Take(scenario));
//   ... run on machine->network with machine->planner ...
//   machines.Return(std::move(machine));
//
// Runs on machines alike ask for the same routes. A plan does not depend on
// what was planned before (call_planner.h), so neither does any result on who
// had a machine earlier. For many threads; of machines that nobody has those
// returned last are kept.
#include <absl/status/statusor.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "run/scenario.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"

namespace orrery {

struct PooledMachine {
  PooledMachine(std::string alike, Network made)
      : key(std::move(alike)),
        network(std::move(made)),
        planner(network, {.one_of_alike = true}) {}

  std::string key;  // the same for machines alike; empty if it is for one run
  Network network;
  CallPlanner planner;
};

class MachinePool {
 public:
  // That of the scenario's system. A planner knows the traffic between experts
  // of one model only, so those with experts get a machine that nobody had.
  absl::StatusOr<std::unique_ptr<PooledMachine>> Take(
      const ResolvedScenario& scenario);
  void Return(std::unique_ptr<PooledMachine> machine);

 private:
  std::mutex mutex_;
  std::deque<std::unique_ptr<PooledMachine>> idle_;  // last returned first
};

}  // namespace orrery
