#include "cli/commands/trace_output.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "cli/commands/recorded_timeline.h"
#include "cli/flags/shell_word.h"
#include "cli/print/output.h"
#include "cli/print/version.h"
#include "sim/analysis/critical_path.h"
#include "traces/timeline/request_tracks.h"
#include "traces/timeline/timeline.h"
#include "traces/timeline/timeline_kineto.h"
#include "workload/lowering/call_elements.h"
#include "workload/plan/inference_pass.h"

namespace orrery {
namespace {

// By default the ranks that the path runs on are shown too.
void AddPathRanks(const std::vector<PathStep>& path, TimelineOptions& options) {
  for (const RankId rank : RanksOfPath(path, kMostPathRanks)) {
    const auto at =
        std::lower_bound(options.ranks.begin(), options.ranks.end(), rank);
    if (at == options.ranks.end() || *at != rank)
      options.ranks.insert(at, rank);
  }
}

Time EndOf(absl::Span<const TracedPool> pools) {
  Time end{};
  for (const TracedPool& pool : pools) {
    end = std::max(end, pool.from + pool.run.result.end.time_since_epoch());
  }
  return end;
}

// All chips of a scenario as one; the steps of a request begin after the
// engine's overhead.
TracedPool RequestPool(const ResolvedScenario& scenario,
                       const SimulatedRun& run) {
  TracedPool whole = WholeOf(scenario, run);
  if (const InferencePlan* plan = scenario.inference()) {
    whole.from = Time(plan->engine().request_overhead);
  }
  return whole;
}

// What there is to see of the pool, if anything is in the window, which is
// counted from its own beginning.
absl::StatusOr<std::optional<TimelineOptions>> OptionsOf(
    const TraceRequest& request, const TracedPool& pool) {
  ASSIGN_OR_RETURN(TimelineOptions options,
                   OptionsFor(request, pool.run.placed.program));
  const Duration from = pool.from.time_since_epoch();
  options.from = std::max(Time{}, options.from - from);
  if (options.to != Time::max()) options.to -= from;
  if (options.to <= Time{} || options.from >= pool.run.result.end) {
    return std::nullopt;
  }
  return options;
}

// Decode steps that the ranks of a timeline do not show.
bool IsSample(const RequestTimeline* requests) {
  return requests != nullptr && requests->drawn_steps < requests->decode_steps;
}

// Every rank that was asked for is known before anything is written.
absl::Status CheckShown(const TraceRequest& request,
                        absl::Span<const TracedPool> pools,
                        const RequestTimeline* requests) {
  for (const TracedPool& pool : pools) {
    RETURN_IF_ERROR(OptionsOf(request, pool).status());
  }
  if (request.from < EndOf(pools)) return absl::OkStatus();
  if (IsSample(requests)) {
    return absl::InvalidArgumentError(fmt::format(
        "--trace-window: the trace draws {} of {} decode steps, which end "
        "after {}, before the window; --every-token draws all of them",
        requests->drawn_steps, requests->decode_steps,
        SecondsText(ToSeconds(EndOf(pools)))));
  }
  return absl::InvalidArgumentError(
      fmt::format("--trace-window: the step ends after {}, before the window",
                  SecondsText(ToSeconds(EndOf(pools)))));
}

absl::Status WritePool(const TraceRequest& request,
                       const ResolvedScenario& scenario, const TracedPool& pool,
                       TimelineOptions options, PerfettoWriter& writer) {
  const RecordedTimeline recorded(scenario, pool, options.to);
  if (!request.ranks) AddPathRanks(recorded.path(), options);
  const Timeline timeline(recorded.source(), options);
  const int64_t slices = timeline.CountSlices();
  if (slices > kManySlices) {
    Say(fmt::format(
        "the trace will have {} slices, about {:.0f} MB, and be slow to open; "
        "--trace-ranks, --trace-window and --trace-detail make it smaller",
        slices, static_cast<double>(timeline.PredictSize().value()) / 1e6));
  }
  writer.SetOrigin(pool.from);
  timeline.Write(writer);
  writer.SetOrigin(Time{});
  return absl::OkStatus();
}

absl::Status WritePools(const TraceRequest& request,
                        const ResolvedScenario& scenario,
                        absl::Span<const TracedPool> pools,
                        const RequestTimeline* requests,
                        PerfettoWriter& writer) {
  for (const TracedPool& pool : pools) {
    ASSIGN_OR_RETURN(const std::optional<TimelineOptions> options,
                     OptionsOf(request, pool));
    if (!options) continue;
    RETURN_IF_ERROR(WritePool(request, scenario, pool, *options, writer));
  }
  if (requests != nullptr) {
    WriteRequestTracks(*requests, request.from, request.to, writer);
  }
  return absl::OkStatus();
}

void SayWhatIsDrawn(const RequestTimeline* requests,
                    absl::Span<const TracedPool> pools) {
  if (requests == nullptr) return;
  if (!IsSample(requests)) {
    constexpr double kAlike = 1e-4;
    const double drawn = ToSeconds(EndOf(pools));
    const double reported = ToSeconds(requests->reported_end);
    if (std::abs(drawn / reported - 1) < kAlike) return;
    Say(
        fmt::format("the steps of the trace overlap and end after {}; the "
                    "report adds them up to {}",
                    SecondsText(drawn), SecondsText(reported)));
    return;
  }
  Say(
      fmt::format("the trace draws the prefill and {} of {} decode steps; "
                  "'simulate --every-token' draws all of them",
                  requests->drawn_steps, requests->decode_steps));
}

absl::Status FinishTrace(const TraceRequest& request, PerfettoWriter& writer) {
  RETURN_IF_ERROR(writer.Finish());
  Say(fmt::format("wrote {} slices; this shows them: orrery view {}",
                  writer.slices(), ShellWord(request.path)));
  return absl::OkStatus();
}

absl::Status WritePerfetto(const TraceRequest& request,
                           const ResolvedScenario& scenario,
                           absl::Span<const TracedPool> pools,
                           const RequestTimeline* requests) {
  ASSIGN_OR_RETURN(PerfettoWriter writer, PerfettoWriter::Create(request.path));
  writer.AddAttribute("orrery.scenario", scenario.proto.name());
  writer.AddAttribute("orrery.version", std::string(kVersion));
  writer.AddAttribute("orrery.chips", int64_t{scenario.system.chips()});
  writer.AddAttribute("orrery.step_time_ps",
                      EndOf(pools).time_since_epoch().count());
  if (requests != nullptr) {
    writer.AddAttribute("orrery.decode_steps", requests->decode_steps);
    writer.AddAttribute("orrery.decode_steps_drawn", requests->drawn_steps);
  }
  if (pools.size() > 1) writer.Enclose("pools");
  RETURN_IF_ERROR(WritePools(request, scenario, pools, requests, writer));
  return FinishTrace(request, writer);
}

// What the calls of a program carry. Both outlive the result.
CallElements ElementsOf(const ResolvedScenario& scenario,
                        const Program& program) {
  const auto call = [&program](const Role& role, TaskId task) {
    const Task& what = role.task(task);
    return ProgramCall{
        .name = program.name(role.name_of(task)),
        .phase = role.mark(task).phase,
        .what = role.communication(what),
        .of_group = role.slots()[static_cast<SlotId>(what.slot)].calls};
  };
  if (const TrainingPlan* plan = scenario.training()) {
    return [call, plan](const Role& role, TaskId task) {
      return ElementOf(*plan, call(role, task));
    };
  }
  const InferencePlan& plan = *scenario.inference();
  return [call, prefill = ShapeOf(plan, PrefillPasses(plan).front()),
          decode = ShapeOf(plan, DecodePass(plan, plan.prompt()))](
             const Role& role, TaskId task) {
    const ProgramCall made = call(role, task);
    return ElementOf(made.phase == WorkPhase::kDecode ? decode : prefill, made);
  };
}

absl::Status WriteKinetoFiles(const TraceRequest& request,
                              const ResolvedScenario& scenario,
                              absl::Span<const TracedPool> pools) {
  std::error_code error;
  std::filesystem::create_directories(request.path, error);
  if (error) {
    return absl::InvalidArgumentError(fmt::format(
        "cannot make the folder '{}': {}", request.path, error.message()));
  }
  size_t files = 0;
  for (const TracedPool& pool : pools) {
    ASSIGN_OR_RETURN(const std::optional<TimelineOptions> options,
                     OptionsOf(request, pool));
    if (!options) continue;
    const Program& program = pool.run.placed.program;
    const GroupSizes sizes = GroupSizesOf(pool.run);
    const CallElements elements = ElementsOf(scenario, program);
    // Ranks of every pool are numbered from 0.
    const std::string prefix =
        pools.size() == 1 ? ""
                          : absl::StrReplaceAll(pool.name, {{" ", "_"}}) + "_";
    for (const RankId rank : options->ranks) {
      const int32_t number = program.ranks()[rank].number;
      ASSIGN_OR_RETURN(
          KinetoWriter writer,
          KinetoWriter::Create(
              fmt::format("{}/{}rank_{}.json", request.path, prefix, number),
              {.rank = number,
               .world_size = pool.system.chips(),
               .device_name = pool.system.chip().name()}));
      WriteKineto(program, pool.run.spans, sizes, &pool.run.placed.groups, rank,
                  *options, writer, elements);
      RETURN_IF_ERROR(writer.Finish());
      ++files;
    }
  }
  Say(fmt::format("wrote {} files to {}", files, request.path));
  return absl::OkStatus();
}

}  // namespace

void RecordForTrace(RunOptions& options) {
  options.record = true;
  options.detail = true;
}

void RecordForTrace(const TraceRequest& request, RunOptions& options) {
  RecordForTrace(options);
  if (request.from == Time{} && request.to == Time::max()) return;
  options.window = {.from = request.from, .to = request.to};
}

absl::Status WriteTrace(const TraceRequest& request,
                        const ResolvedScenario& scenario,
                        const SimulatedRun& run,
                        const RequestTimeline* requests) {
  const TracedPool whole[] = {RequestPool(scenario, run)};
  return WriteTrace(request, scenario, whole, requests);
}

absl::Status WriteTrace(const TraceRequest& request,
                        const ResolvedScenario& scenario,
                        absl::Span<const TracedPool> pools,
                        const RequestTimeline* requests) {
  RETURN_IF_ERROR(CheckShown(request, pools, requests));
  SayWhatIsDrawn(requests, pools);
  switch (request.format) {
    case TraceFormat::kPerfetto:
      return WritePerfetto(request, scenario, pools, requests);
    case TraceFormat::kKineto:
      return WriteKinetoFiles(request, scenario, pools);
  }
  return absl::OkStatus();
}

absl::StatusOr<SharedTrace> SharedTrace::Create(const TraceRequest& request) {
  if (request.format != TraceFormat::kPerfetto) {
    return absl::InvalidArgumentError(
        "--trace-format: several runs go into one file as perfetto only");
  }
  ASSIGN_OR_RETURN(PerfettoWriter writer, PerfettoWriter::Create(request.path));
  writer.AddAttribute("orrery.version", std::string(kVersion));
  writer.Enclose("comparison");
  return SharedTrace(request, std::move(writer));
}

absl::Status SharedTrace::Add(const std::string& name,
                              const ResolvedScenario& scenario,
                              const SimulatedRun& run,
                              const RequestTimeline* requests) {
  const TracedPool whole[] = {RequestPool(scenario, run)};
  RETURN_IF_ERROR(CheckShown(request_, whole, requests));
  SayWhatIsDrawn(requests, whole);
  writer_.BeginSection(name);
  return WritePools(request_, scenario, whole, requests, writer_);
}

absl::Status SharedTrace::Finish() { return FinishTrace(request_, writer_); }

}  // namespace orrery
