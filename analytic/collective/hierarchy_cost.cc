#include "analytic/collective/hierarchy_cost.h"

#include <algorithm>

namespace orrery {
namespace {

double Others(int p) { return static_cast<double>(p - 1) / p; }

}  // namespace

Seconds BlueConnectCost(absl::Span<const Level> levels, Bytes m) {
  Seconds sum{};
  double share = 1;
  for (const Level& level : levels) {
    sum += 2.0 * (level.size - 1) * level.port.latency +
           level.port.Wire(2 * Others(level.size) * share, m);
    share /= level.size;
  }
  return sum;
}

Seconds PipelinedBlueConnectWire(absl::Span<const Level> levels, Bytes m) {
  Seconds longest{};
  double share = 1;
  for (const Level& level : levels) {
    longest =
        std::max(longest, level.port.Wire(2 * Others(level.size) * share, m));
    share /= level.size;
  }
  return longest;
}

Seconds RailReductionTreeCost(const Level& island, const AlphaBeta& network,
                              int depth, Bytes m) {
  return 2.0 * (island.size - 1) * island.port.latency +
         island.port.Wire(2 * Others(island.size), m) +
         2.0 * depth * network.latency + network.Wire(1.0 / island.size, m);
}

Seconds PxnAllToAllWire(const Level& island, const Level& network, Bytes m) {
  const double away = Others(network.size);
  const double inside =
      away * Others(island.size) + Others(island.size) / network.size;
  return std::max(network.port.Wire(away, m), island.port.Wire(inside, m));
}

double ExpectedPlaces(int experts, int chosen, int places) {
  // C(E - E/n, k)/C(E, k) as a product of k factors below one.
  const int elsewhere = experts - experts / places;
  double missed = 1;
  for (int i = 0; i < chosen; ++i) {
    missed *= static_cast<double>(elsewhere - i) / (experts - i);
  }
  return places * (1 - missed);
}

Seconds MoeDispatchWire(int tokens, Bytes token, double remote, double copies,
                        BytesPerSecond nic, BytesPerSecond island) {
  const double bytes = static_cast<double>(token.value()) * tokens;
  return Seconds(
      std::max(bytes * remote / nic.value(), bytes * copies / island.value()));
}

}  // namespace orrery
