// Every row of validation/collective_costs.csv that is a closed form or a link
// load is reproduced; every other row is skipped for a reason that is counted.
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analytic/collective/collective_forms.h"
#include "analytic/collective/expert_forms.h"
#include "base/csv.h"
#include "tests/analytic/collective/cost_rows.h"
#include "tests/analytic/collective/plain_ports.h"
#include "tests/oracles/collective_cost.h"
#include "tests/oracles/loggops_cost.h"
#include "tests/oracles/nccl_tuner.h"
#include "tests/status_matchers.h"
#include "tests/topology/collectives/schedule_loads.h"
#include "tests/topology/graph/fabrics.h"
#include "topology/collectives/collective.h"
#include "topology/graph/generate_fat_tree.h"
#include "topology/graph/metrics.h"
#include "topology/routing/route.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

struct Expected {
  double value;
  // Relative; what the table's own digits allow.
  double tolerance;
};
struct Skipped {
  std::string reason;
};
using Outcome = std::variant<double, Skipped>;

constexpr double kClosedForm = 1e-9;

Outcome SinglePort(const CsvTable::Row& row) {
  const int p = Integers(Text(row, "shape_or_p"))[0];
  const Bytes m = SizeOf(row);
  const AlphaBeta port = PortOf(row);
  const std::string algorithm = Text(row, "algorithm");
  const std::string collective = Text(row, "collective");
  const MachinePorts ports = OnePortEach(p);
  const GroupNetwork group = Everyone(ports);
  const auto time = [&](const CollectiveForm& form) {
    return PricePlain(form, m, port).total();
  };
  // NVLS: the trip to the switch and the one back count as one message there.
  const AlphaBeta half_trip = {port.latency / 2.0, port.bandwidth};
  const std::map<std::string, Seconds> known = {
      {"all-reduce ring", time(RingForm(Kind::kAllReduce, group))},
      {"reduce-scatter ring", time(RingForm(Kind::kReduceScatter, group))},
      {"all-gather Bruck / recursive doubling",
       time(BruckForm(Kind::kAllGather, group))},
      {"all-reduce recursive doubling", time(RecursiveDoublingForm(group))},
      {"all-reduce Rabenseifner (RH+RD)", time(HalvingDoublingForm(group))},
      {"all-reduce in-network (SHARP-like, 1 switch level)",
       time(ReductionTreeForm(group))},
      {"all-reduce NVLS one-shot reduce+multicast",
       PricePlain(SwitchMulticastForm(Kind::kAllReduce, group), m, half_trip)
           .total()},
      {"all-to-all direct (all peers concurrently)",
       time(DirectForm(Kind::kAllToAll, group))},
      {"all-to-all pairwise exchange", PairwiseAllToAllCost(p, m, port)},
      {"all-to-all Bruck", BruckAllToAllCost(p, m, port)},
      {"broadcast binomial", BinomialBroadcastCost(p, m, port)},
      {"broadcast scatter + ring all-gather (van de Geijn)",
       ScatterAllGatherBroadcastCost(p, m, port)},
      {"broadcast pipelined chain, optimal segments (real-valued k)",
       BestChainBroadcastCost(p, m, port)}};
  const auto found = known.find(collective + " " + algorithm);
  if (found == known.end()) return Skipped{"unknown algorithm"};
  return Microseconds(found->second);
}

