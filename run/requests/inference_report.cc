#include "run/requests/inference_report.h"

#include <algorithm>
#include <utility>

#include "analytic/inference/inference_estimate.h"
#include "base/format.h"
#include "base/status.h"
#include "run/phase_ground.h"
#include "run/requests/inference_cost.h"
#include "run/requests/kv_transfer.h"
#include "run/run_scenario.h"
#include "run/scenario_cost.h"
#include "workload/plan/inference_memory.h"

namespace orrery {
namespace {

absl::StatusOr<RequestEstimate> EstimateRequest(
    const ResolvedScenario& scenario, const PhaseGrounds& grounds) {
  const InferencePlan& plan = *scenario.inference();
  const auto on = [&](PassPurpose phase) {
    const TrainingGround ground = grounds.of(phase);
    return InferenceEstimator::Create(ground.model, ground.system,
                                      ground.kernels);
  };
  ASSIGN_OR_RETURN(InferenceEstimator decode, on(PassPurpose::kDecode));
  if (!plan.disaggregated()) return decode.Request(plan);
  // The decode pool has neither the chips nor the links of the other.
  ASSIGN_OR_RETURN(InferenceEstimator prefill, on(PassPurpose::kPrefill));
  return decode.Request(plan, prefill.PrefillSeconds(plan));
}

void FillEstimates(const InferencePlan& plan, const RequestEstimate& request,
                   double transfer_s, pb::Report::InferenceResult& to) {
  to.set_estimated_prefill_s(request.prefill_s);
  to.set_estimated_end_to_end_s(request.end_to_end_s() + transfer_s);
  if (plan.output() > 1) {
    to.set_estimated_time_per_output_token_s(request.token_s);
  }
}

// Both pools busy all the time, and the network between them.
void FillPools(const InferencePlan& plan, const KvTransfer& transfer,
               double prefill_s, double decode_s, pb::Report::Pools& pools) {
  const double prompts = plan.prefill_batch() / prefill_s;
  const double moved = plan.prefill_batch() / ToSeconds(transfer.time);
  pools.set_prefill_requests_per_s(prompts);
  pools.set_transfer_requests_per_s(moved);
  pools.set_transfer_bytes(transfer.bytes.value());
  pools.set_transfer_s(ToSeconds(transfer.time));
  pools.set_exposed_transfer_s(ToSeconds(transfer.exposed));
  if (decode_s <= 0) return;
  const double decoded = plan.batch() / decode_s;
  pools.set_decode_requests_per_s(decoded);
  pools.set_limiting(moved < std::min(prompts, decoded) ? "transfer"
                     : prompts < decoded                ? "prefill"
                                                        : "decode");
  const auto chips = [](const ParallelLayout& layout) {
    return static_cast<double>(layout.degrees.ranks());
  };
  pools.set_balanced_ratio((decoded / chips(plan.decode())) /
                           (prompts / chips(plan.prefill())));
}

// Of a static batch, one after the other; of separate pools, what the slowest
// lets through.
double RequestsPerSecond(const InferencePlan& plan,
                         const pb::Report::InferenceResult& r) {
  if (!r.has_pools()) return plan.batch() / r.end_to_end_s();
  const pb::Report::Pools& pools = r.pools();
  const double fed =
      std::min(pools.prefill_requests_per_s(), pools.transfer_requests_per_s());
  return pools.has_decode_requests_per_s()
             ? std::min(fed, pools.decode_requests_per_s())
             : fed;
}

// What the chips do in a decode step among others. That in the middle was
// simulated by itself: through a pipeline it fills and drains the stages, which
// are busy with other parts in a row of steps.
std::optional<StepWork> DecodeWork(const InferencePlan& plan,
                                   const InferenceRun& run) {
  if (run.decode_steps == 0) return std::nullopt;
  StepWork work = WorkOf(run.step);
  if (plan.decode().degrees.pipeline > 1) {
    work.time = run.decode / run.decode_steps;
  }
  return work;
}

}  // namespace

void FillInferenceRates(const InferencePlan& plan, pb::Report& report) {
  pb::Report::InferenceResult& r = *report.mutable_inference();
  const double batch = plan.batch();
  const double chips = static_cast<double>(
      plan.decode().degrees.ranks() +
      (plan.disaggregated() ? plan.prefill().degrees.ranks() : 0));
  r.set_output_tokens_per_s(RequestsPerSecond(plan, r) * plan.output());
  r.set_prefill_tokens_per_s(static_cast<double>(plan.prefill_batch()) *
                             plan.prompt() / r.prefill_s());
  report.set_tokens_per_s(r.output_tokens_per_s());
  report.set_tokens_per_s_per_chip(r.output_tokens_per_s() / chips);
  if (r.time_per_output_token_s() <= 0) return;
  r.set_tokens_per_s_per_user(1 / r.time_per_output_token_s());
  r.set_decode_tokens_per_s(batch / r.time_per_output_token_s());
  r.set_decode_tokens_per_s_per_chip(
      r.decode_tokens_per_s() /
      static_cast<double>(plan.decode().degrees.ranks()));
}

void FillInferenceMemory(const ResolvedScenario& scenario, pb::Report& report) {
  const InferencePlan& plan = *scenario.inference();
  const Bytes device = MemoryCapacity(scenario.system);
  const Bytes reserved = scenario.kernels.reserved_memory();
  const InferenceMemory held = MemoryOf(scenario.model, plan, reserved);
  const CacheCapacity capacity =
      CapacityOf(scenario.model, plan, device, reserved);
  pb::Report::Memory& memory = *report.mutable_memory();
  memory.Clear();
  memory.set_peak_bytes(held.total().value());
  memory.set_capacity_bytes(device.value());
  memory.set_fits(capacity.fits);
  memory.set_weights_bytes(held.weights.value());
  memory.set_activations_bytes(held.activations.value());
  memory.set_kv_cache_bytes(held.cache.value());
  memory.set_buffers_bytes(held.buffers.value());
  if (plan.disaggregated()) {
    const Bytes room =
        scenario.prefill ? MemoryCapacity(scenario.prefill->system) : device;
    const Bytes kept = scenario.prefill
                           ? scenario.prefill->kernels.reserved_memory()
                           : reserved;
    for (const InferenceMemory& stage :
         MemoryByStage(scenario.model, plan, PassPurpose::kPrefill, kept)) {
      if (stage.total() <= room) continue;
      memory.set_fits(false);
      report.add_warnings(
          fmt::format("a chip of the prefill pool needs {:.1f} GiB of {:.1f}",
                      static_cast<double>(stage.total().value()) / (1 << 30),
                      static_cast<double>(room.value()) / (1 << 30)));
      break;
    }
  }
  pb::Report::InferenceResult& result = *report.mutable_inference();
  result.set_largest_batch(capacity.largest_batch);
  result.set_longest_context(capacity.longest_context);
}

absl::StatusOr<pb::Report> ReportInference(const ResolvedScenario& scenario,
                                           const InferenceOptions& options) {
  const InferencePlan& plan = *scenario.inference();
  ASSIGN_OR_RETURN(const PhaseGrounds grounds, PhaseGrounds::Make(scenario));
  ASSIGN_OR_RETURN(
      const InferenceRun run,
      RunInference(grounds.of(PassPurpose::kPrefill),
                   grounds.of(PassPurpose::kDecode), plan, options));
  ASSIGN_OR_RETURN(const StepEstimate step, EstimateScenario(scenario));
  ASSIGN_OR_RETURN(const RequestEstimate request,
                   EstimateRequest(scenario, grounds));
  pb::Report report =
      MakeReport(scenario, run.step, step, options.run, /*cost=*/{});
  pb::Report::InferenceResult& result = *report.mutable_inference();
  Duration arrives = run.time_to_first_token;
  double transfer_s = 0;
  if (plan.disaggregated()) {
    ASSIGN_OR_RETURN(const KvTransfer transfer,
                     TransferCache(scenario, run.prefill));
    arrives += transfer.exposed;
    transfer_s = ToSeconds(transfer.exposed);
    FillPools(plan, transfer, ToSeconds(run.prefill), ToSeconds(run.decode),
              *result.mutable_pools());
  }
  result.set_prefill_s(ToSeconds(run.prefill));
  result.set_time_to_first_token_s(ToSeconds(arrives));
  result.set_end_to_end_s(
      ToSeconds(run.end_to_end + (arrives - run.time_to_first_token)));
  result.set_decode_steps(static_cast<int32_t>(run.decode_steps));
  result.set_simulated_steps(run.simulated_steps);
  result.set_integration_error(run.integration_error);
  if (plan.output() > 1) {
    result.set_time_per_output_token_s(ToSeconds(run.time_per_output_token));
  }
  if (run.decode_steps > 0) {
    result.set_first_step_s(ToSeconds(run.first_step));
    result.set_last_step_s(ToSeconds(run.last_step));
  }
  if (plan.speculation()) {
    result.set_tokens_per_step(plan.speculation()->TokensPerStep());
  }
  FillEstimates(plan, request, transfer_s, result);
  FillInferenceMemory(scenario, report);
  FillInferenceRates(plan, report);
  FillInferenceCost(
      scenario, {.prefill = run.prefill_work, .decode = DecodeWork(plan, run)},
      report);
  return report;
}

absl::StatusOr<pb::Report> EstimateInference(const ResolvedScenario& scenario) {
  const InferencePlan& plan = *scenario.inference();
  ASSIGN_OR_RETURN(const PhaseGrounds grounds, PhaseGrounds::Make(scenario));
  ASSIGN_OR_RETURN(const StepEstimate step, EstimateScenario(scenario));
  ASSIGN_OR_RETURN(const RequestEstimate request,
                   EstimateRequest(scenario, grounds));
  pb::Report report;
  report.set_scenario(scenario.proto.name());
  report.set_step_time_s(step.step_s());
  FillEstimate(step, *report.mutable_estimate());
  pb::Report::InferenceResult& result = *report.mutable_inference();
  double transfer_s = 0;
  if (plan.disaggregated()) {
    const Duration prefill = FromSeconds(request.prefill_s);
    ASSIGN_OR_RETURN(const KvTransfer transfer,
                     TransferCache(scenario, prefill));
    transfer_s = ToSeconds(transfer.exposed);
    FillPools(plan, transfer, request.prefill_s, request.decode_s,
              *result.mutable_pools());
  }
  result.set_prefill_s(request.prefill_s);
  result.set_time_to_first_token_s(request.prefill_s + transfer_s +
                                   request.first_s);
  result.set_end_to_end_s(request.end_to_end_s() + transfer_s);
  if (plan.output() > 1) {
    result.set_time_per_output_token_s(request.token_s);
  }
  FillInferenceMemory(scenario, report);
  FillInferenceRates(plan, report);
  AddWarnings(scenario, report);
  FillInferenceCost(scenario, {}, report);
  return report;
}

}  // namespace orrery
