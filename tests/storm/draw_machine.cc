#include "tests/storm/draw_machine.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/format.h"
#include "tests/storm/draw.h"

namespace orrery {
namespace {

pb::Fabric::Routing DrawRouting(Rng& rng) {
  // Mostly what machines have.
  if (Chance(rng, 0.6)) return pb::Fabric::SPRAY;
  return OneOf(rng, {pb::Fabric::MINIMAL, pb::Fabric::DIMENSION_ORDERED,
                     pb::Fabric::SPRAY, pb::Fabric::ECMP, pb::Fabric::VALIANT,
                     pb::Fabric::ADAPTIVE});
}

// A grid of `count` points: two sides, or three.
void DrawShape(int count, Rng& rng,
               google::protobuf::RepeatedField<int32_t>* shape) {
  const int first = DrawDivisor(rng, count);
  const int second = DrawDivisor(rng, count / first);
  shape->Add(first);
  shape->Add(second);
  if (first * second < count) shape->Add(count / first / second);
}

void DrawSwitch(Rng& rng, pb::Fabric& fabric) {
  const int planes = OneOf(rng, {1, 2, 3, 4});
  fabric.mutable_switch_()->set_planes(planes);
  fabric.mutable_switch_()->set_links_per_endpoint(planes * OneOf(rng, {1, 2}));
  fabric.mutable_switch_()->set_reduces(Chance(rng, 0.3));
}

// A fabric of chips: what is found inside islands and pods.
void DrawChipFabric(int chips, Rng& rng, pb::Fabric& fabric) {
  switch (rng.Below(5)) {
    case 0:
      DrawSwitch(rng, fabric);
      break;
    case 1:
      fabric.mutable_fully_connected();
      break;
    case 2:
      fabric.mutable_ring();
      break;
    case 3:
      DrawShape(chips, rng, fabric.mutable_mesh()->mutable_shape());
      break;
    case 4:
      DrawShape(chips, rng, fabric.mutable_torus()->mutable_shape());
      if (Chance(rng, 0.2)) fabric.mutable_torus()->set_twisted(true);
      break;
  }
  fabric.set_routing(DrawRouting(rng));
}

// A fabric of NICs or nodes.
void DrawSwitchedFabric(int ends, Rng& rng, pb::Fabric& fabric) {
  const int radix = OneOf(rng, {4, 6, 8, 10, 12, 16, 32, 64});
  const double taper = OneOf(rng, {1.0, 1.0, 1.0, 1.5, 2.0, 3.0});
  switch (rng.Below(9)) {
    case 0:
    case 1:
      fabric.mutable_fat_tree()->set_radix(radix);
      fabric.mutable_fat_tree()->set_taper(taper);
      if (Chance(rng, 0.3)) {
        fabric.mutable_fat_tree()->set_tiers(OneOf(rng, {2, 3}));
      }
      if (Chance(rng, 0.2)) fabric.mutable_fat_tree()->set_reduces(true);
      break;
    case 2:
    case 3:
      fabric.mutable_rail_optimized()->set_radix(radix);
      fabric.mutable_rail_optimized()->set_taper(taper);
      if (Chance(rng, 0.2)) fabric.mutable_rail_optimized()->set_reduces(true);
      break;
    case 4:
      fabric.mutable_rail_only()->set_radix(radix);
      break;
    case 5: {
      pb::Dragonfly& dragonfly = *fabric.mutable_dragonfly();
      dragonfly.set_hosts_per_router(OneOf(rng, {1, 2, 4}));
      dragonfly.set_routers_per_group(OneOf(rng, {2, 3, 4}));
      dragonfly.set_globals_per_router(OneOf(rng, {1, 2}));
      break;
    }
    case 6: {
      const int hosts = DrawDivisor(rng, ends);
      pb::HyperX& hyperx = *fabric.mutable_hyperx();
      hyperx.set_hosts_per_router(hosts);
      DrawShape(ends / hosts, rng, hyperx.mutable_shape());
      for (int i = 0; i < hyperx.shape_size(); ++i) {
        hyperx.add_links(OneOf(rng, {1, 2}));
      }
      break;
    }
    case 7:
      DrawSwitch(rng, fabric);
      break;
    case 8:
      DrawChipFabric(ends, rng, fabric);
      return;
  }
  fabric.set_routing(DrawRouting(rng));
}

// Whether a fabric is wired and routed like another; sizes follow from that.
bool IsLike(const pb::Fabric& a, const pb::Fabric& b) {
  return a.kind_case() == b.kind_case() && a.routing() == b.routing() &&
         a.fat_tree().taper() == b.fat_tree().taper() &&
         a.rail_optimized().taper() == b.rail_optimized().taper();
}

std::string FabricName(const pb::Fabric& fabric) {
  const auto* field = fabric.GetReflection()->GetOneofFieldDescriptor(
      fabric, fabric.GetDescriptor()->FindOneofByName("kind"));
  return field == nullptr ? "none" : std::string(field->name());
}

// Drawn by itself: whatever else is drawn stays as it was.
void AddSlowChips(uint64_t seed, int64_t number, int chips,
                  pb::System& system) {
  Rng rng(seed, fmt::format("slow chip {}", number));
  if (!Chance(rng, 0.1)) return;
  const auto draw = [&] {
    return static_cast<int>(rng.Below(static_cast<uint64_t>(chips)));
  };
  std::set<int> slow = {draw()};
  if (Chance(rng, 0.3)) slow.insert(draw());
  for (const int chip : slow) {
    pb::SlowChip& added = *system.add_slow_chip();
    added.set_chip(chip);
    added.set_slowdown(OneOf(rng, {1.05, 1.2, 2.0}));
  }
}

}  // namespace

void LabelMachine(const pb::System& system, StormSheet& sheet) {
  sheet.Label("system " + system.name());
  sheet.Label("scale-up " + FabricName(system.scale_up().fabric()));
  sheet.Label("scale-out " + FabricName(system.scale_out().fabric()));
  for (const pb::Fabric* fabric :
       {&system.scale_up().fabric(), &system.scale_out().fabric()}) {
    if (fabric->routing() == pb::Fabric::SPRAY || !fabric->has_routing()) {
      continue;
    }
    sheet.Label("routing " + pb::Fabric::Routing_Name(fabric->routing()));
  }
  if (!system.fault().empty()) sheet.Label("fault");
  if (!system.slow_chip().empty()) sheet.Label("slow chip");
}

bool IsAsInCatalogue(const pb::System& system) {
  const auto preset = Catalog().System(system.preset());
  CHECK(preset.ok()) << preset.status().ToString();
  return system.fault().empty() && system.slow_chip().empty() &&
         system.chips_per_node() == preset->chips_per_node() &&
         system.scale_out().nics_per_node() ==
             preset->scale_out().nics_per_node() &&
         IsLike(system.scale_up().fabric(), preset->scale_up().fabric()) &&
         IsLike(system.scale_out().fabric(), preset->scale_out().fabric());
}

pb::System DrawPlainSystem(const Catalog& catalog, uint64_t seed,
                           int64_t number, int most_chips, Rng& rng) {
  const std::string name =
      DrawName(seed, "system", number, catalog.Names("systems"));
  const auto preset = catalog.System(name);
  CHECK(preset.ok()) << preset.status().ToString();
  pb::System system;
  system.set_preset(name);
  int node = preset->chips_per_node();
  if (node > most_chips) {
    node = OneOf(rng, {4, 8, 16});
    system.set_chips_per_node(node);
    if (preset->has_scale_out()) {
      system.mutable_scale_out()->set_nics_per_node(node);
    }
  }
  system.set_nodes(
      static_cast<int>(rng.Between(1, std::max(1, most_chips / node))));
  return system;
}

pb::System DrawSystem(const Catalog& catalog, uint64_t seed, int64_t number,
                      int most_chips, Rng& rng) {
  const std::string name =
      DrawName(seed, "system", number, catalog.Names("systems"));
  const auto preset = catalog.System(name);
  CHECK(preset.ok()) << preset.status().ToString();

  pb::System system;
  system.set_preset(name);
  int node = preset->chips_per_node();
  if (node > 8 || Chance(rng, 0.3)) {
    node = OneOf(rng, {1, 2, 3, 4, 5, 6, 8, 8, 12});
    system.set_chips_per_node(node);
    if (preset->has_scale_out()) {
      system.mutable_scale_out()->set_nics_per_node(node);
    }
  }
  const int nodes =
      static_cast<int>(rng.Between(1, std::max(1, most_chips / node)));
  system.set_nodes(nodes);
  int nics = preset->scale_out().nics_per_node();
  if (system.scale_out().has_nics_per_node()) nics = node;
  if (preset->has_scale_out() && Chance(rng, 0.25)) {
    nics = DrawDivisor(rng, node);
    system.mutable_scale_out()->set_nics_per_node(nics);
  }
  if (preset->has_scale_up() && node > 1 && Chance(rng, 0.4)) {
    const int ends = preset->scale_up().spans_nodes() ? node * nodes : node;
    DrawChipFabric(ends, rng, *system.mutable_scale_up()->mutable_fabric());
  }
  if (preset->has_scale_out() && nodes > 1 && Chance(rng, 0.7)) {
    DrawSwitchedFabric(nics * nodes, rng,
                       *system.mutable_scale_out()->mutable_fabric());
  }
  if (Chance(rng, 0.05)) {
    pb::LinkFault& fault = *system.add_fault();
    fault.set_from(static_cast<int32_t>(
        rng.Below(static_cast<uint64_t>(node) * static_cast<uint64_t>(nodes))));
    fault.set_remaining(OneOf(rng, {0.25, 0.5, 0.9}));
  }
  AddSlowChips(seed, number, node * nodes, system);
  return system;
}

}  // namespace orrery