Outcome DirectNetwork(const CsvTable::Row& row) {
  const std::vector<int> shape = Integers(Text(row, "shape_or_p"));
  const std::string algorithm = Text(row, "algorithm");
  const MachinePorts ports = TorusPorts(shape);
  const GroupNetwork group = Everyone(ports);
  const int p = group.ranks();
  if (absl::StartsWith(algorithm, "Swing")) {
    // Both: the form, and the phases' largest link loads; over m/D.
    const Graph graph = UnitGraph(TorusFabric{shape, false}, p);
    const Schedule schedule =
        *MakeSchedule(Kind::kAllReduce, CollectiveAlgorithm::kSwing,
                      {.ranks = p, .grid = {shape.begin(), shape.end()}});
    const double loads =
        SumOfLargestLoads(graph, Routing::kDimensionOrdered, schedule);
    const double form = PriceForm(SwingForm(group), {.second_per_byte = 1}, {},
                                  Bytes(1), kEndlessPieces)
                            .wire.count();
    EXPECT_NEAR(loads, form, kClosedForm * form);
    return form * static_cast<double>(shape.size());
  }
  const Bytes m = SizeOf(row);
  const AlphaBeta link = PortOf(row);
  const auto time = [&](const CollectiveForm& form) {
    return Microseconds(PricePlain(form, m, link).total());
  };
  if (algorithm == "unidirectional ring") {
    return time(RingForm(Kind::kAllReduce, group));
  }
  if (absl::StartsWith(algorithm, "bidirectional ring")) {
    return time(BidirectionalRingForm(Kind::kAllReduce, group));
  }
  if (absl::StartsWith(algorithm, "bidirectional, shards")) {
    return time(BidirectionalRingForm(Kind::kAllGather, group));
  }
  if (absl::StartsWith(algorithm, "direct minimal")) {
    // All three: the formula, the form, and the loads of every pair's route.
    const double formula = Microseconds(TorusAllToAllWire(shape, m, link));
    const double form = Microseconds(
        PricePlain(DirectForm(Kind::kAllToAll, group), m, link).wire);
    EXPECT_NEAR(form, formula, kClosedForm * formula);
    const Graph graph = UnitGraph(TorusFabric{shape, false}, p);
    const Schedule schedule = *MakeSchedule(
        Kind::kAllToAll, CollectiveAlgorithm::kDirect, {.ranks = p});
    const double loads = Microseconds(link.Wire(
        SumOfLargestLoads(graph, Routing::kDimensionOrdered, schedule), m));
    EXPECT_NEAR(loads, formula, kClosedForm * formula);
    return form;
  }
  if (absl::StartsWith(algorithm, "bucket")) {
    return time(TorusBucketForm(group));
  }
  if (absl::StartsWith(algorithm, "lower bound")) {
    return Microseconds(TorusAllReduceBound(shape, m, link));
  }
  return Skipped{"unknown algorithm"};
}

Outcome TwistedTorus(const CsvTable::Row& row) {
  const std::string text = Text(row, "shape_or_p");
  const std::vector<int> shape = Integers(text);
  const int p = shape[0] * shape[1] * shape[2];
  const Graph graph =
      UnitGraph(TorusFabric{shape, absl::StrContains(text, "twisted")}, p);
  const Schedule schedule = *MakeSchedule(
      Kind::kAllToAll, CollectiveAlgorithm::kDirect, {.ranks = p});
  return SumOfLargestLoads(graph, Routing::kSpray, schedule);
}

Outcome Islands(const CsvTable::Row& row) {
  const std::vector<int> sizes = Integers(Text(row, "shape_or_p"));
  const std::vector<double> rates = Slashed(Text(row, "link_GBps"));
  std::vector<double> latencies = {0, 0};
  if (row.Get("alpha_us")) latencies = Slashed(Text(row, "alpha_us"));
  const AlphaBeta island = {Seconds(latencies[0] * 1e-6),
                            BytesPerSecond(rates[0] * 1e9)};
  const AlphaBeta network = {Seconds(latencies[1] * 1e-6),
                             BytesPerSecond(rates[1] * 1e9)};
  const MachinePorts ports = IslandPorts(sizes[0], sizes[1]);
  const Bytes m = SizeOf(row);
  const std::string algorithm = Text(row, "algorithm");
  if (absl::StartsWith(algorithm, "BlueConnect")) {
    return Microseconds(
        PricePlain(HierarchicalForm(Kind::kAllReduce, Everyone(ports)), m,
                   island, network, /*pieces=*/1)
            .total());
  }
  if (absl::StartsWith(algorithm, "same, perfectly pipelined")) {
    return Microseconds(
        PricePlain(HierarchicalForm(Kind::kAllReduce, Everyone(ports)), m,
                   island, network)
            .wire);
  }
  return Microseconds(PxnAllToAllWire(sizes[0], sizes[1], m, island, network));
}

Outcome Nccl(const CsvTable::Row& row, const NcclTuner& tuner) {
  // "Hopper, Intel CPU, 16 node(s) x 8 GPUs, nChannels=16, bwIntra=24.0, ..."
  const std::string text = Text(row, "shape_or_p");
  const auto after = [&](const std::string& key) {
    double value = 0;
    const size_t at = text.find(key) + key.size();
    const std::string rest = text.substr(at, text.find(',', at) - at);
    CHECK(absl::SimpleAtod(rest, &value)) << rest;
    return value;
  };
  const int nodes = Integers(text)[0];
  const NcclGraph graph = {nodes,
                           nodes * 8,
                           static_cast<int>(after("nChannels=")),
                           BytesPerSecond(after("bwIntra=") * 1e9),
                           BytesPerSecond(after("bwInter=") * 1e9),
                           Seconds(0)};
  const std::vector<std::string> name =
      absl::StrSplit(Text(row, "algorithm"), '/');
  const NcclAlgorithm algorithm = name[0] == "Ring"   ? NcclAlgorithm::kRing
                                  : name[0] == "Tree" ? NcclAlgorithm::kTree
                                  : name[0] == "NVLS"
                                      ? NcclAlgorithm::kNvls
                                      : NcclAlgorithm::kNvlsTree;
  const NcclProtocol protocol = name[1] == "LL"      ? NcclProtocol::kLl
                                : name[1] == "LL128" ? NcclProtocol::kLl128
                                                     : NcclProtocol::kSimple;
  const std::string unit = Text(row, "unit");
  if (unit == "us latency") {
    return Microseconds(tuner.Latency(algorithm, protocol, graph));
  }
  if (unit == "us predicted time") {
    return Microseconds(tuner.Time(algorithm, protocol, graph, SizeOf(row)));
  }
  return tuner.AlgorithmBandwidth(algorithm, protocol, graph).value() / 1e9;
}

