#include "workload/plan/collective_buffers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "workload/plan/stage.h"

namespace orrery {
namespace {

// Of the first rank, which the chips of the second stage catch up with.
constexpr int kPassesInStep = 2;

Bytes Scattered(const std::vector<LayerStep>& steps) {
  Bytes sum;
  for (const LayerStep& step : steps) {
    const Exchange* exchange = step.exchange();
    if (exchange != nullptr && exchange->group == ExchangeGroup::kTensor &&
        exchange->kind == ExchangeKind::kReduceScatter) {
      sum += exchange->bytes;
    }
  }
  return sum;
}

// Launches between the host and its chip at the end of a forward pass.
int64_t LaunchesAhead(const TrainingPlan& plan, int rank,
                      const UnitCalls& calls) {
  const Framework& framework = plan.framework();
  if (framework.blocking_launches) return 0;
  const int64_t forward = calls.forward_launches;
  const int64_t micro_batches = plan.micro_batches();
  const bool compares = framework.collective_check > Duration(0);
  const int stages = plan.degrees().pipeline;
  int64_t since = forward;
  if (stages == 1) {
    since += (micro_batches - 1) * (forward + calls.backward_launches);
    if (compares) since = 0;
  } else {
    const bool waits = rank > 0 && framework.host_waits_for_receive;
    const int64_t passes =
        waits ? 1 : std::min<int64_t>(stages - rank, micro_batches);
    since = (compares ? std::max<int64_t>(0, passes - kPassesInStep) : passes) *
            forward;
  }
  return std::min<int64_t>(since, framework.launch_queue);
}

Bytes InFlightBytes(const TrainingPlan& plan, int pipeline_rank,
                    const UnitCalls& calls) {
  const int64_t ahead = LaunchesAhead(plan, pipeline_rank, calls);
  if (ahead == 0) return Bytes(0);
  const auto bytes_of = [](int64_t launches, Bytes all, int64_t of) {
    return Bytes(std::llround(static_cast<double>(all.value()) *
                              static_cast<double>(launches) /
                              static_cast<double>(of)));
  };
  const int64_t forward = calls.forward_launches;
  // Forward passes follow one another before the first receive; elsewhere
  // backward passes stand between them.
  if (plan.degrees().pipeline > 1 || ahead <= forward) {
    return bytes_of(ahead, calls.forward_scattered, forward);
  }
  return calls.forward_scattered +
         bytes_of(ahead - forward,
                  calls.forward_scattered + calls.backward_scattered,
                  forward + calls.backward_launches);
}

}  // namespace

UnitCalls& UnitCalls::operator+=(const UnitCalls& other) {
  forward_launches += other.forward_launches;
  backward_launches += other.backward_launches;
  forward_scattered += other.forward_scattered;
  backward_scattered += other.backward_scattered;
  largest_gathered = std::max(largest_gathered, other.largest_gathered);
  return *this;
}

UnitCalls CallsOf(const LayerOps& ops, const TrainingPlan& plan) {
  const std::vector<LayerStep> again = RecomputedSteps(ops, plan);
  UnitCalls calls{
      .forward_launches = CountLaunches(ops.forward),
      .backward_launches = CountLaunches(ops.input_gradient) +
                           CountLaunches(ops.weight_gradient) +
                           CountLaunches(again),
      .forward_scattered = Scattered(ops.forward),
      .backward_scattered = Scattered(ops.input_gradient) + Scattered(again)};
  for (const LayerStep& step : ops.forward) {
    const Exchange* exchange = step.exchange();
    if (exchange != nullptr && exchange->group == ExchangeGroup::kTensor &&
        exchange->kind == ExchangeKind::kAllGather) {
      calls.largest_gathered =
          std::max(calls.largest_gathered, exchange->bytes);
    }
  }
  return calls;
}

Bytes CollectiveBufferBytes(const TrainingPlan& plan, int pipeline_rank,
                            const UnitCalls& calls) {
  return calls.largest_gathered * plan.framework().gather_buffers +
         InFlightBytes(plan, pipeline_rank, calls);
}

}  // namespace orrery
