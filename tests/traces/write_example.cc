// Writes the timeline of a small pipeline-parallel step: example_trace FILE.
#include <cstdio>

#include "base/status.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/traces/timeline/pipeline_program.h"
#include "traces/timeline/timeline.h"

namespace orrery {
namespace {

absl::Status WriteExample(const std::string& path) {
  const Program program = BuildOrDie(PipelineProgram());
  const Transfers transfers = PipelineNetwork(program);
  RecordingSink sink;
  TransferLog log;
  RETURN_IF_ERROR(Simulate(program, transfers, {.log = &log}, sink).status());
  const SpanIndex spans(program, sink.spans());
  ASSIGN_OR_RETURN(PerfettoWriter writer, PerfettoWriter::Create(path));
  TimelineOptions options;
  options.ranks = OneRankPerRole(program);
  WriteTimeline({.program = program,
                 .spans = spans,
                 .path = CriticalPath(spans),
                 .transfers = transfers,
                 .log = log,
                 .ops = PipelineOps(),
                 .group_sizes = SimulatedGroupSizes(program)},
                options, writer);
  return writer.Finish();
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const absl::Status status = orrery::WriteExample(argv[1]);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.ToString());
  return status.ok() ? 0 : 1;
}
