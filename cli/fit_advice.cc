#include "cli/fit_advice.h"

#include <algorithm>
#include <utility>

#include "analytic/step_estimate.h"
#include "base/format.h"
#include "cli/report_text.h"
#include "cli/training_report.h"

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

std::vector<FitAdvice> AdviseFit(const ResolvedScenario& scenario) {
  std::vector<FitAdvice> advice;
  auto estimator = StepEstimator::Create(scenario.model, scenario.system);
  if (!estimator.ok()) return advice;
  for (const Change& change : Changes(scenario.proto.training())) {
    // A change that breaks another rule of the plan is no advice.
    const auto plan =
        Plan::FromProto(change.plan, scenario.model, scenario.system);
    if (!plan.ok()) continue;
    const StepEstimate estimate = estimator->Estimate(*plan);
    if (estimate.peak > MemoryCapacity(scenario.system)) continue;
    advice.push_back(
        {change.settings, estimate.peak.value(), estimate.step_s()});
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const FitAdvice& a, const FitAdvice& b) {
                     return a.step_s < b.step_s;
                   });
  return advice;
}

std::string AdviceText(const std::vector<FitAdvice>& advice) {
  if (advice.empty()) {
    return "no single change of recomputation, sharding, tensor or pipeline "
           "degree or micro-batch makes it fit\n";
  }
  std::string text = "it would fit with any of these (closed form):\n";
  for (const FitAdvice& one : advice) {
    std::string settings;
    for (const std::string& setting : one.settings) {
      settings += fmt::format(" --set {}", setting);
    }
    text += fmt::format(" {:<66} {:>10}, step {}\n", settings,
                        BytesText(one.peak_bytes), SecondsText(one.step_s));
  }
  return text;
}

}  // namespace orrery
