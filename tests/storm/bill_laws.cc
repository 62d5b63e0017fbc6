#include "tests/storm/bill_laws.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <variant>

#include "base/format.h"
#include "run/scenario_cost.h"
#include "run/silicon_catalog.h"
#include "topology/graph/build.h"

namespace orrery {
namespace {

// Outside of nodes.
struct PartCount {
  double switches = 0;
  double host_links = 0;
  double fabric_links = 0;
  double chip_links = 0;
  double nic_links = 0;
  double nics = 0;
  double nic_ports = 0;
};

// What a cable may join: one serves both directions.
PartCount CountOnGraph(const Graph& graph, bool networked) {
  using enum VertexKind;
  PartCount count;
  std::map<std::tuple<VertexId, VertexId, LinkClassId>, std::pair<int, int>>
      cables;
  const auto inside = [&](VertexId a, VertexId b) {
    return graph.island(a).has_value() && graph.island(a) == graph.island(b);
  };
  std::map<VertexId, double> ports;
  for (const LinkId id : graph.links()) {
    const Link& link = graph.link(id);
    const auto [low, high] = std::minmax(link.from, link.to);
    auto& both = cables[{low, high, link.link_class}];
    (link.from == low ? both.first : both.second) += link.cables;
  }
  for (const auto& [ends, both] : cables) {
    const auto& [a, b, link_class] = ends;
    const auto is = [&](VertexKind kind) {
      return (graph.kind(a) == kind) + (graph.kind(b) == kind);
    };
    if (inside(a, b) || (is(kNic) == 1 && is(kChip) == 1)) continue;
    const double number = std::max(both.first, both.second);
    if (is(kNic) > 0 && !networked) continue;
    (is(kSwitch) == 2   ? count.fabric_links
     : is(kSwitch) == 1 ? count.host_links
     : is(kNic) == 2    ? count.nic_links
                        : count.chip_links) += number;
    for (const VertexId end : {a, b}) ports[end] += number;
  }
  for (const VertexId id : graph.vertices()) {
    if (graph.kind(id) == kSwitch && ports[id] > 0) ++count.switches;
    if (graph.kind(id) != kNic) continue;
    ++count.nics;
    count.nic_ports += std::max(1.0, ports[id]);
  }
  return count;
}

// Of a tree's switch; nothing for other topologies, which are bought as built.
int TreeRadix(const System& system) {
  if (!system.scale_out()) return 0;
  const FabricKind& kind = system.scale_out()->fabric.kind;
  if (const auto* tree = std::get_if<FatTreeFabric>(&kind)) return tree->radix;
  if (const auto* tree = std::get_if<RailOptimizedFabric>(&kind)) {
    return tree->radix;
  }
  if (const auto* rails = std::get_if<RailOnlyFabric>(&kind)) {
    return rails->radix;
  }
  return 0;
}

}  // namespace

void HoldBill(const ResolvedScenario& scenario, StormSheet& sheet) {
  const System& system = scenario.system;
  const auto machine = PriceMachine(scenario);
  const auto graph = BuildGraph(system);
  const auto prices = LoadPrices(Catalog(), scenario.proto.cost());
  if (!machine.ok() || !graph.ok() || !prices.ok() || machine->rented()) return;
  const bool alone = system.scale_out() && system.nodes() == 1;
  const PartCount built = CountOnGraph(*graph, !alone);

  std::map<std::string, double> bill;
  double power = 0;
  for (const BillItem& item : machine->items()) {
    const char* kinds[] = {" links between NICs",
                           " links between chips",
                           " host links",
                           " fabric links",
                           " switches",
                           " further NIC ports",
                           " NICs"};
    const auto* kind = std::find_if(
        std::begin(kinds), std::end(kinds),
        [&](const char* each) { return absl::EndsWith(item.what, each); });
    bill[kind == std::end(kinds) ? item.what : *kind] += item.count;
    power += item.count * prices->entries().at(item.price_id).power.value();
  }
  const auto equal = [&](const std::string& what, double bought, double there) {
    sheet.Hold(
        "the bill has every part once", bought == there,
        fmt::format("{}: {} are bought, {} are there", what, bought, there));
  };
  equal("chips", bill[system.chip().name()], system.chips());
  equal("NICs", bill[" NICs"], built.nics);
  equal("NIC ports", bill[" NICs"] + bill[" further NIC ports"],
        built.nic_ports);
  equal("links between NICs", bill[" links between NICs"], built.nic_links);
  equal("links between chips", bill[" links between chips"], built.chip_links);
  equal("host links", bill[" host links"], built.host_links);
  const int radix = TreeRadix(system);
  if (radix == 0) {
    equal("switches", bill[" switches"], built.switches);
    equal("fabric links", bill[" fabric links"], built.fabric_links);
  } else {
    // A tree is bought as far as it is used: with a port for every cable end.
    sheet.Hold(
        "the bill has every part once",
        bill[" switches"] <= built.switches &&
            bill[" fabric links"] <= built.fabric_links &&
            bill[" host links"] + 2 * bill[" fabric links"] <=
                radix * bill[" switches"],
        fmt::format("tree of {} ports: {} switches of {}, {} fabric links of "
                    "{}, {} host links",
                    radix, bill[" switches"], built.switches,
                    bill[" fabric links"], built.fabric_links,
                    bill[" host links"]));
  }

  const double limit =
      power +
      (system.chip().power() ? system.chip().power()->value() : 0) *
          system.chips() +
      (system.host() ? system.host()->power.value() : 0) * system.nodes();
  sheet.Hold(
      "what is bought draws its power",
      std::abs(machine->power_limit().value() - limit) <= 1e-9 * limit &&
          std::abs(machine->network_power().value() - power) <= 1e-9 * power,
      fmt::format("{} W of {} W by the bill, network {} W of {} W",
                  machine->power_limit().value(), limit,
                  machine->network_power().value(), power));
}

void HoldDraw(const ResolvedScenario& scenario, const pb::Report& report,
              StormSheet& sheet) {
  const pb::Report::EnergyResult& e = report.energy();
  const System& system = scenario.system;
  const auto machine = PriceMachine(scenario);
  const auto prices = LoadPrices(Catalog(), scenario.proto.cost());
  if (!e.has_joules_per_step() || !machine.ok() || !prices.ok()) return;
  std::map<std::string, double> factors;
  for (const auto& factor : report.cost().factors()) {
    factors[factor.id()] = factor.value().nominal();
  }
  const auto equal = [&](const std::string& what, double is, double should) {
    constexpr double kRounding = 1e-9;
    sheet.Hold("a machine draws what its parts do",
               std::abs(is - should) <= kRounding * std::abs(should),
               fmt::format("{}: {} is reported, {} follows", what, is, should));
  };
  // A pool is charged for its share of the machine.
  const auto chips = static_cast<double>(report.cost().chips());
  const double share = chips / system.chips();
  const double seconds =
      e.joules_per_step() / (e.machine_watts_per_chip() * chips);
  if (!report.has_inference()) equal("time", seconds, report.step_time_s());
  double network = 0;
  for (const BillItem& item : machine->items()) {
    network += item.count * prices->entries().at(item.price_id).power.value();
  }
  equal("network", e.network_joules(), network * share * seconds);
  const double hosts =
      system.host() ? system.host()->power.value() * system.nodes() : 0;
  equal("hosts", e.host_joules(),
        hosts * factors["power/host"] * share * seconds);
  const double limit = system.chip().power()->value() * chips * seconds;
  const double base = factors["power/base"];
  equal("idle chips", e.idle_joules(), limit * base);
  sheet.Hold("a machine draws what its parts do",
             e.arithmetic_joules() + e.memory_joules() <=
                 limit * (1 - base) * (1 + 1e-9),
             fmt::format("chips at work: {} J of {} J",
                         e.arithmetic_joules() + e.memory_joules(),
                         limit * (1 - base)));
}

}  // namespace orrery
