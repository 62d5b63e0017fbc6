#include "run/fit_advice.h"

#include <algorithm>
#include <utility>

#include "analytic/step/step_estimate.h"
#include "base/format.h"
#include "run/report.h"
#include "run/training_run.h"

namespace orrery {
namespace {

// A change of the plan: fields of pb::Training and how one would type them.
struct Change {
  pb::Training plan;
  std::vector<std::string> settings;
};

std::vector<Change> Changes(const pb::Training& from) {
  std::vector<Change> changes;
  const auto add = [&](auto edit, std::vector<std::string> settings) {
    pb::Training plan = from;
    edit(plan);
    changes.push_back({std::move(plan), std::move(settings)});
  };
  const auto recompute = [&](pb::Training::Recompute mode) {
    if (from.recompute() >= mode) return;
    add(
        [mode](pb::Training& p) {
          p.set_recompute(mode);
          p.clear_recompute_module();
        },
        {fmt::format("training.recompute={}",
                     pb::Training::Recompute_Name(mode))});
  };
  recompute(pb::Training::RECOMPUTE_SELECTIVE);
  recompute(pb::Training::RECOMPUTE_FULL);
  for (int stage = from.sharding() + 1; stage <= pb::Training::ZERO_3;
       ++stage) {
    const auto sharding = static_cast<pb::Training::Sharding>(stage);
    add([sharding](pb::Training& p) { p.set_sharding(sharding); },
        {fmt::format("training.sharding={}",
                     pb::Training::Sharding_Name(sharding))});
  }
  const int data = from.parallel().data();
  for (int factor = 2; factor <= 8; factor *= 2) {
    if (data % factor != 0) break;
    const int tensor = from.parallel().tensor() * factor;
    const int pipeline = from.parallel().pipeline() * factor;
    add(
        [&](pb::Training& p) {
          p.mutable_parallel()->set_tensor(tensor);
          p.mutable_parallel()->set_data(data / factor);
        },
        {fmt::format("training.parallel.tensor={}", tensor),
         fmt::format("training.parallel.data={}", data / factor)});
    add(
        [&](pb::Training& p) {
          p.mutable_parallel()->set_pipeline(pipeline);
          p.mutable_parallel()->set_data(data / factor);
        },
        {fmt::format("training.parallel.pipeline={}", pipeline),
         fmt::format("training.parallel.data={}", data / factor)});
  }
  for (int micro = from.micro_batch() / 2; micro >= 1; micro /= 2) {
    add([micro](pb::Training& p) { p.set_micro_batch(micro); },
        {fmt::format("training.micro_batch={}", micro)});
  }
  return changes;
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
  const std::vector<Change> changes = Changes(scenario.proto.training());
  RunOptions quiet = options;
  quiet.record = false;
  quiet.progress = {};
  for (size_t i = 0; i < changes.size(); ++i) {
    if (progress) {
      progress("trying what would fit",
               static_cast<double>(i) / static_cast<double>(changes.size()));
    }
    // A change that breaks another rule of the plan is no advice.
    const auto plan = TrainingPlan::FromProto(
        changes[i].plan, scenario.model, scenario.system,
        scenario.training()->framework(), scenario.training()->variation());
    if (!plan.ok()) continue;
    const auto estimate =
        static_cast<double>(estimator->Estimate(*plan).peak.value());
    if (estimate > kFarBeyond * static_cast<double>(capacity.value())) continue;
    const auto run = RunTraining(
        {scenario.model, scenario.system, scenario.kernels, *network}, *plan,
        quiet);
    if (!run.ok()) continue;
    const Bytes needed = MemoryNeeded(*plan, scenario.kernels, run->memory);
    if (needed > capacity) continue;
    pb::Report::Memory::Change& change = advice.emplace_back();
    for (const std::string& setting : changes[i].settings) {
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
