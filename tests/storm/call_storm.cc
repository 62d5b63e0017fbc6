#include "tests/storm/call_storm.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "analytic/collective/collective_bounds.h"
#include "analytic/collective/group_cost.h"
#include "analytic/collective/machine_ports.h"
#include "base/check.h"
#include "base/format.h"
#include "base/units_text.h"
#include "catalog/resolve.h"
#include "catalog/textproto.h"
#include "sim/network/call_planner.h"
#include "tests/storm/draw.h"
#include "tests/storm/draw_machine.h"
#include "tests/storm/transfer_laws.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

constexpr int kMostCallChips = 48;

struct DrawnMachine {
  pb::System proto;
  System system;
  Network network;
};

DrawnMachine DrawMachine(uint64_t seed, int64_t number) {
  const Catalog catalog;
  constexpr int kTries = 10000;
  Rng rng(seed, fmt::format("call storm {}", number));
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const pb::System drawn =
        Chance(rng, 0.2)
            ? DrawPlainSystem(catalog, seed, number, kMostCallChips, rng)
            : DrawSystem(catalog, seed, number, kMostCallChips, rng);
    pb::Scenario scenario;
    *scenario.mutable_system() = drawn;
    // What runs on it is of no matter here.
    scenario.mutable_model()->set_preset("llama3_8b");
    pb::Training& training = *scenario.mutable_training();
    training.set_global_batch(1);
    training.set_sequence(1024);
    training.set_precision(pb::BF16);
    const auto resolved =
        ResolveScenarioText(catalog, PrintTextproto(scenario), "storm", {});
    if (!resolved.ok()) continue;
    auto system = System::FromProto(resolved->system());
    if (!system.ok() || system->chips() < 2) continue;
    auto network = Network::Make(*system);
    if (!network.ok()) continue;
    return {resolved->system(), *std::move(system), *std::move(network)};
  }
  CHECK(false) << "no legal machine was drawn for " << seed << ", " << number;
  return DrawMachine(seed, number + 1);
}

// At least two chips, none twice.
std::vector<int> DrawGroup(const System& system, Rng& rng) {
  const int chips = system.chips();
  const auto up_to = [&](int most) {
    return static_cast<int>(rng.Between(2, std::max(2, most)));
  };
  std::vector<int> group;
  const auto run = [&](int size, int stride) {
    const int first = static_cast<int>(
        rng.Below(static_cast<uint64_t>(chips - (size - 1) * stride)));
    for (int i = 0; i < size; ++i) group.push_back(first + i * stride);
  };
  switch (rng.Below(5)) {
    case 0:
      run(up_to(chips), 1);
      break;
    case 1: {
      const int stride = DrawDivisor(rng, chips);
      run(stride < chips ? chips / stride : 2, stride < chips ? stride : 1);
      break;
    }
    case 2: {
      const int stride = static_cast<int>(rng.Between(1, chips - 1));
      run(up_to((chips - 1) / stride + 1), stride);
      break;
    }
    case 3:
      run(chips, 1);
      break;
    case 4: {
      group.resize(static_cast<size_t>(chips));
      std::iota(group.begin(), group.end(), 0);
      rng.Shuffle(group);
      group.resize(static_cast<size_t>(up_to(chips)));
      break;
    }
  }
  return group;
}

std::string RunsText(const std::vector<int>& group) {
  return fmt::format("{}", fmt::join(group, ","));
}

// Two that pass blocks around: each sends to the other at once.
void CheckPair(const std::vector<int>& group, GroupCost& cost,
               CallPlanner& planner, StormSheet& sheet) {
  constexpr double kExact = 0.001;
  const std::vector<int> pair = {group[0], group[1]};
  const CollectiveCall call{
      .kind = Kind::kPointToPoint,
      .bytes = Bytes(int64_t{16} << 20),
      .chips = {static_cast<VertexId>(pair[0]), static_cast<VertexId>(pair[1])},
      .shape = CallShape::kAroundTheRing};
  const auto planned = planner.Plan(call);
  sheet.Hold("has a plan", planned.ok(),
             std::string(planned.status().message()));
  if (!planned.ok()) return;
  const double simulated = ToSeconds(planned->solo);
  const double form = cost.RingStepTime(call.bytes, cost.Span(pair)).count();
  sheet.Hold("closed form, around the ring",
             std::abs(form / simulated - 1) <= kExact,
             fmt::format("{} over {}: {} closed form, {} simulated: {:+.3f} %",
                         BytesText(call.bytes.value()), RunsText(pair),
                         SecondsText(form), SecondsText(simulated),
                         100 * (form / simulated - 1)));
}

PlannedCall PlanOf(Kind kind, Bytes bytes, const std::vector<int>& group,
                   CallPlanner& planner) {
  CollectiveCall call{.kind = kind, .bytes = bytes, .chips = {}};
  for (const int chip : group) {
    call.chips.push_back(static_cast<VertexId>(chip));
  }
  auto planned = planner.Plan(call);
  CHECK(planned.ok()) << planned.status().ToString();
  return *std::move(planned);
}

