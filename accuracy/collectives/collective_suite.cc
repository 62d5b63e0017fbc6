#include "accuracy/collectives/collective_suite.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "accuracy/collectives/measured_algorithm.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"
#include "sim/network/run_plans.h"
#include "topology/traffic/nccl_tests.h"

namespace orrery {
namespace {

// Messages of similar size, the largest first, and the bar of their mean, or of
// their median where times differ from harness to harness.
struct SizeClass {
  Bytes from;
  const char* name;
  std::optional<double> mean_bar;
  std::optional<double> median_bar;
};
constexpr SizeClass kSizeClasses[] = {
    {Bytes(64'000'000), "64 MB and more", 0.06, std::nullopt},
    {Bytes(1'000'000), "1 to 64 MB", std::nullopt, 0.20},
    {Bytes(0), "below 1 MB", std::nullopt, 0.35},
};

// A node with more is a rack of hosts.
constexpr int kMostChipsOfAHost = 16;

int ClassOf(Bytes bytes) {
  int i = 0;
  while (bytes < kSizeClasses[i].from) ++i;
  return i;
}

// The whole table's group, then the system's.
std::vector<GroupKey> GroupsOf(const CollectiveMeasurement& row) {
  const int rank = ClassOf(row.bytes);
  const char* part = kSizeClasses[rank].name;
  return {{.level = 0, .subject = "all", .rank = rank, .part = part},
          {.level = 1, .subject = row.system, .rank = rank, .part = part}};
}

// Machines, built once each, with a planner for each algorithm that rows force.
class Machines {
 public:
  struct Machine {
    std::string library;
    int chips_per_node = 0;
    Network network;
    std::map<MeasuredAlgorithm, CallPlanner> planners = {};

    CallPlanner& PlannerFor(const MeasuredAlgorithm& measured) {
      return planners
          .try_emplace(measured, network,
                       PlannerOptions{.algorithm = measured.algorithm,
                                      .protocol = measured.protocol})
          .first->second;
    }
  };

  absl::StatusOr<Machine*> Get(const CollectiveMeasurement& row) {
    ASSIGN_OR_RETURN(const int nodes, NodesOf(row));
    const std::pair<std::string, int> key = {row.system, nodes};
    auto found = machines_.find(key);
    if (found == machines_.end()) {
      found = machines_.emplace(key, Build(row.system, nodes)).first;
    }
    RETURN_IF_ERROR(found->second.status());
    return &*found->second;
  }

 private:
  // Nodes of the system: the row's hosts, or racks of them.
  absl::StatusOr<int> NodesOf(const CollectiveMeasurement& row) {
    auto found = chips_per_node_.find(row.system);
    if (found == chips_per_node_.end()) {
      ASSIGN_OR_RETURN(
          const pb::System proto,
          ResolveSystem(Catalog(), row.system, {"system.nodes=1"}));
      found = chips_per_node_.emplace(row.system, proto.chips_per_node()).first;
    }
    if (found->second <= kMostChipsOfAHost) return row.nodes;
    return (row.chips + found->second - 1) / found->second;
  }

  static absl::StatusOr<Machine> Build(const std::string& name, int nodes) {
    ASSIGN_OR_RETURN(const pb::System proto,
                     ResolveSystem(Catalog(), name,
                                   {fmt::format("system.nodes={}", nodes)}));
    ASSIGN_OR_RETURN(const System system, System::FromProto(proto));
    ASSIGN_OR_RETURN(Network network, Network::Make(system));
    return Machine{system.collectives().library, system.chips_per_node(),
                   std::move(network)};
  }

