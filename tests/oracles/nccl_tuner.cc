#include "tests/oracles/nccl_tuner.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace orrery {
namespace {

constexpr double kGigabyte = 1e9;

std::string NameOf(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::kRing:
      return "ring";
    case NcclAlgorithm::kTree:
      return "tree";
    case NcclAlgorithm::kNvls:
      return "nvls";
    case NcclAlgorithm::kNvlsTree:
      return "nvls_tree";
  }
  return "";
}

std::string NameOf(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::kLl:
      return "ll";
    case NcclProtocol::kLl128:
      return "ll128";
    case NcclProtocol::kSimple:
      return "simple";
  }
  return "";
}

// NCCL keeps its caps for one node, for two, and for more.
std::string Bucket(int nodes) {
  return nodes == 1 ? "1" : nodes == 2 ? "2" : "4";
}

int FloorLog2(int64_t n) {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) - 1;
}

}  // namespace

NcclTuner::NcclTuner(NcclConstants constants)
    : constants_(std::move(constants)) {}

double NcclTuner::Get(const std::string& name) const {
  const auto found = constants_.find(name);
  CHECK(found != constants_.end()) << "no NCCL constant '" << name << "'";
  return found->second;
}

Seconds NcclTuner::Latency(NcclAlgorithm algorithm, NcclProtocol protocol,
                           const NcclGraph& graph) const {
  const std::string of = NameOf(algorithm) + "." + NameOf(protocol);
  const double base = Get("base." + of);
  const double intra = Get("nvlink." + of);
  const double inter =
      Get("network." + of) + graph.extra_latency.count() * 1e6 *
                                 (protocol == NcclProtocol::kSimple ? 2 : 1);
  const double levels = FloorLog2(graph.nodes);
  const int per_node = graph.ranks / graph.nodes;
  double latency = base;
  switch (algorithm) {
    case NcclAlgorithm::kRing: {
      const double steps = 2.0 * (graph.ranks - 1);
      const double inter_steps = graph.nodes > 1 ? 2.0 * (graph.nodes - 1) : 0;
      double overhead = graph.nodes > 1 ? Get("overhead.intel") : 0;
      if (protocol == NcclProtocol::kSimple) {
        overhead *= Get("overhead.simple_factor");
      }
      latency += (steps - inter_steps) * std::max(intra, overhead) +
                 inter_steps * inter;
      break;
    }
    case NcclAlgorithm::kTree:
      latency += 2 * ((per_node - 1) * intra + levels * inter);
      break;
    case NcclAlgorithm::kNvls:
      latency += intra + (graph.nodes > 1 ? inter : 0);
      break;
    case NcclAlgorithm::kNvlsTree:
      latency += intra + 2 * levels * inter;
      break;
  }
  return Seconds(latency * 1e-6);
}

BytesPerSecond NcclTuner::AlgorithmBandwidth(NcclAlgorithm algorithm,
                                             NcclProtocol protocol,
                                             const NcclGraph& graph) const {
  const double intra = graph.intra.value() / kGigabyte;
  const double inter = graph.inter.value() / kGigabyte;
  const double channels = graph.channels;
  const std::string bucket = Bucket(graph.nodes);
  double bus = channels * (graph.nodes <= 2 ? intra : inter);
  const double ring_share = graph.ranks / (2.0 * (graph.ranks - 1));
  switch (algorithm) {
    case NcclAlgorithm::kRing:
      if (protocol == NcclProtocol::kLl) {
        bus = std::min(Get("ll_cap." + bucket), bus * Get("ring.ll_factor"));
      } else if (protocol == NcclProtocol::kLl128) {
        bus = std::min(bus * Get("ring.ll128_factor"),
                       channels * Get("ring.ll128_cap"));
      }
      return BytesPerSecond(bus * ring_share * kGigabyte);
    case NcclAlgorithm::kTree:
      bus = std::min(bus * Get("tree.factor"),
                     channels * Get("tree_cap." + bucket));
      if (protocol == NcclProtocol::kLl) {
        bus = std::min(bus / Get("tree.ll_divisor"), Get("ll_cap." + bucket));
      } else if (protocol == NcclProtocol::kLl128) {
        bus *= graph.nodes == 1 ? Get("tree.ll128_factor.1")
                                : Get("tree.ll128_factor.2");
      }
      return BytesPerSecond(bus * 0.5 * kGigabyte);
    case NcclAlgorithm::kNvls:
    case NcclAlgorithm::kNvlsTree:
      break;
  }
  // All-reduce overlaps its two halves: twice the island's rate.
  double rate = std::min(
      2 * intra * Get("nvls.efficiency") * (channels - 1) / channels, inter);
  if (algorithm == NcclAlgorithm::kNvlsTree) {
    const double doubled = graph.nodes <= 2 ? 2 * inter : inter;
    rate = std::min(
        {2 * intra * Get("nvls.efficiency") * (channels - 1) / channels,
         doubled, Get("nvls_tree_cap." + bucket)});
  }
  return BytesPerSecond(channels * rate * ring_share * kGigabyte);
}

Seconds NcclTuner::Time(NcclAlgorithm algorithm, NcclProtocol protocol,
                        const NcclGraph& graph, Bytes m) const {
  double bandwidth = AlgorithmBandwidth(algorithm, protocol, graph).value();
  double latency = Latency(algorithm, protocol, graph).count();
  // Trees do not follow the model at middle sizes: a factor per power of two
  // from 64 B on.
  const int size = FloorLog2(std::max<int64_t>(1, m.value() / 64));
  const double sizes = Get("tree_correction.sizes");
  if (algorithm == NcclAlgorithm::kTree && m.value() >= 64 && size < sizes) {
    bandwidth *=
        Get("tree_correction." + NameOf(protocol) + "." + std::to_string(size));
  }
  const int64_t per_slot = m.value() / (int64_t{graph.channels} * graph.ranks);
  if (algorithm == NcclAlgorithm::kRing && protocol == NcclProtocol::kSimple &&
      graph.nodes > 1 && per_slot >= 64) {
    latency *= Get("ring.plateau");
  }
  return Seconds(latency + static_cast<double>(m.value()) / bandwidth);
}

}  // namespace orrery
