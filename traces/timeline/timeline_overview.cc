#include "traces/timeline/timeline_overview.h"

#include <algorithm>

#include "base/format.h"
#include "traces/timeline/timeline_lanes.h"
#include "traces/timeline/timeline_names.h"

namespace orrery {

void WriteOverview(const TimelineSource& source,
                   const TimelineSelection& selection, const PassTable& passes,
                   TrackId parent, TimelineArguments& arguments,
                   PerfettoWriter& writer) {
  const Program& program = source.program;
  const TrackId pipeline = writer.AddTrack(
      {.name = "pipeline",
       .parent = parent,
       .description = "One row per stage: F forward, B backward, W weight "
                      "gradients, with the micro-batch. Gaps are bubbles."});
  for (const RankId rank : OneRankPerRole(program)) {
    LanedTrack row(writer, {.name = NaturalName(program.role_of(rank).name()),
                            .parent = pipeline,
                            .description = fmt::format(
                                "rank {}", program.ranks()[rank].number)});
    for (const TimelinePass& pass : passes.of(rank)) {
      if (!selection.Shows(pass.from, pass.to)) continue;
      const std::string label = PassLabel(pass.mark);
      const Time from = selection.Clip(pass.from);
      const Time to = selection.Clip(pass.to);
      writer.Slice(
          row.RowFor(from, to), from, to,
          writer.Name(label.empty() ? "other" : label),
          arguments.OfPass(rank, pass, arguments.categories().pipeline));
    }
  }
}

}  // namespace orrery
