#include "sim/network/collective_library.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace orrery {
namespace {

ProtocolUse UseOf(CommunicationKind kind, CollectiveAlgorithm algorithm) {
  if (algorithm == CollectiveAlgorithm::kSwitchTree) {
    return ProtocolUse::kSwitchTree;
  }
  if (ReducesInNetwork(algorithm)) return ProtocolUse::kInSwitch;
  if (algorithm == CollectiveAlgorithm::kOneShot) return ProtocolUse::kOneShot;
  if (kind == CommunicationKind::kAllToAll ||
      kind == CommunicationKind::kPointToPoint) {
    return ProtocolUse::kPointToPoint;
  }
  return algorithm == CollectiveAlgorithm::kDoubleBinaryTree
             ? ProtocolUse::kTree
             : ProtocolUse::kRing;
}

}  // namespace

bool CollectiveLibrary::Has(CommunicationKind kind,
                            CollectiveAlgorithm algorithm) const {
  const auto& known = calibration_.algorithms;
  const auto has = [&](const std::string& name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  const bool listed_only = algorithm == CollectiveAlgorithm::kOneShot;
  return (known.empty() && !listed_only) ||
         has(std::string(NameOf(algorithm))) ||
         has(fmt::format("{}/{}", NameOf(kind), NameOf(algorithm)));
}

std::vector<CollectiveAlgorithm> CollectiveLibrary::Offered(
    CommunicationKind kind, absl::Span<const CollectiveAlgorithm> applicable,
    bool fabric_tree) const {
  std::vector<CollectiveAlgorithm> offered;
  for (CollectiveAlgorithm algorithm : applicable) {
    if (algorithm == CollectiveAlgorithm::kReductionTree && !fabric_tree &&
        !calibration_.algorithms.empty()) {
      continue;
    }
    if (Has(kind, algorithm)) offered.push_back(algorithm);
  }
  if (offered.empty()) {
    absl::c_copy_if(applicable, std::back_inserter(offered), [](auto each) {
      return each != CollectiveAlgorithm::kOneShot;
    });
  }
  return offered;
}

std::vector<ProtocolPair> CollectiveLibrary::Protocols(
    const Use& use, const std::optional<std::string>& only) const {
  const ProtocolUse purpose =
      use.experts ? ProtocolUse::kExperts : UseOf(use.kind, use.algorithm);
  std::vector<ProtocolPair> pairs;
  const auto wanted = [&](const Protocol* p) {
    return p->Serves(use.nodes) && (!only || p->name == *only);
  };
  // A tree of switches between islands goes on inside them by rings.
  const bool rings_inside =
      use.scale_out && use.algorithm == CollectiveAlgorithm::kReductionTree;
  // Else both tiers go by one name.
  const bool any_inside =
      rings_inside || use.algorithm == CollectiveAlgorithm::kSwitchTree;
  const auto ups = calibration_.For(
      Tier::kScaleUp, rings_inside ? ProtocolUse::kRing : purpose);
  const auto outs = calibration_.For(Tier::kScaleOut, purpose);
  if (!use.scale_out) {
    for (const Protocol* p : ups) {
      if (wanted(p)) pairs.push_back({p, nullptr});
    }
    return pairs;
  }
  for (const Protocol* q : outs) {
    if (!wanted(q)) continue;
    if (!use.scale_up) {
      pairs.push_back({nullptr, q});
      continue;
    }
    for (const Protocol* p : ups) {
      if (!p->Serves(use.nodes)) continue;
      if (any_inside || p->name == q->name) pairs.push_back({p, q});
    }
  }
  return pairs;
}

CallOverhead CollectiveLibrary::Overhead(CommunicationKind kind, Bytes bytes,
                                         size_t ranks,
                                         const ProtocolPair& protocols,
                                         double wire) const {
  CallOverhead overhead;
  double fill = 0;
  for (const Protocol* p : {protocols.scale_up, protocols.scale_out}) {
    if (p == nullptr) continue;
    overhead.base = std::max(overhead.base, p->base_latency);
    fill = std::max(fill, ToSeconds(p->fill_latency));
  }
  double alongside = 2 * std::sqrt(fill * wire);
  const bool has_own_part = kind != CommunicationKind::kPointToPoint &&
                            kind != CommunicationKind::kBroadcast;
  if (calibration_.local_bandwidth && has_own_part) {
    alongside += static_cast<double>(bytes.value()) /
                 static_cast<double>(ranks) /
                 calibration_.local_bandwidth->value();
  }
  overhead.alongside = FromSeconds(alongside);
  return overhead;
}

}  // namespace orrery
