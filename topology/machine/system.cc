#include "topology/machine/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "base/units_text.h"
#include "proto/system.pb.h"
#include "topology/machine/fabric_proto.h"
#include "topology/machine/field_reader.h"

namespace orrery {
namespace {

constexpr int kMaxPerNode = 100'000;
// Sums of links are rounded; a cap may stand this much above them.
constexpr double kRounding = 1e-6;

std::optional<ScaleUp> ReadScaleUp(const FieldReader& fields,
                                   int chips_per_node, int chips) {
  const bool spans_nodes = fields.Flag("spans_nodes");
  const auto fabric_fields = fields.Required("fabric");
  if (!fabric_fields) return std::nullopt;
  std::optional<Fabric> fabric =
      ReadFabric(*fabric_fields, spans_nodes ? chips : chips_per_node);
  const auto cap = fields.OptionalPositive<BytesPerSecond>("chip_bandwidth");
  if (!fabric) return std::nullopt;
  const BytesPerSecond all_links = EndpointBandwidth(*fabric);
  if (cap && cap->value() > all_links.value() * (1 + kRounding)) {
    fields.Refuse(
        "chip_bandwidth",
        fmt::format("{} is more than the {} of a chip's links; at most "
                    "{}, or leave it out",
                    ToText(*cap), ToText(all_links), ToText(all_links)));
  }
  return ScaleUp{.fabric = *std::move(fabric),
                 .chip_bandwidth = cap.value_or(all_links),
                 .spans_nodes = spans_nodes};
}

// No machine has more than two; a part of a rack may be described with the NICs
// of all of it.
constexpr int kMostNicsPerChip = 100;

std::optional<ScaleOut> ReadScaleOut(const FieldReader& fields, int nodes,
                                     int chips_per_node) {
  const int nics_per_node = fields.Count("nics_per_node", 1, kMaxPerNode);
  const auto bandwidth = fields.Positive<BytesPerSecond>("nic_bandwidth");
  const auto latency = fields.NonNegative<Duration>("nic_latency");
  const int64_t nics = int64_t{nodes} * nics_per_node;
  if (nics > kMaxChips) {
    fields.Refuse("nics_per_node",
                  fmt::format("{} on {} nodes make more than {} NICs",
                              nics_per_node, nodes, kMaxChips));
    return std::nullopt;
  }
  if (nics_per_node > kMostNicsPerChip * chips_per_node) {
    fields.Refuse("nics_per_node",
                  fmt::format("{} NICs for {} chips are more than {} for each; "
                              "at most {}",
                              nics_per_node, chips_per_node, kMostNicsPerChip,
                              kMostNicsPerChip * chips_per_node));
  }
  if (nics_per_node % chips_per_node != 0 &&
      chips_per_node % nics_per_node != 0) {
    fields.Refuse("nics_per_node",
                  fmt::format("{} NICs cannot be shared evenly by {} chips; {} "
                              "can",
                              nics_per_node, chips_per_node, chips_per_node));
  }
  const auto fabric_fields = fields.Required("fabric");
  if (!fabric_fields) return std::nullopt;
  std::optional<Fabric> fabric = ReadFabric(*fabric_fields, nics);
  if (!fabric) return std::nullopt;
  return ScaleOut{.fabric = *std::move(fabric),
                  .nics_per_node = nics_per_node,
                  .nic_bandwidth = bandwidth,
                  .nic_latency = latency};
}

Host ReadHost(const FieldReader& fields) {
  return {.cpu = fields.OptionalText("cpu"),
          .cpus_per_node = fields.Count("cpus_per_node", 1, kMaxPerNode),
          .memory = fields.Positive<Bytes>("memory"),
          .chip_bandwidth = fields.Positive<BytesPerSecond>("chip_bandwidth"),
          .power = fields.Positive<Watts>("power"),
          .python_slowdown =
              fields.OptionalReal("python_slowdown", 0.1, 100).value_or(1)};
}

// The fabric's links are ports of the chip, where the chip says how many of
// that name it has.
void CheckPorts(const Chip& chip, const Fabric& fabric,
                const FieldReader& fields) {
  for (const LinkPort& port : chip.ports()) {
    if (port.name != fabric.link.name) continue;
    const double links =
        EndpointBandwidth(fabric).value() / fabric.link.bandwidth.value();
    if (links <= port.count + kRounding) return;
    fields.Refuse("fabric",
                  fmt::format("takes {:.0f} links {} of each chip, whose port "
                              "of that name counts {}; make both agree, by "
                              "chip.port[{}].count or by the fabric",
                              links, port.name, port.count, port.name));
    return;
  }
}

LinkFault ReadFault(const FieldReader& fields, int chips) {
  return {.chip = fields.Count("from", 0, chips - 1),
          .peer = fields.OptionalCount("to", 0, 2 * kMaxChips),
          .remaining = fields.Share("remaining")};
}

// By chip.
std::vector<SlowChip> ReadSlowChips(const FieldReader& fields, int chips) {
  constexpr double kSlowest = 1e6;
  std::vector<SlowChip> slow;
  for (const FieldReader& each : fields.Each("slow_chip")) {
    slow.push_back({.chip = each.Count("chip", 0, chips - 1),
                    .slowdown = each.Real("slowdown", 1, kSlowest)});
  }
  std::sort(slow.begin(), slow.end(), [](const SlowChip& a, const SlowChip& b) {
    return a.chip < b.chip;
  });
  const auto twice = std::adjacent_find(
      slow.begin(), slow.end(),
      [](const SlowChip& a, const SlowChip& b) { return a.chip == b.chip; });
  if (twice != slow.end()) {
    fields.Refuse("slow_chip", fmt::format("chip {} is there twice, with "
                                           "slowdowns {} and {}",
                                           twice->chip, twice->slowdown,
                                           std::next(twice)->slowdown));
  }
  return slow;
}

// A library serves every call on the tiers there are: by rings, if by nothing
// better, and from one chip to another; a call that crosses both does so by
// protocols of one name.
void CheckServes(const NetworkCalibration& library, bool up, bool out,
                 const FieldReader& fields) {
  const auto covers = [&](bool there, Tier tier, const char* name) {
    if (!there || library.Covers(tier)) return true;
    fields.Refuse(
        "protocol",
        fmt::format("none for tier {}; add protocol {{ tier: {} ... }}", name,
                    name));
    return false;
  };
  if (!covers(up, Tier::kScaleUp, "SCALE_UP") |
      !covers(out, Tier::kScaleOut, "SCALE_OUT")) {
    return;
  }
  struct Need {
    ProtocolUse use;
    const char* name;
  };
  for (const Need& need :
       {Need{ProtocolUse::kRing, "RING"},
        Need{ProtocolUse::kPointToPoint, "POINT_TO_POINT"}}) {
    const auto always = [&](Tier tier) {
      std::vector<const Protocol*> found = library.For(tier, need.use);
      std::erase_if(
          found, [](const Protocol* p) { return p->most_nodes.has_value(); });
      return found;
    };
    const auto inner = always(Tier::kScaleUp);
    const auto outer = always(Tier::kScaleOut);
    const auto lacks = [&](const char* tier) {
      fields.Refuse(
          "protocol",
          fmt::format("none for tier {} has use {}, or no use that "
                      "keeps it to others, on any number of nodes; add "
                      "such a one",
                      tier, need.name));
    };
    if (up && inner.empty()) lacks("SCALE_UP");
    if (out && outer.empty()) lacks("SCALE_OUT");
    if (!up || !out || inner.empty() || outer.empty()) continue;
    const bool joined =
        std::any_of(inner.begin(), inner.end(), [&](const Protocol* p) {
          return std::any_of(
              outer.begin(), outer.end(),
              [&](const Protocol* q) { return p->name == q->name; });
        });
    if (!joined) {
      fields.Refuse(
          "protocol",
          fmt::format("none for use {} has the same name on both "
                      "tiers, so that no call can cross them; give two "
                      "of them one name",
                      need.name));
    }
  }
}

}  // namespace

absl::StatusOr<System> System::FromProto(const pb::System& proto,
                                         std::string_view path) {
  Violations violations;
  const FieldReader fields(proto, std::string(path), &violations);
  System system;
  system.name_ = fields.Text("name");
  system.description_ = fields.OptionalText("description");
  if (const auto chip_fields = fields.Required("chip")) {
    auto chip = Chip::FromProto(proto.chip(), chip_fields->path());
    violations.Add(chip.status());
    if (chip.ok()) system.chip_ = *std::move(chip);
  }

  // Nothing below makes sense, or is safe to size, before the counts do.
  Violations counts;
  const FieldReader count_fields(proto, std::string(path), &counts);
  system.nodes_ = count_fields.Count("nodes", 1, kMaxChips);
  system.chips_per_node_ = count_fields.Count("chips_per_node", 1, kMaxPerNode);
  if (counts.empty() &&
      int64_t{system.nodes_} * system.chips_per_node_ > kMaxChips) {
    count_fields.Refuse(
        "nodes", fmt::format("{} nodes of {} chips are more than {} "
                             "chips; at most {} nodes",
                             system.nodes_, system.chips_per_node_, kMaxChips,
                             kMaxChips / system.chips_per_node_));
  }
  violations.Add(counts.ToStatus());
  if (!counts.empty()) return violations.ToStatus();

  if (const auto f = fields.Optional("scale_up")) {
    system.scale_up_ = ReadScaleUp(*f, system.chips_per_node_, system.chips());
    if (system.scale_up_ && system.chip_) {
      CheckPorts(*system.chip_, system.scale_up_->fabric, *f);
    }
  } else if (system.chips_per_node_ > 1) {
    fields.Refuse(
        "scale_up",
        fmt::format("not set, but a node has {} chips; write scale_up "
                    "{{ fabric {{ ... }} }}, or chips_per_node: 1",
                    system.chips_per_node_));
  }
  const bool spans_nodes = proto.scale_up().spans_nodes();
  if (const auto f = fields.Optional("scale_out")) {
    if (spans_nodes) {
      fields.Refuse(
          "scale_out",
          "set, but scale_up.spans_nodes joins all nodes already; leave "
          "one of the two out");
    }
    system.scale_out_ = ReadScaleOut(*f, system.nodes_, system.chips_per_node_);
  } else if (system.nodes_ > 1 && !spans_nodes) {
    fields.Refuse(
        "scale_out",
        fmt::format("not set, but there are {} nodes; write scale_out "
                    "{{ fabric {{ ... }} ... }}, or nodes: 1",
                    system.nodes_));
  }
  if (const auto f = fields.Optional("host")) system.host_ = ReadHost(*f);
  if (!fields.Has("collectives")) {
    fields.Refuse("collectives",
                  "not set; copy the collectives { ... } of a system that is "
                  "alike, as 'orrery show quickstart' prints it");
  }
  if (const auto f = fields.Optional("collectives")) {
    system.collectives_ = ReadNetworkCalibration(*f);
    CheckServes(system.collectives_, system.scale_up_.has_value(),
                system.scale_out_.has_value(), *f);
  }
  for (const FieldReader& fault : fields.Each("fault")) {
    system.faults_.push_back(ReadFault(fault, system.chips()));
  }
  system.slow_chips_ = ReadSlowChips(fields, system.chips());
  system.memory_headroom_ =
      fields.OptionalReal("memory_headroom", 0, 0.9).value_or(0);
  RETURN_IF_ERROR(violations.ToStatus());
  return system;
}

}  // namespace orrery
