#include "topology/machine/fabric.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/overload.h"

namespace orrery {
namespace {

// The ports of a leaf that face the hosts when they outnumber the up-links
// `taper` to 1.
int64_t LeafDownPorts(int radix, double taper) {
  return std::clamp<int64_t>(std::llround(radix * taper / (1 + taper)), 1,
                             radix - 1);
}

// Two tiers: a spine reaches `radix` leaves. Three: a pod has radix/2 leaves,
// and the core reaches `radix` pods.
int64_t ClosCapacity(int tiers, int radix, double taper) {
  const int64_t two_tiers = LeafDownPorts(radix, taper) * radix;
  return tiers == 2 ? two_tiers : two_tiers * radix / 2;
}

int64_t Product(const std::vector<int>& sides) {
  int64_t product = 1;
  for (const int side : sides) product *= side;
  return product;
}

// Links of a grid's best connected point: two along each side with room for
// two neighbours, one along a side of two (closed: both links go to it).
int GridLinks(const std::vector<int>& shape, bool closed) {
  int links = 0;
  for (const int side : shape) {
    if (side > 2 || (side == 2 && closed)) {
      links += 2;
    } else if (side == 2) {
      links += 1;
    }
  }
  return links;
}

BytesPerSecond LargestOutput(const LinkListFabric& list, int64_t endpoints) {
  std::vector<double> output(static_cast<size_t>(endpoints), 0.0);
  const auto add = [&](int from, BytesPerSecond bandwidth) {
    if (from < endpoints)
      output[static_cast<size_t>(from)] += bandwidth.value();
  };
  for (const LinkListFabric::Link& link : list.links) {
    add(link.from, link.bandwidth);
    if (!link.one_way) add(link.to, link.bandwidth);
  }
  return BytesPerSecond(*std::max_element(output.begin(), output.end()));
}

}  // namespace

std::optional<int64_t> Capacity(const FabricKind& kind) {
  using Limit = std::optional<int64_t>;
  return std::visit(
      Overload{
          [](const FullyConnectedFabric&) { return Limit(); },
          [](const SwitchFabric&) { return Limit(); },
          [](const RingFabric&) { return Limit(); },
          [](const MeshFabric& mesh) { return Limit(Product(mesh.shape)); },
          [](const TorusFabric& torus) { return Limit(Product(torus.shape)); },
          [](const FatTreeFabric& tree) {
            return Limit(ClosCapacity(tree.tiers, tree.radix, tree.taper));
          },
          [](const RailOptimizedFabric& rails) {
            return Limit(ClosCapacity(rails.tiers, rails.radix, rails.taper));
          },
          [](const RailOnlyFabric&) { return Limit(); },
          [](const DragonflyFabric& d) {
            return Limit(int64_t{d.hosts_per_router} * d.routers_per_group *
                         d.groups);
          },
          [](const HyperXFabric& hyperx) {
            return Limit(hyperx.hosts_per_router * Product(hyperx.shape));
          },
          [](const LinkListFabric&) { return Limit(); },
      },
      kind);
}

BytesPerSecond EndpointBandwidth(const Fabric& fabric) {
  const BytesPerSecond one = fabric.link.bandwidth;
  return std::visit(
      Overload{
          [&](const FullyConnectedFabric&) {
            return one * static_cast<double>(fabric.endpoints - 1);
          },
          [&](const SwitchFabric& s) { return one * s.links_per_endpoint; },
          [&](const RingFabric&) { return one * 2; },
          [&](const MeshFabric& mesh) {
            return one * GridLinks(mesh.shape, /*closed=*/false);
          },
          [&](const TorusFabric& torus) {
            double links = 0;
            for (size_t d = 0; d < torus.shape.size(); ++d) {
              links += GridLinks({torus.shape[d]}, torus.closes(d));
            }
            return one * links;
          },
          [&](const FatTreeFabric&) { return one; },
          [&](const RailOptimizedFabric&) { return one; },
          [&](const RailOnlyFabric&) { return one; },
          [&](const DragonflyFabric&) { return one; },
          [&](const HyperXFabric&) { return one; },
          [&](const LinkListFabric& list) {
            return LargestOutput(list, fabric.endpoints);
          },
      },
      fabric.kind);
}

std::vector<int> MostEvenShape(int64_t endpoints, int dimensions) {
  CHECK(endpoints >= 1 && dimensions >= 1 && dimensions <= 3);
  if (dimensions == 1) return {static_cast<int>(endpoints)};
  std::vector<int> best;
  // The shortest side is at most the root; longer ones leave a more even rest,
  // but the rest may not divide as well, so every divisor is tried.
  for (int side = 1; std::pow(side, dimensions) <=
                     static_cast<double>(endpoints) * (1 + 1e-9);
       ++side) {
    if (endpoints % side != 0) continue;
    std::vector<int> shape = MostEvenShape(endpoints / side, dimensions - 1);
    shape.insert(shape.begin(), side);
    std::sort(shape.begin(), shape.end());
    if (best.empty() || shape.back() < best.back() ||
        (shape.back() == best.back() && shape > best)) {
      best = std::move(shape);
    }
  }
  return best;
}

}  // namespace orrery
