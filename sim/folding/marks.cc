#include "sim/folding/marks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace orrery {
namespace {

// Chips at both ends of what is cut or slow.
std::vector<int> ChipsOf(const LinkFault& fault, const System& system) {
  std::vector<int> chips = {fault.chip};
  if (fault.peer && *fault.peer < system.chips()) chips.push_back(*fault.peer);
  return chips;
}

}  // namespace

std::vector<char> NodesWithFaults(const System& system) {
  std::vector<char> nodes(static_cast<size_t>(system.nodes()), false);
  for (const LinkFault& fault : system.faults()) {
    for (const int chip : ChipsOf(fault, system)) {
      nodes[static_cast<size_t>(chip / system.chips_per_node())] = true;
    }
  }
  return nodes;
}

std::vector<RankMark> MarksOf(const System& system, MarkedBy how) {
  // Chips are alike whose links are all slow alike, and they themselves. One
  // link tells its chip from any other.
  struct Faults {
    int single = -1;
    double slowdown = 1;
    std::vector<double> remaining;
    auto operator<=>(const Faults&) const = default;
  };
  std::map<int, Faults> of_chip;
  for (const LinkFault& fault : system.faults()) {
    for (const int chip : ChipsOf(fault, system)) {
      Faults& faults = of_chip[chip];
      if (fault.peer) faults.single = chip;
      faults.remaining.push_back(fault.remaining);
    }
  }
  for (const SlowChip& slow : system.slow_chips()) {
    if (slow.slowdown > 1) of_chip[slow.chip].slowdown = slow.slowdown;
  }
  if (how == MarkedBy::kNodes) {
    const std::vector<char> nodes = NodesWithFaults(system);
    for (int chip = 0; chip < system.chips(); ++chip) {
      if (!nodes[static_cast<size_t>(chip / system.chips_per_node())]) continue;
      of_chip[chip].single = chip;
    }
  }
  std::vector<RankMark> marks;
  std::map<Faults, int> numbers;
  for (auto& [chip, faults] : of_chip) {
    std::sort(faults.remaining.begin(), faults.remaining.end());
    const int next = static_cast<int>(numbers.size());
    marks.push_back({.rank = chip,
                     .mark = numbers.try_emplace(faults, next).first->second});
  }
  return marks;
}

}  // namespace orrery
