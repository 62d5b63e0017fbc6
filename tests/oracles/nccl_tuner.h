#pragma once
// NCCL's own model of its all-reduce: latency x count + bytes / bandwidth, from
// which it picks algorithm and protocol.
//
// The arithmetic of NVIDIA/nccl 2.30.7, src/graph/tuning.cc, restated. The
// constants drift from release to release and are data, not code: see
// validation/nccl_tuner.csv. Inputs that NCCL takes from its search of the
// machine's graph (channels and bandwidth per channel) are parameters.
#include <map>
#include <string>

#include "analytic/collective/alpha_beta.h"

namespace orrery {

// Constants by name, in microseconds and GB/s as NCCL keeps them.
using NcclConstants = std::map<std::string, double, std::less<>>;

enum class NcclAlgorithm { kRing, kTree, kNvls, kNvlsTree };
enum class NcclProtocol { kLl, kLl128, kSimple };

// What the search of the machine found for an algorithm.
struct NcclGraph {
  int nodes;
  int ranks;
  int channels;
  BytesPerSecond intra;  // per channel
  BytesPerSecond inter;
  Seconds extra_latency{};
};

class NcclTuner {
 public:
  // Requires: every constant of validation/nccl_tuner.csv.
  explicit NcclTuner(NcclConstants constants);

  Seconds Latency(NcclAlgorithm algorithm, NcclProtocol protocol,
                  const NcclGraph& graph) const;
  // Bytes of the buffer per second, once the pipeline runs.
  BytesPerSecond AlgorithmBandwidth(NcclAlgorithm algorithm,
                                    NcclProtocol protocol,
                                    const NcclGraph& graph) const;
  Seconds Time(NcclAlgorithm algorithm, NcclProtocol protocol,
               const NcclGraph& graph, Bytes m) const;

 private:
  double Get(const std::string& name) const;

  NcclConstants constants_;
};

}  // namespace orrery
