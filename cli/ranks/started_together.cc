#include <absl/strings/numbers.h>

#include <algorithm>
#include <cstdlib>

#include "cli/ranks/ranks.h"

namespace orrery {

int StartedTogether() {
  int most = 1;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* text = std::getenv(name);
    int size = 0;
    if (text != nullptr && absl::SimpleAtoi(text, &size)) {
      most = std::max(most, size);
    }
  }
  return most;
}

}  // namespace orrery
