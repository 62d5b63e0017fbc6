// How fast a timeline is written: slices with three arguments each on 256
// tracks, compressed, to a file; and the whole timeline of a step with all
// ranks and arguments, from the record of a run. `process_time` counts the
// thread that compresses as well: what it took is the difference.
#include <benchmark/benchmark.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "catalog/resolve.h"
#include "cli/commands/recorded_timeline.h"
#include "cli/commands/trace_output.h"
#include "run/run_scenario.h"
#include "traces/format/perfetto_writer.h"
#include "traces/timeline/timeline.h"

namespace orrery {
namespace {

int64_t WriteSlices(const std::string& path, int64_t count) {
  auto writer = PerfettoWriter::Create(path);
  CHECK(writer.ok()) << writer.status();
  std::vector<TrackId> tracks;
  for (int i = 0; i < 256; ++i) {
    tracks.push_back(writer->AddTrack({.name = "track " + std::to_string(i)}));
  }
  std::vector<EventName> names;
  for (int i = 0; i < 64; ++i) {
    names.push_back(writer->Name("op " + std::to_string(i)));
  }
  const auto layer = writer->Key("layer"), bytes = writer->Key("bytes"),
             start = writer->Key("start_ps");
  for (int64_t i = 0; i < count; ++i) {
    const TrackId track = tracks[static_cast<size_t>(i) % tracks.size()];
    const Time at(Duration(i / 256 * 1'234'567));
    const std::array<EventArgument, 3> arguments = {
        {{layer, i / 256 % 80},
         {bytes, i % 64 * 4096},
         {start, at.time_since_epoch().count()}}};
    writer->Begin(track, at, names[static_cast<size_t>(i / 256) % names.size()],
                  {.arguments = arguments});
    writer->End(track, at + Duration(1'000'000));
  }
  const absl::Status status = writer->Finish();
  CHECK(status.ok()) << status;
  return writer->file_bytes();
}

std::string BenchFile() {
  return (std::filesystem::temp_directory_path() / "orrery_trace_bench.pftrace")
      .string();
}

void BM_PerfettoWriter(benchmark::State& state) {
  const std::string path = BenchFile();
  int64_t bytes = 0;
  for (auto _ : state) bytes = WriteSlices(path, state.range(0));
  std::filesystem::remove(path);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes/slice"] =
      static_cast<double>(bytes) / static_cast<double>(state.range(0));
}
BENCHMARK(BM_PerfettoWriter)->Arg(1 << 20)->Unit(benchmark::kMillisecond);

void BM_WholeTimeline(benchmark::State& state, const char* name) {
  auto proto = ResolveScenario(Catalog(), name, {});
  CHECK(proto.ok()) << proto.status().ToString();
  const auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  RunOptions how;
  how.fold = false;
  RecordForTrace(how);
  const auto run = RunScenario(*scenario, how);
  CHECK(run.ok()) << run.status().ToString();
  TimelineOptions options;
  for (const RankId rank : run->placed.program.ranks().ids()) {
    options.ranks.push_back(rank);
  }
  const std::string path = BenchFile();
  int64_t slices = 0, bytes = 0;
  for (auto _ : state) {
    const RecordedTimeline recorded(*scenario, WholeOf(*scenario, *run));
    const Timeline timeline(recorded.source(), options);
    slices = timeline.CountSlices();
    auto writer = PerfettoWriter::Create(path);
    CHECK(writer.ok()) << writer.status();
    timeline.Write(*writer);
    CHECK(writer->Finish().ok());
    bytes = writer->file_bytes();
  }
  std::filesystem::remove(path);
  state.SetItemsProcessed(state.iterations() * slices);
  state.counters["bytes/slice"] =
      static_cast<double>(bytes) / static_cast<double>(slices);
}
BENCHMARK_CAPTURE(BM_WholeTimeline, quickstart, "quickstart")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WholeTimeline, quickstart, "quickstart")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace orrery
