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
  const std::vector<PathStep> chain = CriticalPath(spans);
  const IdVector<OpId, Op> ops = PipelineOps();
  const GroupSizes sizes = SimulatedGroupSizes(program);
  const TimelineSource source = {.program = program,
                                 .spans = spans,
                                 .path = chain,
                                 .transfers = transfers,
                                 .log = log,
                                 .ops = ops,
                                 .group_sizes = sizes};
  Timeline(source, options).Write(writer);
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
