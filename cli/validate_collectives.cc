// orrery validate collectives: measured collectives against the network model.
#include <absl/strings/match.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/validation_data.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "cli/collective_accuracy.h"
#include "cli/json.h"
#include "cli/network_flags.h"
#include "cli/output.h"
#include "cli/validate_suites.h"
#include "cli/validation_table.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"
#include "sim/network/run_plans.h"

namespace orrery {
namespace {

struct Predictions {
  std::vector<CollectivePrediction> rows;
  std::vector<std::string> refused;
};

// Machines, built once each, with a planner for each algorithm that rows force.
class Machines {
 public:
  struct Machine {
    std::string library;
    int chips_per_node = 0;
    Network network;
    std::map<std::optional<CollectiveAlgorithm>, CallPlanner> planners = {};

    CallPlanner& PlannerFor(std::optional<CollectiveAlgorithm> algorithm) {
      return planners
          .try_emplace(algorithm, network,
                       PlannerOptions{.algorithm = algorithm})
          .first->second;
    }
  };

  absl::StatusOr<Machine*> Get(const CollectiveMeasurement& row) {
    const std::pair<std::string, int> key = {row.system, row.nodes};
    auto found = machines_.find(key);
    if (found == machines_.end()) {
      found = machines_.emplace(key, Build(row)).first;
    }
    RETURN_IF_ERROR(found->second.status());
    return &*found->second;
  }

 private:
  static absl::StatusOr<Machine> Build(const CollectiveMeasurement& row) {
    ASSIGN_OR_RETURN(
        const pb::System proto,
        ResolveSystem(Catalog(), row.system,
                      {fmt::format("system.nodes={}", row.nodes)}));
    ASSIGN_OR_RETURN(const System system, System::FromProto(proto));
    ASSIGN_OR_RETURN(Network network, Network::Make(system));
    return Machine{system.collectives().library, system.chips_per_node(),
                   std::move(network)};
  }

