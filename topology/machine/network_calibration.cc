#include "topology/machine/network_calibration.h"

#include <algorithm>

#include "base/excerpt.h"
#include "base/format.h"
#include "proto/system.pb.h"
#include "topology/traffic/collective_algorithm.h"
#include "topology/traffic/communication_kind.h"

namespace orrery {
namespace {

std::optional<ProtocolUse> ReadUse(const FieldReader& fields) {
  if (!fields.Has("use")) return std::nullopt;
  switch (fields.Enum<pb::CollectiveCalibration::Use>("use")) {
    case pb::CollectiveCalibration::IN_SWITCH:
      return ProtocolUse::kInSwitch;
    case pb::CollectiveCalibration::POINT_TO_POINT:
      return ProtocolUse::kPointToPoint;
    case pb::CollectiveCalibration::RING:
      return ProtocolUse::kRing;
    case pb::CollectiveCalibration::TREE:
      return ProtocolUse::kTree;
    case pb::CollectiveCalibration::ONE_SHOT:
      return ProtocolUse::kOneShot;
    case pb::CollectiveCalibration::EXPERTS:
      return ProtocolUse::kExperts;
    case pb::CollectiveCalibration::SWITCH_TREE:
      return ProtocolUse::kSwitchTree;
    case pb::CollectiveCalibration::RING_AND_TREE:
    case pb::CollectiveCalibration::USE_UNSPECIFIED:  // refused by the reader
      break;
  }
  return ProtocolUse::kRingAndTree;
}

Protocol ReadProtocol(const FieldReader& fields, Duration base_latency) {
  const auto tier = fields.Enum<pb::CollectiveCalibration::Tier>("tier");
  Protocol protocol{
      .name = fields.Text("name"),
      .tier = tier == pb::CollectiveCalibration::SCALE_OUT ? Tier::kScaleOut
                                                           : Tier::kScaleUp,
      .step_latency = fields.NonNegative<Duration>("step_latency"),
      .efficiency = fields.Efficiency("efficiency"),
      .fill_latency = fields.Has("fill_latency")
                          ? fields.NonNegative<Duration>("fill_latency")
                          : Duration(0),
      .base_latency = fields.Has("base_latency")
                          ? fields.NonNegative<Duration>("base_latency")
                          : base_latency,
      .use = ReadUse(fields)};
  if (fields.Has("efficiency_across")) {
    protocol.efficiency_across = fields.Efficiency("efficiency_across");
    if (protocol.tier == Tier::kScaleOut) {
      fields.Refuse("efficiency_across",
                    "is of SCALE_UP: what crosses the network always leaves");
    }
  }
  protocol.most_nodes = fields.OptionalCount("most_nodes", 1, 1'000'000);
  return protocol;
}

bool IsOperation(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(CommunicationKind::kPointToPoint);
       ++i) {
    if (NameOf(static_cast<CommunicationKind>(i)) == name) return true;
  }
  return false;
}

std::string AlgorithmNames() {
  std::string names;
  for (int i = 0; i <= static_cast<int>(kLastCollectiveAlgorithm); ++i) {
    if (i > 0) names += ", ";
    names += NameOf(static_cast<CollectiveAlgorithm>(i));
  }
  return names;
}

bool IsAlgorithm(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(kLastCollectiveAlgorithm); ++i) {
    if (NameOf(static_cast<CollectiveAlgorithm>(i)) == name) return true;
  }
  return false;
}

// "ring" or "all_reduce/ring".
std::vector<std::string> ReadAlgorithms(const FieldReader& fields) {
  std::vector<std::string> names = fields.Texts("algorithm");
  for (const std::string& text : names) {
    const size_t slash = text.find('/');
    const bool known =
        slash == std::string::npos
            ? IsAlgorithm(text)
            : IsOperation(std::string_view(text).substr(0, slash)) &&
                  IsAlgorithm(std::string_view(text).substr(slash + 1));
    if (!known) {
      fields.Refuse("algorithm",
                    fmt::format("'{}' is not an algorithm, or one of an "
                                "operation as in all_reduce/nvls; there are {}",
                                Excerpt(text), AlgorithmNames()));
    }
  }
  return names;
}

}  // namespace

bool NetworkCalibration::Covers(Tier tier) const {
  return std::any_of(protocols.begin(), protocols.end(),
                     [&](const Protocol& p) { return p.tier == tier; });
}

std::vector<const Protocol*> NetworkCalibration::For(Tier tier,
                                                     ProtocolUse use) const {
  std::vector<const Protocol*> meant;
  std::vector<const Protocol*> shared;
  std::vector<const Protocol*> any;
  for (const Protocol& p : protocols) {
    if (p.tier != tier) continue;
    if (p.use == use ||
        (use == ProtocolUse::kRingAndTree && p.use == ProtocolUse::kRing)) {
      meant.push_back(&p);
    }
    if (p.use == ProtocolUse::kRingAndTree) shared.push_back(&p);
    if (!p.use) any.push_back(&p);
  }
  if (meant.empty() && use == ProtocolUse::kExperts) {
    return For(tier, ProtocolUse::kPointToPoint);
  }
  if (meant.empty() && use == ProtocolUse::kSwitchTree) {
    return For(tier, tier == Tier::kScaleUp ? ProtocolUse::kInSwitch
                                            : ProtocolUse::kTree);
  }
  return !meant.empty() ? meant : !shared.empty() ? shared : any;
}

NetworkCalibration ReadNetworkCalibration(const FieldReader& fields) {
  NetworkCalibration calibration = {
      .library = fields.Text("library"),
      .protocols = {},
      .base_latency = fields.NonNegative<Duration>("base_latency"),
      .algorithms = ReadAlgorithms(fields),
      .local_bandwidth =
          fields.OptionalPositive<BytesPerSecond>("local_bandwidth"),
      .compute_share = fields.Share("compute_share"),
      .memory_share = fields.Share("memory_share")};
  for (const FieldReader& protocol : fields.Each("protocol")) {
    calibration.protocols.push_back(
        ReadProtocol(protocol, calibration.base_latency));
  }
  return calibration;
}

}  // namespace orrery
