#include "topology/machine/fabric_proto.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/units_text.h"
#include "proto/fabric.pb.h"

namespace orrery {
namespace {

constexpr int kMaxEndpoints = 10'000'000;
constexpr int kMaxRadix = 65'536;
constexpr int kMaxPlanes = 10'000;
constexpr double kMaxTaper = 1'000;

constexpr const char* kKinds[] = {
    "fully_connected", "switch",    "ring",      "mesh",   "torus", "fat_tree",
    "rail_optimized",  "rail_only", "dragonfly", "hyperx", "links"};

LinkClass ReadLink(const FieldReader& fields) {
  return {.name = fields.Text("name"),
          .bandwidth = fields.Positive<BytesPerSecond>("bandwidth"),
          .latency = fields.NonNegative<Duration>("latency"),
          .price_id = fields.OptionalText("price_id")};
}

// Refuses sides whose product, taken with care for overflow, is not `expected`.
void CheckShape(const FieldReader& fields, const std::vector<int>& shape,
                int64_t expected) {
  int64_t product = 1;
  for (const int side : shape) {
    if (side < 1) return;  // refused already
    product = std::min<int64_t>(product * side, int64_t{kMaxEndpoints} + 1);
  }
  if (product == expected) return;
  const std::string even = absl::StrJoin(
      MostEvenShape(expected, std::clamp(static_cast<int>(shape.size()), 1, 3)),
      " x ");
  fields.Refuse("shape",
                fmt::format("{} does not make the {} end points; {} would",
                            absl::StrJoin(shape, " x "), expected, even));
}

std::vector<int> ReadShape(const FieldReader& fields) {
  std::vector<int> shape = fields.Counts("shape", 1, kMaxEndpoints);
  if (shape.size() > 8) {
    fields.Refuse("shape",
                  fmt::format("{} sides are more than 8", shape.size()));
    shape.resize(8);
  }
  return shape;
}

SwitchFabric ReadSwitch(const FieldReader& fields) {
  const SwitchFabric result = {
      .planes = fields.Count("planes", 1, kMaxPlanes),
      .links_per_endpoint = fields.Count("links_per_endpoint", 1, kMaxPlanes),
      .reduces = fields.Flag("reduces")};
  if (result.planes > result.links_per_endpoint) {
    fields.Refuse(
        "planes",
        fmt::format("{} switches cannot all be reached over {} links; "
                    "at most {} can",
                    result.planes, result.links_per_endpoint,
                    result.links_per_endpoint));
  }
  return result;
}

MeshFabric ReadMesh(const FieldReader& fields, int64_t endpoints) {
  MeshFabric mesh = {.shape = ReadShape(fields)};
  if (mesh.shape.empty()) {
    fields.Refuse("shape", "not set; write for example [4, 4]");
  } else {
    CheckShape(fields, mesh.shape, endpoints);
  }
  return mesh;
}

TorusFabric ReadTorus(const FieldReader& fields, int64_t endpoints) {
  TorusFabric torus = {.shape = ReadShape(fields),
                       .twisted = fields.Flag("twisted")};
  if (torus.shape.empty()) {
    const int dimensions = fields.Count("dimensions", 1, 3);
    torus.shape = MostEvenShape(endpoints, std::clamp(dimensions, 1, 3));
  } else {
    CheckShape(fields, torus.shape, endpoints);
    const auto dimensions = fields.OptionalCount("dimensions", 1, 8);
    if (dimensions && *dimensions != static_cast<int>(torus.shape.size())) {
      fields.Refuse("dimensions",
                    fmt::format("{}, but shape has {} sides; leave one out",
                                *dimensions, torus.shape.size()));
    }
  }
  if (const auto at = fields.OptionalCount("closes_at", 2, kMaxEndpoints)) {
    for (const int side : torus.shape) torus.open.push_back(side % *at != 0);
    const bool any = std::find(torus.open.begin(), torus.open.end(), true) !=
                     torus.open.end();
    if (!any) {
      torus.open.clear();
    } else if (fields.Flag("closes_together")) {
      torus.open.assign(torus.shape.size(), true);
    }
    if (any && torus.twisted) {
      fields.Refuse("twisted", "sides with open ends cannot be twisted");
    }
  }
  return torus;
}

// Fat trees and rail-optimised ones share their fields. Unset tiers: as few as
// have room.
template <class Clos>
Clos ReadClos(const FieldReader& fields, int64_t endpoints) {
  Clos clos = {.tiers = 2,
               .radix = fields.Count("radix", 2, kMaxRadix),
               .taper = fields.Real("taper", 1, kMaxTaper),
               .reduces = fields.Flag("reduces")};
  const std::optional<int> tiers = fields.OptionalCount("tiers", 2, 3);
  if (tiers) {
    clos.tiers = *tiers;
  } else if (*Capacity(clos) < endpoints) {
    clos.tiers = 3;
  }
  if (*Capacity(clos) < endpoints) {
    Clos larger = clos;
    larger.tiers = 3;
    while (*Capacity(larger) < endpoints && larger.radix < kMaxRadix) {
      larger.radix = std::min(2 * larger.radix, kMaxRadix);
    }
    fields.Refuse(
        "radix",
        fmt::format(
            "{} tiers of {}-port switches tapered {}:1 have room for "
            "{} end points, not for {}; {}",
            clos.tiers, clos.radix, clos.taper, *Capacity(clos), endpoints,
            *Capacity(larger) < endpoints
                ? std::string("taper it less")
                : fmt::format("3 tiers of {} ports would do", larger.radix)));
  }
  return clos;
}

DragonflyFabric ReadDragonfly(const FieldReader& fields, int64_t endpoints) {
  DragonflyFabric dragonfly = {
      .hosts_per_router = fields.Count("hosts_per_router", 1, kMaxRadix),
      .routers_per_group = fields.Count("routers_per_group", 1, kMaxRadix),
      .globals_per_router = fields.Count("globals_per_router", 1, kMaxRadix),
      .groups = 1};
  const int64_t most_groups = std::min<int64_t>(
      int64_t{dragonfly.routers_per_group} * dragonfly.globals_per_router + 1,
      kMaxEndpoints);
  const int64_t hosts_per_group =
      int64_t{dragonfly.hosts_per_router} * dragonfly.routers_per_group;
  const int64_t needed = (endpoints + hosts_per_group - 1) / hosts_per_group;
  if (needed > most_groups) {
    fields.Refuse(
        "globals_per_router",
        fmt::format("{} allows {} groups of {} hosts, but {} end points need "
                    "{} groups; {} would do",
                    dragonfly.globals_per_router, most_groups, hosts_per_group,
                    endpoints, needed,
                    (needed - 1 + dragonfly.routers_per_group - 1) /
                        dragonfly.routers_per_group));
    return dragonfly;
  }
  dragonfly.groups =
      fields.OptionalCount("groups", 1, static_cast<int>(most_groups))
          .value_or(static_cast<int>(needed));
  if (dragonfly.groups < needed) {
    fields.Refuse(
        "groups",
        fmt::format("{} of {} hosts are too few for the {} end "
                    "points; {} would do",
                    dragonfly.groups, hosts_per_group, endpoints, needed));
  }
  return dragonfly;
}

HyperXFabric ReadHyperX(const FieldReader& fields, int64_t endpoints) {
  HyperXFabric hyperx = {
      .shape = ReadShape(fields),
      .hosts_per_router = fields.Count("hosts_per_router", 1, kMaxRadix),
      .links = fields.Counts("links", 1, kMaxPlanes)};
  if (hyperx.shape.empty()) {
    fields.Refuse("shape", "not set; write for example [8, 8]");
    return hyperx;
  }
  if (endpoints % hyperx.hosts_per_router != 0) {
    fields.Refuse("hosts_per_router",
                  fmt::format("{} does not divide the {} end points",
                              hyperx.hosts_per_router, endpoints));
  } else {
    CheckShape(fields, hyperx.shape, endpoints / hyperx.hosts_per_router);
  }
  if (hyperx.links.empty()) hyperx.links.assign(hyperx.shape.size(), 1);
  if (hyperx.links.size() != hyperx.shape.size()) {
    fields.Refuse("links",
                  fmt::format("{} numbers for {} sides", hyperx.links.size(),
                              hyperx.shape.size()));
  }
  return hyperx;
}

LinkListFabric ReadLinkList(const FieldReader& fields, const LinkClass& usual,
                            int64_t endpoints) {
  LinkListFabric list = {
      .switches =
          fields.OptionalCount("switches", 0, kMaxEndpoints).value_or(0),
      .links = {}};
  const int last = static_cast<int>(endpoints) + list.switches - 1;
  for (const FieldReader& item : fields.Each("link")) {
    const LinkListFabric::Link link = {
        .from = item.Count("from", 0, last),
        .to = item.Count("to", 0, last),
        .one_way = item.Flag("one_way"),
        .bandwidth = item.OptionalPositive<BytesPerSecond>("bandwidth")
                         .value_or(usual.bandwidth),
        .latency =
            item.OptionalPositive<Duration>("latency").value_or(usual.latency)};
    if (item.Has("from") && item.Has("to") && link.from == link.to) {
      item.Refuse("to", fmt::format("{} is where the link starts", link.to));
    }
    list.links.push_back(link);
  }
  if (list.links.empty() && endpoints > 1) {
    fields.Refuse("link", "not set; write for example { from: 0 to: 1 }");
  }
  return list;
}

std::optional<FabricKind> ReadKind(const FieldReader& fields,
                                   const LinkClass& link, int64_t endpoints) {
  const auto kind = [&](const char* name) { return fields.Optional(name); };
  if (kind("fully_connected")) return FullyConnectedFabric{};
  if (const auto f = kind("switch")) return ReadSwitch(*f);
  if (kind("ring")) return RingFabric{};
  if (const auto f = kind("mesh")) return ReadMesh(*f, endpoints);
  if (const auto f = kind("torus")) return ReadTorus(*f, endpoints);
  if (const auto f = kind("fat_tree")) {
    return ReadClos<FatTreeFabric>(*f, endpoints);
  }
  if (const auto f = kind("rail_optimized")) {
    return ReadClos<RailOptimizedFabric>(*f, endpoints);
  }
  if (const auto f = kind("rail_only")) {
    return RailOnlyFabric{.radix = f->Count("radix", 2, kMaxRadix)};
  }
  if (const auto f = kind("dragonfly")) return ReadDragonfly(*f, endpoints);
  if (const auto f = kind("hyperx")) return ReadHyperX(*f, endpoints);
  if (const auto f = kind("links")) return ReadLinkList(*f, link, endpoints);
  fields.Refuse("kind", fmt::format("not set; write one of {}",
                                    absl::StrJoin(kKinds, ", ")));
  return std::nullopt;
}

Routing ToRouting(pb::Fabric::Routing routing) {
  switch (routing) {
    case pb::Fabric::MINIMAL:
      return Routing::kMinimal;
    case pb::Fabric::DIMENSION_ORDERED:
      return Routing::kDimensionOrdered;
    case pb::Fabric::SPRAY:
      return Routing::kSpray;
    case pb::Fabric::ECMP:
      return Routing::kEcmp;
    case pb::Fabric::VALIANT:
      return Routing::kValiant;
    case pb::Fabric::ADAPTIVE:
      return Routing::kAdaptive;
    case pb::Fabric::ROUTING_UNSPECIFIED:
      break;  // refused already
  }
  return Routing::kMinimal;
}

bool IsGrid(const FabricKind& kind) {
  return std::holds_alternative<MeshFabric>(kind) ||
         std::holds_alternative<TorusFabric>(kind) ||
         std::holds_alternative<HyperXFabric>(kind);
}

}  // namespace

std::optional<Fabric> ReadFabric(const FieldReader& fields, int64_t endpoints) {
  CHECK(endpoints >= 1 && endpoints <= kMaxEndpoints);
  LinkClass link;
  if (const auto f = fields.Required("link")) link = ReadLink(*f);
  const auto routing = fields.Enum<pb::Fabric::Routing>("routing");
  std::optional<FabricKind> kind = ReadKind(fields, link, endpoints);
  if (!kind) return std::nullopt;
  if (routing == pb::Fabric::DIMENSION_ORDERED && !IsGrid(*kind)) {
    fields.Refuse("routing",
                  "DIMENSION_ORDERED needs a mesh, a torus or a HyperX");
  }
  return Fabric{.link = std::move(link),
                .kind = *std::move(kind),
                .routing = ToRouting(routing),
                .endpoints = endpoints};
}

}  // namespace orrery
