#include "cli/collective_accuracy.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.h"
#include "base/status.h"
#include "cli/network_flags.h"

namespace orrery {
namespace {

constexpr int kMostChips = 1'000'000;

// The preset for a row: its own column, else by source and hardware, else by
// hardware alone.
std::optional<std::string> SystemOf(const CsvTable::Row& row,
                                    const CsvTable& systems) {
  if (const auto named = row.Get("system")) return named;
  const auto source = row.Get("source_id");
  const auto hardware = row.Get("hardware");
  for (const CsvTable::Row& s : systems.rows()) {
    if (s.Get("source_id") && s.Get("source_id") != source) continue;
    if (hardware && s.Get("hardware") == hardware) return s.Get("system");
  }
  return std::nullopt;
}

std::optional<CollectiveAlgorithm> AlgorithmOf(const std::string& text) {
  if (text == "Ring") return CollectiveAlgorithm::kRing;
  if (text == "Tree") return CollectiveAlgorithm::kDoubleBinaryTree;
  if (text == "NVLS") return CollectiveAlgorithm::kSwitchMulticast;
  return std::nullopt;
}

std::optional<int> Whole(std::optional<double> number, int low, int high) {
  if (!number || *number < low || *number > high ||
      *number != std::floor(*number)) {
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

absl::StatusOr<CollectiveMeasurement> ReadRow(const CsvTable::Row& row,
                                              const CsvTable& systems) {
  if (!row.whole()) {
    return absl::InvalidArgumentError("not as many fields as the header");
  }
  CollectiveMeasurement result;
  result.id = row.Get("id").value_or("");
  result.library = row.Get("library").value_or("");
  result.algorithm = AlgorithmOf(row.Get("algo").value_or(""));
  const std::string collective = row.Get("collective").value_or("");
  const auto kind = ParseOperation(collective);
  if (!kind.ok()) {
    return absl::InvalidArgumentError(fmt::format(
        "collective '{}' is not one of ours", collective.substr(0, 80)));
  }
  result.kind = *kind;
  const auto chips = Whole(row.Number("num_gpus"), 2, kMostChips);
  if (!chips) {
    return absl::InvalidArgumentError("num_gpus is no number of chips above 1");
  }
  result.chips = *chips;
  const auto nodes =
      row.Get("nodes") ? Whole(row.Number("nodes"), 1, *chips) : 1;
  if (!nodes || *chips % *nodes != 0) {
    return absl::InvalidArgumentError("nodes does not divide num_gpus");
  }
  result.nodes = *nodes;
  const auto size = row.Number("size_bytes");
  if (!size || *size < 1 || *size > 1e15) {
    return absl::InvalidArgumentError("no size_bytes");
  }
  result.bytes = Bytes(std::llround(*size));
  const auto time = row.Number("time_us");
  const auto bandwidth = row.Number("busbw_GBps");
  if (time && *time > 0) {
    result.seconds = *time * 1e-6;
  } else if (bandwidth && *bandwidth > 0) {
    result.seconds =
        *size * BusFactor(result.kind, *chips) / (*bandwidth * 1e9);
  } else {
    return absl::InvalidArgumentError("neither time_us nor busbw_GBps");
  }
  const auto system = SystemOf(row, systems);
  if (!system) {
    return absl::InvalidArgumentError(
        fmt::format("no system is known for hardware '{}'; name one in a "
                    "column 'system'",
                    row.Get("hardware").value_or("").substr(0, 80)));
  }
  result.system = *system;
  return result;
}

CollectiveAccuracy Summarise(const std::string& system, SizeClass size,
                             std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  const size_t n = errors.size();
  double sum = 0;
  for (double e : errors) sum += e;
  return {.system = system,
          .size = size,
          .rows = static_cast<int>(n),
          .median = n % 2 == 1 ? errors[n / 2]
                               : (errors[n / 2 - 1] + errors[n / 2]) / 2,
          .mean = sum / static_cast<double>(n),
          .worst = errors.back()};
}

}  // namespace

absl::StatusOr<CollectiveMeasurements> ReadCollectiveMeasurements(
    const CsvTable& table, const CsvTable& systems) {
  for (absl::string_view column : {"collective", "num_gpus", "size_bytes"}) {
    if (!table.HasColumn(column)) {
      return absl::InvalidArgumentError(
          fmt::format("the table has no column '{}'", std::string(column)));
    }
  }
  CollectiveMeasurements result;
  for (const CsvTable::Row& row : table.rows()) {
    auto measurement = ReadRow(row, systems);
    if (measurement.ok()) {
      measurement->line = row.line();
      result.rows.push_back(*std::move(measurement));
    } else {
      result.refused.push_back(
          fmt::format("line {} ({}): {}", row.line(),
                      row.Get("id").value_or("no id").substr(0, 40),
                      std::string(measurement.status().message())));
    }
  }
  return result;
}

SizeClass ClassOf(Bytes bytes) {
  if (bytes >= Bytes(64'000'000)) return SizeClass::kLarge;
  return bytes >= Bytes(1'000'000) ? SizeClass::kMiddle : SizeClass::kSmall;
}

std::string_view NameOf(SizeClass size) {
  switch (size) {
    case SizeClass::kSmall:
      return "below 1 MB";
    case SizeClass::kMiddle:
      return "1 to 64 MB";
    case SizeClass::kLarge:
      return "64 MB and more";
  }
  return "";
}

double BarOf(SizeClass size) {
  switch (size) {
    case SizeClass::kSmall:
      return 0.35;
    case SizeClass::kMiddle:
      return 0.20;
    case SizeClass::kLarge:
      return 0.08;
  }
  return 0;
}

std::vector<CollectiveAccuracy> SummariseCollectives(
    absl::Span<const CollectivePrediction> predictions) {
  std::set<std::string> systems;
  for (const CollectivePrediction& p : predictions) {
    systems.insert(p.row->system);
  }
  std::vector<std::string> names = {"all"};
  names.insert(names.end(), systems.begin(), systems.end());
  std::vector<CollectiveAccuracy> result;
  for (const std::string& name : names) {
    for (SizeClass size : kSizeClasses) {
      std::vector<double> errors;
      for (const CollectivePrediction& p : predictions) {
        if ((name == "all" || p.row->system == name) &&
            ClassOf(p.row->bytes) == size) {
          errors.push_back(std::abs(p.error()));
        }
      }
      if (!errors.empty()) {
        result.push_back(Summarise(name, size, std::move(errors)));
      }
    }
  }
  return result;
}

}  // namespace orrery