  // By system and nodes.
  std::map<std::pair<std::string, int>, absl::StatusOr<Machine>> machines_;
  std::map<std::string, int> chips_per_node_;
};

absl::StatusOr<AccuracyRow> PredictRow(const CollectiveMeasurement& row,
                                       Machines& machines) {
  ASSIGN_OR_RETURN(Machines::Machine* const machine, machines.Get(row));
  // Kernels for experts are of no such library; what its point-to-point
  // transfers attain stands for theirs.
  if (!row.traffic && !row.library.empty() &&
      !absl::StartsWith(row.library, machine->library)) {
    return absl::InvalidArgumentError(
        fmt::format("measured with '{}'; {} is calibrated for {}", row.library,
                    row.system, machine->library));
  }
  ASSIGN_OR_RETURN(const MeasuredAlgorithm measured,
                   ReadMeasuredAlgorithm(row.algorithm, row.bytes));
  CollectiveCall call = {row.kind, row.bytes, {}};
  call.shape = row.shape;
  call.traffic = row.traffic ? &*row.traffic : nullptr;
  if (machine->chips_per_node > kMostChipsOfAHost) {
    for (int chip = 0; chip < row.chips; ++chip) {
      call.chips.push_back(static_cast<VertexId>(chip));
    }
  } else {
    const int per_node = row.chips / row.nodes;
    if (per_node > machine->chips_per_node) {
      return absl::InvalidArgumentError(
          fmt::format("{} chips on a node; {} has {}", per_node, row.system,
                      machine->chips_per_node));
    }
    for (int node = 0; node < row.nodes; ++node) {
      for (int chip = 0; chip < per_node; ++chip) {
        call.chips.push_back(
            static_cast<VertexId>(node * machine->chips_per_node + chip));
      }
    }
  }
  // A planner knows one traffic of tokens.
  std::optional<CallPlanner> own;
  if (row.traffic) own.emplace(machine->network, PlannerOptions{});
  CallPlanner& planner = own ? *own : machine->PlannerFor(measured);
  ASSIGN_OR_RETURN(const PlannedCall planned, planner.Plan(call));
  const double alone = ToSeconds(RunPlans(
      machine->network.resources().capacities(), {{planned.plan, Time{}}})[0]);
  // Calls follow each other; none is over before the next can be started.
  const double seconds = std::max(alone, row.host);
  const double bytes =
      static_cast<double>(row.bytes.value()) * BusFactor(row.kind, row.chips);
  return AccuracyRow{
      .id = row.id,
      .line = row.line,
      .source = row.source,
      .measured = bytes / row.seconds,
      .predicted = bytes / seconds,
      .groups = GroupsOf(row),
      .facts = MeasuredCollective{
          .system = row.system,
          .kind = row.kind,
          .nodes = row.nodes,
          .chips = row.chips,
          .bytes = row.bytes,
          .measured_s = row.seconds,
          .predicted_s = seconds,
          .algorithm = fmt::format("{}/{}", NameOf(planned.algorithm),
                                   planned.protocol)}};
}

}  // namespace

AccuracyTable PredictCollectives(const CollectiveMeasurements& measurements,
                                 std::string origin) {
  AccuracyTable::Parts parts{.suite = Suite::kCollectives,
                             .origin = std::move(origin),
                             .rows = {},
                             .refused = {}};
  for (const RefusedRow& row : measurements.refused) {
    parts.refused.push_back({row});
  }
  Machines machines;
  for (const CollectiveMeasurement& row : measurements.rows) {
    absl::StatusOr<AccuracyRow> predicted = PredictRow(row, machines);
    if (!predicted.ok()) {
      parts.refused.push_back(
          {{row.line, row.id, std::string(predicted.status().message())},
           GroupsOf(row)});
      continue;
    }
    for (const GroupKey& key : predicted->groups) {
      const SizeClass& of = kSizeClasses[key.rank];
      parts.bars[key] = {.median = of.median_bar, .mean = of.mean_bar};
    }
    parts.rows.push_back(*std::move(predicted));
  }
  return AccuracyTable(std::move(parts));
}

absl::StatusOr<AccuracyTable> RunCollectiveSuite(
    const std::optional<std::string>& file) {
  ASSIGN_OR_RETURN(const MeasurementTable table, OpenCollectiveTable(file));
  ASSIGN_OR_RETURN(const MeasurementTable systems, OpenCollectiveSystems());
  ASSIGN_OR_RETURN(const MeasurementTable harnesses, OpenCollectiveHarnesses());
  return PredictCollectives(
      ReadCollectiveMeasurements(table, systems, &harnesses), table.origin());
}

}  // namespace orrery
