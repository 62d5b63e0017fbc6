#include "tests/storm/work_laws.h"

#include <cmath>
#include <tuple>

#include "base/format.h"
#include "run/scenario_cost.h"

namespace orrery {

std::optional<std::string> WhyOtherWork(const SimulatedRun& folded,
                                        const SimulatedRun& whole) {
  // Sums of doubles, by role and by rank.
  constexpr double kRounding = 1e-9;
  const StepWork a = WorkOf(folded);
  const StepWork b = WorkOf(whole);
  for (const auto& [name, one, all] :
       {std::tuple("seconds", ToSeconds(a.time), ToSeconds(b.time)),
        std::tuple("FLOP", a.arithmetic.value(), b.arithmetic.value()),
        std::tuple("bytes of memory", a.memory_bytes, b.memory_bytes),
        std::tuple("bytes of links", a.link_bytes, b.link_bytes)}) {
    if (std::abs(one - all) <= kRounding * all) continue;
    return fmt::format("{} {} folded, {} whole", one, name, all);
  }
  return std::nullopt;
}

}  // namespace orrery
