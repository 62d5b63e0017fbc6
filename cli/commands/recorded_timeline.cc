#include "cli/commands/recorded_timeline.h"

#include <optional>

#include "run/report.h"

namespace orrery {

GroupSizes GroupSizesOf(const SimulatedRun& run) {
  GroupSizes sizes;
  for (const PlacedGroup& group : run.placed.groups) {
    sizes.Add(static_cast<int32_t>(group.members.size()));
  }
  return sizes;
}

RecordedTimeline::RecordedTimeline(const ResolvedScenario& scenario,
                                   const SimulatedRun& run, Time until)
    : spans_(run.placed.program, run.spans),
      path_(CriticalPath(spans_, until)),
      sizes_(GroupSizesOf(run)),
      source_{.program = run.placed.program,
              .spans = spans_,
              .path = path_,
              .transfers = run.transfers,
              .log = run.log,
              .ops = run.ops,
              .group_sizes = sizes_,
              .groups = &run.placed.groups,
              .end = run.result.end,
              .alone = &run.alone,
              .ranks_per_node = scenario.system.chips_per_node(),
              .ranks_are_chips = scenario.training() == nullptr ||
                                 scenario.training()->layout().rank_map.empty(),
              .reserved_memory = scenario.kernels.reserved_memory(),
              .memory_capacity = MemoryCapacity(scenario.system),
              .peak =
                  [&scenario](DType type) {
                    const auto peak = scenario.system.chip().peak(type);
                    return peak ? std::optional<double>(peak->value())
                                : std::nullopt;
                  },
              .description = scenario.proto.description()} {}

}  // namespace orrery
