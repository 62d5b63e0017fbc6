#include "run/requests/kv_transfer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"
#include "sim/network/run_plans.h"
#include "workload/model/kv_cache.h"

namespace orrery {
namespace {

// More transfers at once are those of the first nodes of each pool.
constexpr int64_t kMostFlows = 512;

// Bytes of one prompt on a tensor rank, of all its context ranks together, by
// stage.
std::vector<Bytes> ByStage(const Model& model, const InferencePlan& plan,
                           const ParallelLayout& layout) {
  std::vector<Bytes> stages;
  int layer = 0;
  for (const int layers : layout.layers_per_stage) {
    Bytes sum;
    for (int i = 0; i < layers; ++i, ++layer) {
      const std::optional<int> window = model.Window(layer);
      const int64_t held =
          window ? std::min<int64_t>(plan.prompt(), *window) : plan.prompt();
      sum += StorageBytes(
          plan.kv_precision(),
          held * KvCacheElementsPerTokenAndLayer(model, layout.degrees.tensor));
    }
    stages.push_back(sum);
  }
  return stages;
}

// Between so many senders and so many receivers, which lie one after the other
// from `from` and `to` on.
struct Traffic {
  int64_t from = 0;
  int64_t senders = 1;
  int64_t to = 0;
  int64_t receivers = 1;
  // Of each receiver.
  double received = 0;
};

// When all of it is there. Senders and receivers have equal shares.
absl::StatusOr<Duration> TimeOf(const Network& network,
                                const Traffic& traffic) {
  CallPlanner planner(network);
  const int64_t flows = std::max(traffic.senders, traffic.receivers);
  const double bytes = traffic.received *
                       static_cast<double>(traffic.receivers) /
                       static_cast<double>(flows);
  const auto vertex = [&](int64_t first, int64_t count, int64_t flow) {
    return static_cast<VertexId>(
        static_cast<int32_t>(first + flow * count / flows));
  };
  std::vector<StartedPlan> plans;
  for (int64_t i = 0; i < std::min(flows, kMostFlows); ++i) {
    ASSIGN_OR_RETURN(
        PlannedCall call,
        planner.Plan({CommunicationKind::kPointToPoint,
                      Bytes(std::max<int64_t>(1, std::llround(bytes))),
                      {vertex(traffic.from, traffic.senders, i),
                       vertex(traffic.to, traffic.receivers, i)}}));
    plans.push_back({std::move(call.plan), Time{}});
  }
  Duration last{};
  for (const Time end : RunPlans(network.resources().capacities(), plans)) {
    last = std::max(last, end - Time{});
  }
  return last;
}

// A machine with as many nodes again, for whom the cache is or from whom it
// comes. Where its fabric has no room for them a switch stands for what would
// join the two.
absl::StatusOr<Network> WithOtherEnd(const pb::System& system,
                                     const pb::Inference& inference) {
  const int nodes = 2 * system.nodes();
  const auto make = [&](const pb::System& of) -> absl::StatusOr<Network> {
    ASSIGN_OR_RETURN(const System twice, SystemOf(of, inference, nodes));
    return Network::Make(twice);
  };
  absl::StatusOr<Network> network = make(system);
  if (network.ok() || !system.has_scale_out()) return network;
  pb::System joined = system;
  pb::Fabric& fabric = *joined.mutable_scale_out()->mutable_fabric();
  fabric.mutable_switch_()->set_planes(1);
  fabric.mutable_switch_()->set_links_per_endpoint(1);
  fabric.set_routing(pb::Fabric::SPRAY);
  return make(joined);
}

// Of the ways that a transfer takes, each with its network: the slowest.
class Ways {
 public:
  static absl::StatusOr<Ways> Make(const ResolvedScenario& scenario,
                                   int64_t senders, int64_t receivers) {
    Ways ways;
    if (!scenario.prefill) {
      ASSIGN_OR_RETURN(Network network, Network::Make(scenario.system));
      ways.ways_.emplace_back(std::move(network),
                              Traffic{0, senders, senders, receivers});
      return ways;
    }
    const pb::Inference& proto = scenario.proto.inference();
    ASSIGN_OR_RETURN(
        Network out,
        WithOtherEnd(proto.disaggregated().prefill_system(), proto));
    // Everybody sends what the receivers get together.
    ways.ways_.emplace_back(std::move(out),
                            Traffic{0, senders, senders, senders});
    ASSIGN_OR_RETURN(Network in, WithOtherEnd(scenario.proto.system(), proto));
    ways.ways_.emplace_back(std::move(in), Traffic{scenario.system.chips(),
                                                   receivers, 0, receivers});
    return ways;
  }

  // With so many bytes for all receivers together.
  absl::StatusOr<Duration> Slowest(double bytes) const {
    Duration slowest{};
    for (const auto& [network, where] : ways_) {
      Traffic traffic = where;
      traffic.received = bytes / static_cast<double>(where.receivers);
      ASSIGN_OR_RETURN(const Duration time, TimeOf(network, traffic));
      slowest = std::max(slowest, time);
    }
    return slowest;
  }

 private:
  std::vector<std::pair<Network, Traffic>> ways_;
};

}  // namespace

absl::StatusOr<KvTransfer> TransferCache(const ResolvedScenario& scenario,
                                         Duration prefill) {
  const InferencePlan& plan = *scenario.inference();
  const Model& model = scenario.model;
  const Degrees& decode = plan.decode().degrees;
  const int64_t prompts = plan.prefill_batch();
  // Prompts of a replica, and replicas that get any.
  const int64_t each = (prompts + decode.data - 1) / decode.data;
  const int64_t replicas = std::min<int64_t>(prompts, decode.data);
  const std::vector<Bytes> stages = ByStage(model, plan, plan.decode());
  KvTransfer transfer;
  transfer.bytes =
      KvCacheBytes(model, plan.prompt(), Bits(plan.kv_precision()));
  for (const Bytes stage : stages) {
    transfer.moved += stage * (decode.tensor * prompts);
  }
  // As if every rank got as much as the fullest.
  const int64_t receivers = decode.ranks() / decode.data * replicas;
  const double fullest =
      static_cast<double>(
          std::max_element(stages.begin(), stages.end())->value()) /
      decode.context * static_cast<double>(each);
  const double all = fullest * static_cast<double>(receivers);
  ASSIGN_OR_RETURN(
      const Ways ways,
      Ways::Make(scenario, plan.prefill().degrees.ranks(), receivers));
  ASSIGN_OR_RETURN(transfer.time, ways.Slowest(all));
  const int layers = model.layers() / plan.prefill().degrees.pipeline;
  ASSIGN_OR_RETURN(const Duration last_layer, ways.Slowest(all / layers));
  const Duration hidden = prefill * (layers - 1) / layers;
  transfer.exposed =
      std::max(last_layer,
               transfer.time > hidden ? transfer.time - hidden : Duration(0));
  return transfer;
}

}  // namespace orrery