// ASTRA-sim counts GB as 2^30 and cuts times to whole nanoseconds.
Outcome AstraSim(const CsvTable::Row& row) {
  const std::string shape = Text(row, "shape_or_p");
  if (absl::StrContains(shape, "all-pairs")) {
    return Skipped{"a queue of chunks per link: no such mode, flows share"};
  }
  const std::vector<double> latencies = Slashed(Text(row, "alpha_us"));
  const std::vector<double> rates = Slashed(Text(row, "link_GBps"));
  int hops = absl::StrContains(shape, "Ring16")     ? 3
             : absl::StrContains(shape, "Switch16") ? 2
                                                    : 1;
  size_t dimension = 0;
  if (latencies.size() > 1) {
    // Ring(2) x FullyConnected(8) x Switch(4): one hop, one hop, two hops.
    dimension = absl::StrContains(shape, "dim1")   ? 0
                : absl::StrContains(shape, "dim2") ? 1
                                                   : 2;
    hops = dimension == 2 ? 2 : 1;
  }
  const AlphaBeta link = {
      Seconds(latencies[dimension] * 1e-6),
      BytesPerSecond(rates[dimension] * 1024 * 1024 * 1024)};
  const Bytes m = SizeOf(row);
  const bool stores = absl::StrContains(Text(row, "algorithm"), "store");
  return std::floor(
      PointToPointCost(hops, m, stores ? m : Bytes(0), link).count() * 1e9);
}

Outcome Structure(const CsvTable::Row& row) {
  const std::string topology = Text(row, "topology");
  const std::string expected = Text(row, "expected");
  const std::vector<int> shape = Integers(Text(row, "shape_or_p"));
  const auto matches = [&](bool ok) {
    EXPECT_TRUE(ok) << "row " << Text(row, "id") << ": " << expected;
    return std::nan("");
  };
  if (topology == "fat tree") {
    const int tiers = shape[1];
    const int64_t hosts = absl::StrContains(expected, "2560")
                              ? 32768
                              : *FatTreeCapacity({tiers, 64, 1});
    const int64_t switches =
        SwitchCount(UnitGraph(FatTreeFabric{tiers, 64, 1, false}, hosts));
    if (hosts == 32768) return matches(switches == Integers(expected)[3]);
    return matches(hosts == Integers(expected)[0] &&
                   switches == Integers(expected)[1]);
  }
  if (topology == "dragonfly") {
    const int h = shape[0];
    const int groups = 2 * h * h + 1;
    const int hosts = 2 * h * h * groups;
    const Graph graph = UnitGraph(DragonflyFabric{h, 2 * h, h, groups}, hosts);
    return matches(hosts == Integers(expected)[0] &&
                   groups == Integers(expected)[1] &&
                   LargestRadix(graph) == Integers(expected)[2]);
  }
  if (topology == "torus 16x16x16") {
    const Graph graph = UnitGraph(TorusFabric{{16, 16, 16}, false}, 4096);
    return Bisection(graph).value() * *row.Number("link_GBps") * 1e9 / 1e12;
  }
  if (absl::StartsWith(topology, "rail-only")) {
    const int radix = shape[2];
    const int64_t only =
        SwitchCount(UnitGraph(RailOnlyFabric{radix}, 32768, 256));
    const int64_t with_spine = SwitchCount(
        UnitGraph(RailOptimizedFabric{3, radix, 1, false}, 32768, 256));
    return matches(only == Integers(expected)[0] &&
                   with_spine == Integers(expected)[1]);
  }
  return Skipped{"optical switches are not modelled"};
}

