#include "run/search/headroom.h"

#include "base/format.h"

namespace orrery {

std::string HeadroomNote(const System& system) {
  if (system.memory_headroom() == 0) return "";
  return fmt::format(
      "{:.3g} % of each chip's memory stays free (system.memory_headroom)",
      100 * system.memory_headroom());
}

}  // namespace orrery
