#include "topology/network_calibration.h"

#include <algorithm>

#include "proto/system.pb.h"

namespace orrery {
namespace {

constexpr int kMaxChannels = 4096;

Protocol ReadProtocol(const FieldReader& fields) {
  const auto tier = fields.Enum<pb::CollectiveCalibration::Tier>("tier");
  return {.name = fields.Text("name"),
          .tier = tier == pb::CollectiveCalibration::SCALE_OUT ? Tier::kScaleOut
                                                               : Tier::kScaleUp,
          .step_latency = fields.NonNegative<Duration>("step_latency"),
          .efficiency = fields.Efficiency("efficiency")};
}

}  // namespace

bool NetworkCalibration::Covers(Tier tier) const {
  return std::any_of(protocols.begin(), protocols.end(),
                     [&](const Protocol& p) { return p.tier == tier; });
}

NetworkCalibration ReadNetworkCalibration(const FieldReader& fields) {
  NetworkCalibration calibration = {
      .library = fields.Text("library"),
      .protocols = {},
      .base_latency = fields.NonNegative<Duration>("base_latency"),
      .channels = fields.Count("channels", 1, kMaxChannels)};
  for (const FieldReader& protocol : fields.Each("protocol")) {
    calibration.protocols.push_back(ReadProtocol(protocol));
  }
  return calibration;
}

}  // namespace orrery
