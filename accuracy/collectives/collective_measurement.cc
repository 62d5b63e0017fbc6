#include "accuracy/collectives/collective_measurement.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <utility>
#include <vector>

#include "accuracy/collectives/expert_measurement.h"
#include "base/status.h"
#include "topology/traffic/nccl_tests.h"

namespace orrery {
namespace {

constexpr int64_t kMostChips = 1'000'000;
constexpr int64_t kMostBytes = 1'000'000'000'000'000;

// The preset for a row: its own column, else by source and hardware, else by
// hardware alone.
absl::StatusOr<std::string> SystemOf(const MeasurementRow& row,
                                     const MeasurementTable& systems) {
  if (const auto named = row.Get("system")) return *named;
  const std::string hardware = row.Text("hardware");
  for (const MeasurementRow& known : systems.rows()) {
    if (known.Has("source_id") &&
        known.Text("source_id") != row.Text("source_id")) {
      continue;
    }
    if (!hardware.empty() && known.Text("hardware") == hardware) {
      return known.Text("system");
    }
  }
  return row.Wrong("hardware",
                   "that of a known system (a column 'system' may name a "
                   "preset instead)");
}

absl::StatusOr<CommunicationKind> KindOf(const MeasurementRow& row) {
  if (const auto kind = OperationNamed(row.Text("collective"))) return *kind;
  std::vector<std::string> known;
  for (const OperationName& name : OperationNames()) {
    if (name.text == NameOf(name.kind)) known.emplace_back(name.text);
  }
  return row.Wrong("collective", "one of " + absl::StrJoin(known, ", "));
}

absl::StatusOr<double> SecondsOf(const MeasurementRow& row,
                                 const CollectiveMeasurement& call) {
  if (row.Has("busbw_GBps") && !row.Has("time_us")) {
    ASSIGN_OR_RETURN(const double bandwidth, row.Positive("busbw_GBps"));
    return static_cast<double>(call.bytes.value()) *
           BusFactor(call.kind, call.chips) / (bandwidth * 1e9);
  }
  ASSIGN_OR_RETURN(const double microseconds, row.Positive("time_us"));
  return microseconds * 1e-6;
}

double HostOf(const MeasurementRow& row, const MeasurementTable* harnesses) {
  if (harnesses == nullptr) return 0;
  for (const MeasurementRow& harness : harnesses->rows()) {
    if (harness.Text("source_id") != row.Text("source_id") ||
        harness.Text("kernel") != row.Text("collective")) {
      continue;
    }
    return harness.Positive("overhead_us").value_or(0) * 1e-6;
  }
  return 0;
}

absl::StatusOr<CollectiveMeasurement> Read(const MeasurementRow& row,
                                           const MeasurementTable& systems,
                                           const MeasurementTable* harnesses) {
  CollectiveMeasurement result;
  result.id = row.id();
  result.line = row.line();
  result.source = row.Text("source_id");
  result.library = row.Text("library");
  result.algorithm = row.Text("algo");
  result.host = HostOf(row, harnesses);
  const bool of_experts = IsExpertExchange(row);
  if (!of_experts) {
    ASSIGN_OR_RETURN(result.kind, KindOf(row));
  }
  ASSIGN_OR_RETURN(const int64_t chips, row.Whole("num_gpus", 2, kMostChips));
  result.chips = static_cast<int>(chips);
  if (row.Has("nodes")) {
    ASSIGN_OR_RETURN(const int64_t nodes, row.Whole("nodes", 1, chips));
    if (chips % nodes != 0) return row.Wrong("nodes", "a divisor of num_gpus");
    result.nodes = static_cast<int>(nodes);
  }
  if (of_experts) {
    RETURN_IF_ERROR(ReadExpertExchange(row, &result));
  } else {
    ASSIGN_OR_RETURN(const int64_t bytes,
                     row.Whole("size_bytes", 1, kMostBytes));
    result.bytes = Bytes(bytes);
    ASSIGN_OR_RETURN(result.seconds, SecondsOf(row, result));
  }
  ASSIGN_OR_RETURN(result.system, SystemOf(row, systems));
  return result;
}

}  // namespace

absl::StatusOr<MeasurementTable> OpenCollectiveTable(
    const std::optional<std::string>& file) {
  return MeasurementTable::Open(file, "collectives.csv",
                                {"collective", "num_gpus", "size_bytes",
                                 "time_us|busbw_GBps", "system|hardware"});
}

absl::StatusOr<MeasurementTable> OpenCollectiveSystems() {
  return MeasurementTable::Open(std::nullopt, "collective_systems.csv",
                                {"source_id", "hardware", "system"});
}

absl::StatusOr<MeasurementTable> OpenCollectiveHarnesses() {
  return MeasurementTable::Open(std::nullopt, "harnesses.csv",
                                {"source_id", "kernel", "overhead_us"});
}

CollectiveMeasurements ReadCollectiveMeasurements(
    const MeasurementTable& table, const MeasurementTable& systems,
    const MeasurementTable* harnesses) {
  return ReadMeasurements<CollectiveMeasurement>(
      table,
      [&](const MeasurementRow& row) { return Read(row, systems, harnesses); });
}

}  // namespace orrery
