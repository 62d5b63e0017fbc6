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

TracedPool WholeOf(const ResolvedScenario& scenario, const SimulatedRun& run) {
  return {.name = "cluster",
          .run = run,
          .system = scenario.system,
          .kernels = scenario.kernels};
}

RecordedTimeline::RecordedTimeline(const ResolvedScenario& scenario,
                                   const TracedPool& pool, Time until)
    : spans_(pool.run.placed.program, pool.run.spans),
      path_(CriticalPath(spans_, until)),
      sizes_(GroupSizesOf(pool.run)),
      source_{.program = pool.run.placed.program,
              .spans = spans_,
              .path = path_,
              .transfers = pool.run.transfers,
              .log = pool.run.log,
              .ops = pool.run.ops,
              .group_sizes = sizes_,
              .groups = &pool.run.placed.groups,
              .end = pool.run.result.end,
              .alone = &pool.run.alone,
              .ranks_per_node = pool.system.chips_per_node(),
              .ranks_are_chips = scenario.training() == nullptr ||
                                 scenario.training()->layout().rank_map.empty(),
              .reserved_memory = pool.kernels.reserved_memory(),
              .memory_capacity = MemoryCapacity(pool.system),
              .memory_before = &pool.run.memory_before,
              .peak =
                  [&chip = pool.system.chip()](DType type) {
                    const auto peak = chip.peak(type);
                    return peak ? std::optional<double>(peak->value())
                                : std::nullopt;
                  },
              .name = pool.name,
              .description = scenario.proto.description()} {}

}  // namespace orrery
