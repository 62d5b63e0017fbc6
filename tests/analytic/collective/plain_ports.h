#pragma once
// Machines and prices without any calibration, to put forms beside published
// formulas: a port is its latency and its bandwidth.
#include <limits>
#include <numeric>
#include <vector>

#include "analytic/collective/collective_forms.h"

namespace orrery {

// Pieces so small that filling a pipeline costs nothing.
inline constexpr double kEndlessPieces =
    std::numeric_limits<double>::infinity();

inline MachinePorts OnePortEach(int ranks) {
  return {.chips = ranks, .island_chips = ranks, .island_reduces = true};
}
inline MachinePorts LinkToEach(int ranks) {
  return {
      .wiring = IslandWiring::kLinks, .chips = ranks, .island_chips = ranks};
}
inline MachinePorts TorusPorts(std::vector<int> sides) {
  const int ranks =
      std::accumulate(sides.begin(), sides.end(), 1, std::multiplies<>());
  return {.wiring = IslandWiring::kGrid,
          .chips = ranks,
          .island_chips = ranks,
          .sides = std::move(sides)};
}
// Islands with a NIC per chip, all on one switch.
inline MachinePorts IslandPorts(int per_island, int islands) {
  return {.chips = per_island * islands,
          .island_chips = per_island,
          .nics = per_island,
          .network_reduces = true};
}

// All chips of the machine.
inline GroupNetwork Everyone(const MachinePorts& ports) {
  std::vector<int> chips(static_cast<size_t>(ports.chips));
  std::iota(chips.begin(), chips.end(), 0);
  return {ports, std::move(chips)};
}

inline TierPrice Plain(const AlphaBeta& port) {
  return {.message = port.latency,
          .second_per_byte = 1 / port.bandwidth.value()};
}
inline FormTime PricePlain(const CollectiveForm& form, Bytes bytes,
                           const AlphaBeta& island,
                           double pieces = kEndlessPieces) {
  return PriceForm(form, Plain(island), {}, bytes, pieces);
}
inline FormTime PricePlain(const CollectiveForm& form, Bytes bytes,
                           const AlphaBeta& island, const AlphaBeta& network,
                           double pieces = kEndlessPieces) {
  return PriceForm(form, Plain(island), Plain(network), bytes, pieces);
}

}  // namespace orrery