Seconds TimeOf(Kind kind, Bytes bytes, const std::vector<int>& group,
               CallPlanner& planner) {
  return Seconds(ToSeconds(PlanOf(kind, bytes, group, planner).solo));
}

// A group on several islands, as its chips on each; empty on one, or where
// chips pass on what is sent to others.
std::vector<std::vector<int>> ByIsland(const Graph& graph,
                                       std::vector<int> group) {
  std::sort(group.begin(), group.end());
  std::map<int32_t, std::vector<int>> islands;
  for (const int chip : group) {
    const auto vertex = static_cast<VertexId>(chip);
    if (!graph.island(vertex) || graph.forwards(vertex)) return {};
    islands[*graph.island(vertex)].push_back(chip);
  }
  if (islands.size() < 2) return {};
  std::vector<std::vector<int>> chips;
  for (const auto& [island, members] : islands) chips.push_back(members);
  return chips;
}

// Every chip of n sends (n - 1) / n of a large buffer (Thakur et al. 2005).
double ShareSent(const std::vector<int>& chips) {
  return 1 - 1.0 / static_cast<double>(chips.size());
}

// A large call is paid for by the NICs of the island that has the fewest
// members, and by the links inside islands. Chips that come to an even part of
// the group, or one that leaves, change only the share of the buffer that every
// chip sends. The factor of two allows for lanes that enter and leave an island
// over one link; where switches add up for the smaller group alone, each of its
// chips sends half of what it sends around a ring.
void CheckUnevenGroup(const DrawnMachine& machine,
                      const std::vector<int>& group, CallPlanner& planner,
                      StormSheet& sheet) {
  constexpr double kBothWaysOnALink = 2;
  const Bytes bytes(int64_t{256} << 20);
  // The chip that is more may be the one whose links are slow.
  if (machine.proto.fault_size() > 0) return;
  const auto islands = ByIsland(machine.network.graph(), group);
  if (islands.empty()) return;
  const auto by_size = [](const auto& a, const auto& b) {
    return a.size() < b.size();
  };
  const size_t least =
      std::min_element(islands.begin(), islands.end(), by_size)->size();
  const std::vector<int>& largest =
      *std::max_element(islands.begin(), islands.end(), by_size);
  if (largest.size() < 2) return;
  std::vector<int> even;
  for (const std::vector<int>& members : islands) {
    even.insert(even.end(), members.begin(),
                members.begin() + static_cast<ptrdiff_t>(least));
  }
  std::vector<int> fewer = group;
  std::erase(fewer, largest.back());
  // An even group gives a lane away.
  const double lanes =
      largest.size() > least || least == 1
          ? 1
          : static_cast<double>(least) / static_cast<double>(least - 1);
  for (const Kind kind :
       {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter}) {
    const auto time = [&](const std::vector<int>& chips) {
      return TimeOf(kind, bytes, chips, planner).count();
    };
    double inside = 0;
    for (const std::vector<int>& members : islands) {
      if (members.size() > 1) inside = std::max(inside, time(members));
    }
    const auto hold = [&](const std::string& law, const std::vector<int>& more,
                          const std::vector<int>& less, double factor) {
      const double a = time(more);
      const double b = time(less);
      const bool adds_up =
          ReducesInNetwork(PlanOf(kind, bytes, less, planner).algorithm);
      const double sent_more =
          (adds_up ? 2 : 1) * ShareSent(more) / ShareSent(less);
      const double most = kBothWaysOnALink * factor * (sent_more * b + inside);
      sheet.HoldNear(
          law, std::max(0.0, a / most - 1), 0,
          fmt::format("{} over {}: {}, over {}: {}, inside {}", NameOf(kind),
                      RunsText(more), SecondsText(a), RunsText(less),
                      SecondsText(b), SecondsText(inside)));
    };
    if (even.size() < group.size()) {
      hold("chips beyond an even part cost little", group, even, 1);
    }
    hold("a chip more costs little", group, fewer, 1);
    hold("a chip less costs little", fewer, group, lanes);
  }
}

// Whoever calls first, the same chips take the same time where none is a root.
void CheckOrder(std::vector<int> group, Rng& rng, CallPlanner& planner,
                StormSheet& sheet) {
  const Bytes bytes(int64_t{1} << 20);
  const std::vector<int> given = group;
  rng.Shuffle(group);
  for (const Kind kind :
       {Kind::kAllReduce, Kind::kAllGather, Kind::kAllToAll}) {
    const Seconds a = TimeOf(kind, bytes, given, planner);
    const Seconds b = TimeOf(kind, bytes, group, planner);
    sheet.Hold("the order of ranks does not matter", a == b,
               fmt::format("{} over {}: {}, in order {}", NameOf(kind),
                           RunsText(group), SecondsText(b.count()),
                           SecondsText(a.count())));
  }
}

