#pragma once
// NetworkCalibration: latency and efficiency of the collective library.
//
// One set per system, with its provenance in the preset; nothing about a
// library is a constant in code.
#include <string>
#include <vector>

#include "base/units.h"
#include "topology/field_reader.h"

namespace orrery {

// Inside a node or island, and between them.
enum class Tier : uint8_t { kScaleUp, kScaleOut };

// One wire protocol of the library ("Simple", "LL", "LL128") on one tier.
struct Protocol {
  std::string name;
  Tier tier;
  // Per step of an algorithm over this tier.
  Duration step_latency;
  // Attainable share of the tier's bandwidth.
  double efficiency;
};

struct NetworkCalibration {
  std::string library;
  std::vector<Protocol> protocols;
  // Fixed cost of a call, on top of the steps.
  Duration base_latency;
  // The most channels a collective may use.
  int channels;

  bool Covers(Tier tier) const;
};

// From a pb::CollectiveCalibration; violations go to the reader's list.
NetworkCalibration ReadNetworkCalibration(const FieldReader& fields);

}  // namespace orrery