  // By system and nodes.
  std::map<std::pair<std::string, int>, absl::StatusOr<Machine>> machines_;
};

absl::StatusOr<CollectivePrediction> Predict(const CollectiveMeasurement& row,
                                             Machines& machines) {
  ASSIGN_OR_RETURN(Machines::Machine* const machine, machines.Get(row));
  if (!row.library.empty() &&
      !absl::StartsWith(row.library, machine->library)) {
    return absl::InvalidArgumentError(
        fmt::format("measured with '{}'; {} is calibrated for {}", row.library,
                    row.system, machine->library));
  }
  const int per_node = row.chips / row.nodes;
  if (per_node > machine->chips_per_node) {
    return absl::InvalidArgumentError(
        fmt::format("{} chips on a node; {} has {}", per_node, row.system,
                    machine->chips_per_node));
  }
  CollectiveCall call = {row.kind, row.bytes, {}};
  for (int node = 0; node < row.nodes; ++node) {
    for (int chip = 0; chip < per_node; ++chip) {
      call.chips.push_back(
          static_cast<VertexId>(node * machine->chips_per_node + chip));
    }
  }
  ASSIGN_OR_RETURN(const PlannedCall planned,
                   machine->PlannerFor(row.algorithm).Plan(call));
  const double seconds = ToSeconds(RunPlans(
      machine->network.resources().capacities(), {{planned.plan, Time{}}})[0]);
  const double bytes =
      static_cast<double>(row.bytes.value()) * BusFactor(row.kind, row.chips);
  return CollectivePrediction{
      .row = &row,
      .seconds = seconds,
      .algorithm =
          fmt::format("{}/{}", NameOf(planned.algorithm), planned.protocol),
      .measured_busbw = bytes / row.seconds,
      .predicted_busbw = bytes / seconds};
}

Predictions PredictAll(const CollectiveMeasurements& measurements) {
  Predictions result;
  result.refused = measurements.refused;
  Machines machines;
  for (const CollectiveMeasurement& row : measurements.rows) {
    auto prediction = Predict(row, machines);
    if (prediction.ok()) {
      result.rows.push_back(*std::move(prediction));
    } else {
      result.refused.push_back(
          fmt::format("line {} ({}): {}", row.line,
                      row.id.empty() ? "no id" : row.id.substr(0, 40),
                      std::string(prediction.status().message())));
    }
  }
  return result;
}

std::string Percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

// Every row, as text or as Markdown.
std::string RowTable(const Predictions& predictions, bool markdown) {
  std::string text =
      markdown
          ? "| row | system | collective | chips | bytes | measured GB/s | "
            "predicted GB/s | error | algorithm |\n"
            "|---|---|---|---|---|---|---|---|---|\n"
          : fmt::format(
                "{:<8} {:<17} {:<15} {:>5} {:>12} {:>9} {:>9} "
                "{:>9}  {}\n",
                "row", "system", "collective", "chips", "bytes", "measured",
                "predicted", "error", "algorithm");
  for (const CollectivePrediction& p : predictions.rows) {
    text += fmt::format(
        fmt::runtime(
            markdown
                ? "| {} | {} | {} | {} | {} | {:.4g} | {:.4g} | {:+.1f} % | "
                  "{} |\n"
                : "{:<8} {:<17} {:<15} {:>5} {:>12} {:>9.4g} {:>9.4g} "
                  "{:>+7.1f} %  {}\n"),
        p.row->id, p.row->system, NameOf(p.row->kind), p.row->chips,
        p.row->bytes.value(), p.measured_busbw / 1e9, p.predicted_busbw / 1e9,
        100 * p.error(), p.algorithm);
  }
  return text + "\n";
}

std::string Summary(absl::Span<const CollectiveAccuracy> groups,
                    bool markdown) {
  std::string text =
      markdown ? "| system | messages | rows | median | mean | worst | bar | "
                 "|\n|---|---|---|---|---|---|---|---|\n"
               : fmt::format("{:<17} {:<15} {:>5} {:>8} {:>8} {:>9} {:>8}\n",
                             "system", "messages", "rows", "median", "mean",
                             "worst", "bar");
  for (const CollectiveAccuracy& g : groups) {
    text += fmt::format(
        fmt::runtime(markdown
                         ? "| {} | {} | {} | {} | {} | {} | {} | {} |\n"
                         : "{:<17} {:<15} {:>5} {:>8} {:>8} {:>9} {:>8} {}\n"),
        g.system, NameOf(g.size), g.rows, Percent(g.median), Percent(g.mean),
        Percent(g.worst), Percent(BarOf(g.size)), g.met() ? "met" : "missed");
  }
  return text;
}

std::string Json(const Predictions& predictions,
                 absl::Span<const CollectiveAccuracy> groups) {
  std::string text = "{\n  \"suite\": \"collectives\",\n  \"groups\": [";
  const char* separator = "\n";
  for (const CollectiveAccuracy& g : groups) {
    text += fmt::format(
        "{}    {{\"system\": {}, \"messages\": {}, \"rows\": {}, \"median\": "
        "{}, \"mean\": {}, \"worst\": {}, \"bar\": {}, \"met\": {}}}",
        separator, JsonString(g.system),
        JsonString(std::string(NameOf(g.size))), g.rows, JsonNumber(g.median),
        JsonNumber(g.mean), JsonNumber(g.worst), JsonNumber(BarOf(g.size)),
        g.met());
    separator = ",\n";
  }
  text += "\n  ],\n  \"rows\": [";
  separator = "\n";
  for (const CollectivePrediction& p : predictions.rows) {
    text += fmt::format(
        "{}    {{\"id\": {}, \"system\": {}, \"collective\": {}, \"nodes\": "
        "{}, \"chips\": {}, \"size_bytes\": {}, \"measured_s\": {}, "
        "\"predicted_s\": {}, \"measured_busbw_gbps\": {}, "
        "\"predicted_busbw_gbps\": {}, \"error\": {}, \"algorithm\": {}}}",
        separator, JsonString(p.row->id), JsonString(p.row->system),
        JsonString(std::string(NameOf(p.row->kind))), p.row->nodes,
        p.row->chips, p.row->bytes.value(), JsonNumber(p.row->seconds),
        JsonNumber(p.seconds), JsonNumber(p.measured_busbw / 1e9),
        JsonNumber(p.predicted_busbw / 1e9), JsonNumber(p.error()),
        JsonString(p.algorithm));
    separator = ",\n";
  }
  text += "\n  ],\n  \"refused\": [";
  separator = "\n";
  for (const std::string& line : predictions.refused) {
    text += fmt::format("{}    {}", separator, JsonString(line));
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
}

}  // namespace

absl::StatusOr<ExitCode> ValidateCollectives(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const ValidationTable table,
                   OpenValidationTable(arguments, "collectives.csv"));
  auto systems = CsvTable::Parse(ValidationText("collective_systems.csv"));
  RETURN_IF_ERROR(systems.status());
  auto measurements = ReadCollectiveMeasurements(table.rows, *systems);
  if (!measurements.ok()) return Annotate(measurements.status(), table.origin);
  const Predictions predictions = PredictAll(*measurements);
  const std::vector<CollectiveAccuracy> groups =
      SummariseCollectives(predictions.rows);
  // The bars are for the whole table.
  const bool met = std::all_of(
      groups.begin(), groups.end(),
      [](const CollectiveAccuracy& g) { return g.system != "all" || g.met(); });
  const ExitCode code =
      met && !predictions.rows.empty() ? ExitCode::kDone : ExitCode::kNo;
  if (const auto json = arguments.Get("json")) {
    RETURN_IF_ERROR(WriteFile(*json, Json(predictions, groups)));
    return code;
  }
  const bool markdown = arguments.Has("markdown");
  std::string out;
  if (arguments.Has("rows") && !markdown) out += RowTable(predictions, false);
  out += Summary(groups, markdown);
  if (arguments.Has("rows") && markdown) {
    out += "\n" + RowTable(predictions, true);
  }
  if (!markdown) {
    out += RefusedText(predictions.rows.size(), predictions.refused);
  }
  RETURN_IF_ERROR(Print(out).status());
  return code;
}

}  // namespace orrery