// "8 hosts, host 3", "L=2500 o=1500 g=1000", "G=6 (per byte), O=0".
Outcome LogGopsHost(const CsvTable::Row& row) {
  const std::vector<int> where = Integers(Text(row, "shape_or_p"));
  const std::vector<int> ends = Integers(Text(row, "alpha_us"));
  const std::vector<int> bytes = Integers(Text(row, "link_GBps"));
  CHECK_EQ(ends.size(), 3u);
  return LogGopsBinomialReduce(
             where[0], Bytes(static_cast<int64_t>(*row.Number("bytes_m"))),
             {.latency = Seconds(ends[0]),
              .overhead = Seconds(ends[1]),
              .gap = Seconds(ends[2]),
              .gap_per_byte = Seconds(bytes[0]),
              .overhead_per_byte =
                  Seconds(bytes[1])})[static_cast<size_t>(where[1])]
      .count();
}

Outcome Evaluate(const CsvTable::Row& row, const NcclTuner& tuner) {
  const std::string topology = Text(row, "topology");
  const std::string kind = Text(row, "kind");
  if (absl::StartsWith(topology, "single switch")) return SinglePort(row);
  if (absl::StartsWith(topology, "ring (") || topology == "torus") {
    return DirectNetwork(row);
  }
  if (absl::StartsWith(topology, "3D torus")) return TwistedTorus(row);
  if (absl::StartsWith(topology, "NVSwitch island")) return Islands(row);
  if (topology == "any") {
    const std::vector<int> n = Integers(Text(row, "shape_or_p"));
    return ExpectedPlaces(n[0], n[1], n[2]);
  }
  if (absl::StartsWith(topology, "IB 400G")) {
    return Microseconds(MoeDispatchWire(
        1, SizeOf(row), 1, 0, BytesPerSecond(*row.Number("link_GBps") * 1e9),
        BytesPerSecond(1)));
  }
  if (absl::StartsWith(topology, "NCCL 2.30.7")) return Nccl(row, tuner);
  if (topology == "ASTRA-sim analytical") return AstraSim(row);
  if (absl::StartsWith(kind, "structure")) return Structure(row);
  if (topology == "LogGOPS") return LogGopsHost(row);
  if (topology == "SimGrid CM02/LV08") return Skipped{"no TCP model"};
  if (absl::StrContains(topology, "max-min")) {
    return Skipped{"sharing: held in the tests of the engine"};
  }
  if (topology == "ECMP hashing") {
    return Skipped{"random draws: held in the tests of routes"};
  }
  if (absl::StartsWith(topology, "two rings")) {
    return Skipped{"sharing: held in the tests of the network"};
  }
  if (absl::StartsWith(kind, "measured") || kind == "maintainer statement") {
    return Skipped{"a measurement: see orrery validate collectives"};
  }
  return Skipped{"a published efficiency or error of others"};
}

TEST(CollectiveCosts, EveryApplicableRowIsReproduced) {
  NcclConstants constants;
  const CsvTable tuner_table = Load("validation/nccl_tuner.csv");
  for (const CsvTable::Row& row : tuner_table.rows()) {
    constants[Text(row, "name")] = *row.Number("value");
  }
  const NcclTuner tuner(constants);
  int reproduced = 0;
  std::map<std::string, int> skipped;
  const CsvTable table = Load("validation/collective_costs.csv");
  for (const CsvTable::Row& row : table.rows()) {
    SCOPED_TRACE("row " + Text(row, "id"));
    const Outcome outcome = Evaluate(row, tuner);
    if (const auto* skip = std::get_if<Skipped>(&outcome)) {
      ++skipped[skip->reason];
      continue;
    }
    ++reproduced;
    const double value = std::get<double>(outcome);
    if (std::isnan(value)) continue;  // counts, compared in place
    const double expected = *row.Number("expected");
    // The table keeps ten significant digits, and fewer of link loads.
    const std::string digits = Text(row, "expected");
    const size_t point = digits.find('.');
    const double last_digit =
        point == std::string::npos
            ? 0
            : 0.5 *
                  std::pow(10, -static_cast<double>(digits.size() - point - 1));
    EXPECT_NEAR(value, expected,
                std::max(kClosedForm * expected, last_digit * 1.0001));
  }
  EXPECT_EQ(reproduced, 293);
  const std::map<std::string, int> reasons = {
      {"a queue of chunks per link: no such mode, flows share", 1},
      {"no TCP model", 1},
      {"sharing: held in the tests of the engine", 8},
      {"random draws: held in the tests of routes", 6},
      {"sharing: held in the tests of the network", 2},
      {"optical switches are not modelled", 1},
      {"a measurement: see orrery validate collectives", 25},
      {"a published efficiency or error of others", 58}};
  EXPECT_EQ(skipped, reasons);
}

}  // namespace
}  // namespace orrery
