#include "run/kv_transfer.h"

#include <algorithm>

#include "base/status.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"
#include "workload/model/kv_cache.h"

namespace orrery {
namespace {

// Bytes of one prompt on each rank of a phase that holds a part of its own, and
// so many ranks hold the same.
Bytes OnRank(const Model& model, const InferencePlan& plan,
             const ParallelLayout& layout) {
  Bytes most;
  int layer = 0;
  for (const int layers : layout.layers_per_stage) {
    Bytes sum;
    for (int i = 0; i < layers; ++i, ++layer) {
      const std::optional<int> window = model.Window(layer);
      const int64_t held =
          window ? std::min<int64_t>(plan.prompt(), *window) : plan.prompt();
      sum += StorageBytes(
          plan.kv_precision(),
          held * KvCacheElementsPerTokenAndLayer(model, layout.degrees.tensor) /
              layout.degrees.context);
    }
    most = std::max(most, sum);
  }
  return most;
}

// Tensor ranks with the same part of the cache.
int Copies(const Model& model, const ParallelLayout& layout) {
  const Attention& a = model.attention();
  const int heads = a.is_latent() ? 1 : a.kv_heads;
  return std::max(1, layout.degrees.tensor / heads);
}

}  // namespace

absl::StatusOr<KvTransfer> TransferCache(const ResolvedScenario& scenario,
                                         Duration prefill) {
  const InferencePlan& plan = *scenario.inference();
  const Model& model = scenario.model;
  ASSIGN_OR_RETURN(const Network network, Network::Make(scenario.system));
  CallPlanner planner(network);
  const auto vertex = [](int64_t chip) {
    return static_cast<VertexId>(static_cast<int32_t>(chip));
  };
  // Ranks with the same part take turns in sending it.
  const Bytes sent = Bytes(OnRank(model, plan, plan.prefill()).value() /
                           Copies(model, plan.prefill()));
  const Bytes received = OnRank(model, plan, plan.decode());
  const int64_t sequences = plan.prefill_batch() / plan.prefill().degrees.data;
  const Bytes most = std::max(sent, received) * sequences;
  const auto time = [&](Bytes bytes) -> absl::StatusOr<Duration> {
    ASSIGN_OR_RETURN(
        const PlannedCall call,
        planner.Plan({CommunicationKind::kPointToPoint,
                      bytes,
                      {vertex(0), vertex(plan.prefill().degrees.ranks())}}));
    return call.solo;
  };
  KvTransfer transfer;
  transfer.bytes =
      KvCacheBytes(model, plan.prompt(), Bits(plan.kv_precision()));
  ASSIGN_OR_RETURN(transfer.time, time(most));
  const int layers = model.layers() / plan.prefill().degrees.pipeline;
  const Bytes last(std::max<int64_t>(1, most.value() / layers));
  ASSIGN_OR_RETURN(const Duration last_layer, time(last));
  const Duration hidden = prefill * (layers - 1) / layers;
  transfer.exposed =
      std::max(last_layer,
               transfer.time > hidden ? transfer.time - hidden : Duration(0));
  return transfer;
}

}  // namespace orrery
