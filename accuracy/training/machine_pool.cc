#include "accuracy/training/machine_pool.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "base/units.h"

namespace orrery {
namespace {

// Of all that are idle.
constexpr size_t kMostIdle = 16;
constexpr Bytes kMostKept{int64_t{64} << 20};

}  // namespace

absl::StatusOr<std::unique_ptr<PooledMachine>> MachinePool::Take(
    const ResolvedScenario& scenario) {
  std::string key;
  if (!scenario.model.moe()) {
    key = scenario.proto.system().SerializeAsString();
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(idle_.begin(), idle_.end(),
                     [&](const auto& each) { return each->key == key; });
    if (found != idle_.end()) {
      std::unique_ptr<PooledMachine> machine = std::move(*found);
      idle_.erase(found);
      return machine;
    }
  }
  ASSIGN_OR_RETURN(Network network, Network::Make(scenario.system));
  return std::make_unique<PooledMachine>(std::move(key), std::move(network));
}

void MachinePool::Return(std::unique_ptr<PooledMachine> machine) {
  if (machine->key.empty()) return;
  std::deque<std::unique_ptr<PooledMachine>> dropped;  // outside of the lock
  const std::lock_guard lock(mutex_);
  idle_.push_front(std::move(machine));
  Bytes kept{};
  size_t stay = 0;
  while (stay < idle_.size() && stay < kMostIdle && kept <= kMostKept) {
    kept += idle_[stay++]->planner.kept();
  }
  while (idle_.size() > stay) {
    dropped.push_back(std::move(idle_.back()));
    idle_.pop_back();
  }
}

}  // namespace orrery
