#pragma once
// Which fields of a scenario's machine and software are not as its presets have
// them, and how far they are from measured ones.
//
//   const MeasuredFields measured(catalog, kinds);
//   for (const PresetChange& change :
//        measured.ChangesOf(scenario, "h100_sxm", "dgx_h100_ib400")) ...
//
// Compared are the system with its chip, the kernel library, and the framework
// or the engine; names, sources and what has no part in a run's time are not.
#include <absl/container/btree_map.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/table/run_kind.h"
#include "catalog/catalog.h"
#include "proto/scenario.pb.h"

namespace orrery {

struct PresetChange {
  std::string path;  // "system.chip.memory_bandwidth"
  std::string value;
  std::string preset_value = {};  // empty: unset
  // The value over the preset's, if both are numbers and the preset's is not
  // zero.
  std::optional<double> factor = std::nullopt;
  // Both are numbers, and the preset's is zero.
  bool from_zero = false;
  // It lies between the lowest and the highest value of measured machines, or
  // next to the preset's.
  bool within = false;
};

class MeasuredFields {
 public:
  // `kinds` are the measured ones; the catalogue must outlive this. For many
  // threads.
  MeasuredFields(const Catalog& catalog, std::vector<RunKind> kinds);

  // Compared with the presets `chip` and `system`; those furthest from measured
  // values come first. Requires: `scenario` is resolved.
  std::vector<PresetChange> ChangesOf(const pb::Scenario& scenario,
                                      const std::string& chip,
                                      const std::string& system) const;

 private:
  struct Field {
    std::string text;
    std::optional<double> number = std::nullopt;
  };
  using Fields = absl::btree_map<std::string, Field>;
  struct Range {
    double low = 0;
    double high = 0;
  };

  static Fields FieldsOf(const pb::Scenario& scenario);
  // Of numbers, the range over all measured machines.
  std::optional<Range> RangeOf(const std::string& path) const;
  // Whether any measured machine has this text.
  bool IsMeasured(const std::string& path, const std::string& text) const;

  void MakeMeasured() const;
  // Of all measured machines; made when the first change is looked at.
  const std::vector<Fields>& measured() const;

  const Catalog& catalog_;
  const std::vector<RunKind> kinds_;
  mutable std::once_flag once_;
  mutable std::vector<Fields> measured_;
};

}  // namespace orrery
