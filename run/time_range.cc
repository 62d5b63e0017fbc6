#include "run/time_range.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/format.h"

namespace orrery {

absl::Status CheckTimeRange(const StepEstimate& serial) {
  if (serial.step_s() < kLongestStepSeconds) return absl::OkStatus();
  const std::pair<std::string_view, double> parts[] = {
      {"kernels", serial.compute_s},
      {"the host", serial.host_s},
      {"tensor communication", serial.tensor_s},
      {"context communication", serial.context_s},
      {"expert communication", serial.expert_s},
      {"pipeline communication", serial.pipeline_s},
      {"data communication", serial.data_s},
      {"the pipeline bubble", serial.bubble_s},
      {"the optimizer", serial.optimizer_s}};
  // A part that is not a number counts as the longest.
  const auto* longest = std::max_element(
      std::begin(parts), std::end(parts), [](const auto& a, const auto& b) {
        return !(a.second != a.second) &&
               (a.second < b.second || b.second != b.second);
      });
  return absl::OutOfRangeError(fmt::format(
      "a step would take {:.3g} s or more, beyond the {:.0f} s that a step may "
      "take; most of it is {} ({:.3g} s): look for a rate, a bandwidth or a "
      "latency that is far off, or a plan that is too large",
      serial.step_s(), kLongestStepSeconds, longest->first, longest->second));
}

}  // namespace orrery
