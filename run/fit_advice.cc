#include "run/fit_advice.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "analytic/step/step_estimate.h"
#include "base/format.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "catalog/textproto.h"
#include "run/report.h"
#include "run/run_scenario.h"

namespace orrery {
namespace {

// A change of the plan, as one would type it.
using Settings = std::vector<std::string>;

std::vector<Settings> Changes(const pb::Training& from) {
  std::vector<Settings> changes;
  const auto recompute = [&](pb::Training::Recompute mode) {
    if (from.recompute() >= mode) return;
    Settings& settings = changes.emplace_back();
    if (from.recompute_module_size() > 0) {
      settings.push_back("training.recompute_module=");
    }
    settings.push_back(fmt::format("training.recompute={}",
                                   pb::Training::Recompute_Name(mode)));
  };
  recompute(pb::Training::RECOMPUTE_SELECTIVE);
  recompute(pb::Training::RECOMPUTE_FULL);
  for (int stage = from.sharding() + 1; stage <= pb::Training::ZERO_3;
       ++stage) {
    changes.push_back(
        {fmt::format("training.sharding={}",
                     pb::Training::Sharding_Name(
                         static_cast<pb::Training::Sharding>(stage)))});
  }
  const int data = from.parallel().data();
  for (int factor = 2; factor <= 8; factor *= 2) {
    if (data % factor != 0) break;
    const std::string rest =
        fmt::format("training.parallel.data={}", data / factor);
    changes.push_back({fmt::format("training.parallel.tensor={}",
                                   from.parallel().tensor() * factor),
                       rest});
    changes.push_back({fmt::format("training.parallel.pipeline={}",
                                   from.parallel().pipeline() * factor),
                       rest});
  }
  for (int micro = from.micro_batch() / 2; micro >= 1; micro /= 2) {
    changes.push_back({fmt::format("training.micro_batch={}", micro)});
  }
  return changes;
}

// What typing the settings gives: defaults of choices that they bring with them
// included. Nothing if they break another rule of the plan.
std::optional<ResolvedScenario> With(const ResolvedScenario& scenario,
                                     const Settings& settings) {
  const Catalog catalog;
  auto proto = ResolveScenarioText(catalog, PrintTextproto(scenario.proto),
                                   scenario.proto.name(), settings);
  if (!proto.ok()) return std::nullopt;
  auto changed = MakeScenario(*std::move(proto));
  if (!changed.ok()) return std::nullopt;
  return *std::move(changed);
}

}  // namespace

std::vector<pb::Report::Memory::Change> AdviseFit(
    const ResolvedScenario& scenario, const RunOptions& options,
    const std::function<void(std::string_view, double)>& progress) {
  // The closed form knows peaks well, not to the byte.
  constexpr double kFarBeyond = 1.25;
  std::vector<pb::Report::Memory::Change> advice;
  if (scenario.training() == nullptr) return advice;
  auto estimator =
      StepEstimator::Create(scenario.model, scenario.system, scenario.kernels);
  const auto network = Network::Make(scenario.system);
  if (!estimator.ok() || !network.ok()) return advice;
  const Bytes capacity = MemoryCapacity(scenario.system);
  const std::vector<Settings> changes = Changes(scenario.proto.training());
  RunOptions quiet = options;
  quiet.record = false;
  quiet.progress = {};
  for (size_t i = 0; i < changes.size(); ++i) {
    if (progress) {
      progress("trying what would fit",
               static_cast<double>(i) / static_cast<double>(changes.size()));
    }
    const std::optional<ResolvedScenario> changed = With(scenario, changes[i]);
    // A change that breaks another rule of the plan is no advice.
    if (!changed) continue;
    const TrainingPlan& plan = *changed->training();
    const auto estimate =
        static_cast<double>(estimator->Estimate(plan).peak.value());
    if (estimate > kFarBeyond * static_cast<double>(capacity.value())) continue;
    const auto run = RunScenario(*changed, *network, quiet);
    if (!run.ok()) continue;
    const Bytes needed = MemoryNeeded(plan, scenario.kernels, run->memory);
    if (needed > capacity) continue;
    pb::Report::Memory::Change& change = advice.emplace_back();
    for (const std::string& setting : changes[i]) {
      change.add_settings(setting);
    }
    change.set_peak_bytes(needed.value());
    change.set_step_time_s(ToSeconds(run->result.end));
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const auto& a, const auto& b) {
                     return a.step_time_s() < b.step_time_s();
                   });
  return advice;
}

}  // namespace orrery
