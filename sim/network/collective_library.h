#pragma once
// CollectiveLibrary: what the machine's collective library offers for a call,
// and what it costs besides the bytes.
//
// Everything it knows is calibration data of the system (NetworkCalibration).
// It chooses nothing: whoever plans a call asks for what there is and compares.
// Const after construction, and safe to share between threads.
//
//   for (CollectiveAlgorithm algorithm : library.Offered(kind, applicable,
//   ...))
//     for (ProtocolPair pair : library.Protocols({kind, algorithm, up, out}))
//       library.Overhead(kind, bytes, ranks, pair, seconds_on_the_wire)
#include <absl/types/span.h>

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "sim/network/library_costs.h"
#include "topology/machine/network_calibration.h"
#include "topology/traffic/collective_algorithm.h"
#include "topology/traffic/communication_kind.h"

namespace orrery {

class CollectiveLibrary {
 public:
  explicit CollectiveLibrary(NetworkCalibration calibration)
      : calibration_(std::move(calibration)) {}

  const std::string& name() const { return calibration_.library; }

  // Those of `applicable` that the library has for `kind`, in their order; all
  // of them if it has none. `fabric_tree`: the fabric between islands has
  // switches that reduce for this group. A library's trees of switches are
  // those; inside an island it multicasts.
  std::vector<CollectiveAlgorithm> Offered(
      CommunicationKind kind, absl::Span<const CollectiveAlgorithm> applicable,
      bool fabric_tree) const;

  // An algorithm and the tiers that its messages cross.
  struct Use {
    CommunicationKind kind;
    CollectiveAlgorithm algorithm;
    bool scale_up;
    bool scale_out;
    int nodes = 1;
    // Of tokens to experts, or back, once to each island.
    bool experts = false;
  };
  // The protocols that serve it; of those only the ones called `only`, if
  // given.
  std::vector<ProtocolPair> Protocols(
      const Use& use, const std::optional<std::string>& only) const;

  // Of a call among `ranks` chips whose bytes take `wire` by themselves.
  CallOverhead Overhead(CommunicationKind kind, Bytes bytes, size_t ranks,
                        const ProtocolPair& protocols, double wire) const;

 private:
  bool Has(CommunicationKind kind, CollectiveAlgorithm algorithm) const;

  NetworkCalibration calibration_;
};

}  // namespace orrery