// One kind of call at all fidelities, by the algorithm that the library takes
// and by those that go round every chip of a group.
void CheckAlgorithms(const std::vector<int>& group, const Network& network,
                     StormSheet& sheet) {
  // Beyond, every message by itself takes long.
  constexpr size_t kMostRanks = 16;
  if (group.size() > kMostRanks) return;
  CollectiveCall call;
  for (const int chip : group) {
    call.chips.push_back(static_cast<VertexId>(chip));
  }
  for (const Kind kind :
       {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter,
        Kind::kAllToAll, Kind::kPointToPoint, Kind::kBroadcast,
        Kind::kReduce}) {
    call.kind = kind;
    for (const std::optional<CollectiveAlgorithm> algorithm :
         {std::optional<CollectiveAlgorithm>(),
          std::optional(CollectiveAlgorithm::kRing),
          std::optional(CollectiveAlgorithm::kBidirectionalRing),
          std::optional(CollectiveAlgorithm::kChain)}) {
      for (const int64_t bytes :
           {int64_t{3000}, int64_t{1} << 20, int64_t{256} << 20}) {
        call.bytes = Bytes(bytes);
        CheckFidelities(call, network, algorithm, sheet);
      }
    }
  }
}

void CheckCalls(const DrawnMachine& machine, Rng& rng, StormSheet& sheet) {
  auto cost = GroupCost::Create(machine.system);
  CHECK(cost.ok()) << cost.status().ToString();
  CallPlanner planner(machine.network, {.fidelity = Fidelity::kClosedForm});
  constexpr int kGroups = 4;
  double remaining = 1;  // of the most damaged link
  for (const pb::LinkFault& fault : machine.proto.fault()) {
    remaining = std::min(remaining, fault.remaining());
  }
  constexpr double kExact = 0.001;
  for (int i = 0; i < kGroups; ++i) {
    const std::vector<int> group = DrawGroup(machine.system, rng);
    const GroupSpan span = cost->Span(group);
    CollectiveCall call;
    for (const int chip : group) {
      call.chips.push_back(static_cast<VertexId>(chip));
    }
    for (const Kind kind :
         {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter,
          Kind::kAllToAll, Kind::kPointToPoint, Kind::kBroadcast,
          Kind::kReduce}) {
      for (const int64_t bytes :
           {int64_t{3000}, int64_t{1} << 20, int64_t{256} << 20}) {
        call.kind = kind;
        call.bytes = Bytes(bytes);
        const auto planned = planner.Plan(call);
        sheet.Hold("has a plan", planned.ok(),
                   std::string(planned.status().message()));
        if (!planned.ok()) continue;
        const double simulated = ToSeconds(planned->solo);
        const double bound =
            CollectiveLowerBound(kind, call.bytes, machine.network.graph(),
                                 call.chips,
                                 ReducesInNetwork(planned->algorithm))
                .count();
        constexpr double kRounding = 1e-9;
        sheet.Hold("no faster than the bound",
                   simulated >= bound * (1 - kRounding),
                   fmt::format("{} of {} over {} by {}: {}, bound {}",
                               NameOf(kind), BytesText(bytes), RunsText(group),
                               NameOf(planned->algorithm),
                               SecondsText(simulated), SecondsText(bound)));
        const double form = cost->Time(kind, call.bytes, span).count();
        sheet.HoldNear(
            fmt::format("closed form, {}", NameOf(kind)), form / simulated - 1,
            kExact,
            fmt::format("{} over {} by {} {}: {} closed form, {} "
                        "simulated: {:+.3f} %",
                        BytesText(bytes), RunsText(group),
                        NameOf(planned->algorithm), planned->protocol,
                        SecondsText(form), SecondsText(simulated),
                        100 * (form / simulated - 1)),
            {{"in network", ReducesInNetwork(planned->algorithm)},
             {"network adds up", PortsOf(machine.system).network_reduces},
             {"remaining", remaining}});
      }
    }
    CheckAlgorithms(group, machine.network, sheet);
    CheckPair(group, *cost, planner, sheet);
    CheckUnevenGroup(machine, group, planner, sheet);
    CheckOrder(group, rng, planner, sheet);
  }
}

}  // namespace

Storm CallStorm() {
  return {"calls",
          [](uint64_t seed, int64_t number) {
            return PrintTextproto(DrawMachine(seed, number).proto);
          },
          [](uint64_t seed, int64_t number, StormSheet& sheet) {
            const DrawnMachine machine = DrawMachine(seed, number);
            LabelMachine(machine.proto, sheet);
            sheet.Label(IsAsInCatalogue(machine.proto) ? "as in catalogue"
                                                       : "rewired");
            Rng rng(seed, fmt::format("calls of {}", number));
            CheckCalls(machine, rng, sheet);
          }};
}

}  // namespace orrery
