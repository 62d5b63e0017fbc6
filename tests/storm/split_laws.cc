#include "tests/storm/split_laws.h"

#include <array>
#include <map>
#include <utility>

#include "base/format.h"
#include "base/units_text.h"
#include "run/inference_run.h"
#include "run/phase_ground.h"
#include "run/run_scenario.h"

namespace orrery {
namespace {

std::array<int64_t, kDimensions> BytesByDimension(const SimulatedRun& run) {
  std::array<int64_t, kDimensions> bytes{};
  const Program& program = run.placed.program;
  for (const Role& role : program.roles()) {
    for (const RoleSlot& slot : role.slots()) {
      const auto dimension = program.streams()[slot.stream].dimension;
      if (!dimension) continue;
      for (const Communication& call : slot.calls) {
        bytes[static_cast<size_t>(*dimension)] += call.bytes.value();
      }
    }
  }
  return bytes;
}

// A host that takes no time, so that no step is as long as its launches
// whatever the chips do.
void FreeHost(pb::Scenario& proto) {
  proto.mutable_framework()->clear_dispatch();
  proto.mutable_framework()->clear_blocking_launches();
  if (!proto.has_inference()) return;
  pb::Engine& engine = *proto.mutable_inference()->mutable_engine();
  for (auto* field :
       {engine.mutable_host_launch(), engine.mutable_graph_start(),
        engine.mutable_collective_launch(), engine.mutable_step_overhead(),
        engine.mutable_sequence_overhead(),
        engine.mutable_request_overhead()}) {
    *field = "0 us";
  }
}

// With every exchange waited for, so that none is hidden.
std::optional<Duration> TimeOf(const ResolvedScenario& scenario) {
  const RunOptions serial{.waited = DimensionSet::All(), .chip_sharing = false};
  if (scenario.training() != nullptr) {
    const auto network = Network::Make(scenario.system);
    if (!network.ok()) return std::nullopt;
    const auto run = RunScenario(scenario, *network, serial);
    if (!run.ok()) return std::nullopt;
    return run->result.end.time_since_epoch();
  }
  const auto grounds = PhaseGrounds::Make(scenario);
  if (!grounds.ok()) return std::nullopt;
  const InferencePlan& plan = *scenario.inference();
  const InferencePass pass = PrefillPasses(plan)[0];
  auto simulator = InferenceSimulator::Create(grounds->of(pass.purpose), plan);
  if (!simulator.ok()) return std::nullopt;
  const auto time = simulator->StepTime(pass, serial);
  if (!time.ok()) return std::nullopt;
  return *time;
}

}  // namespace

std::optional<std::string> WhySplitForNothing(const SimulatedRun& run,
                                              const Degrees& degrees,
                                              bool sum_gradients) {
  const auto bytes = BytesByDimension(run);
  for (const auto& [dimension, degree] :
       {std::pair(Dimension::kTensor, degrees.tensor),
        std::pair(Dimension::kContext, degrees.context),
        std::pair(Dimension::kExpert, degrees.expert),
        std::pair(Dimension::kPipeline, degrees.pipeline),
        std::pair(Dimension::kData,
                  sum_gradients ? degrees.data * degrees.context : 1)}) {
    if (degree == 1 || bytes[static_cast<size_t>(dimension)] > 0) continue;
    return fmt::format("{} {} moves nothing", NameOf(dimension), degree);
  }
  return std::nullopt;
}

void CheckContextMethods(const ResolvedScenario& scenario, StormSheet& sheet) {
  std::map<Duration, std::string> times;
  for (const auto method :
       {pb::Training::CONTEXT_RING, pb::Training::CONTEXT_ALL_GATHER,
        pb::Training::CONTEXT_ULYSSES}) {
    pb::Scenario proto = scenario.proto;
    if (scenario.training() != nullptr) {
      proto.mutable_training()->set_context_method(method);
    } else {
      proto.mutable_inference()->set_context_method(method);
    }
    FreeHost(proto);
    const auto other = MakeScenario(std::move(proto));
    // Only Ulysses needs heads that divide.
    if (method != pb::Training::CONTEXT_ULYSSES) {
      sheet.Hold("a legal case runs", other.ok(), other.status().ToString());
    }
    if (!other.ok()) continue;
    const auto time = TimeOf(*other);
    if (!time) continue;
    const std::string name = pb::Training::ContextMethod_Name(method);
    const auto [entry, added] = times.try_emplace(*time, name);
    sheet.Hold("context methods differ", added,
               fmt::format("{} and {} both take {}", entry->second, name,
                           SecondsText(ToSeconds(*time))));
  }
}

}  // namespace orrery
