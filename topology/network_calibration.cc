#include "topology/network_calibration.h"

#include <algorithm>

#include "proto/system.pb.h"

namespace orrery {
namespace {

constexpr int kMaxChannels = 4096;

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
    case pb::CollectiveCalibration::RING_AND_TREE:
    case pb::CollectiveCalibration::USE_UNSPECIFIED:  // refused by the reader
      break;
  }
  return ProtocolUse::kRingAndTree;
}

Protocol ReadProtocol(const FieldReader& fields, Duration base_latency) {
  const auto tier = fields.Enum<pb::CollectiveCalibration::Tier>("tier");
  return {.name = fields.Text("name"),
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
  return !meant.empty() ? meant : !shared.empty() ? shared : any;
}

NetworkCalibration ReadNetworkCalibration(const FieldReader& fields) {
  NetworkCalibration calibration = {
      .library = fields.Text("library"),
      .protocols = {},
      .base_latency = fields.NonNegative<Duration>("base_latency"),
      .channels = fields.Count("channels", 1, kMaxChannels),
      .algorithms = fields.Texts("algorithm"),
      .local_bandwidth =
          fields.OptionalPositive<BytesPerSecond>("local_bandwidth")};
  for (const FieldReader& protocol : fields.Each("protocol")) {
    calibration.protocols.push_back(
        ReadProtocol(protocol, calibration.base_latency));
  }
  return calibration;
}

}  // namespace orrery
