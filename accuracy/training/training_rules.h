#pragma once
// TrainingRules: how the words of published training tables are read.
//
// Which system preset stands for which hardware, which model preset for which
// family, which framework preset for which software of which time, and what
// each framework does where a row does not say. The rules are tables
// (validation/training_systems.csv, _models.csv, _frameworks.csv), one line for
// all rows that it fits, so that nothing belongs to a row. What the recipes of
// a framework's releases set for a model on a chip, and tables do not print, is
// in validation/training_recipes.csv.
//
//   ASSIGN_OR_RETURN(const TrainingRules rules, TrainingRules::Open());
//   ASSIGN_OR_RETURN(const SystemRule system, rules.SystemOf(row));
#include <absl/status/statusor.h>

#include <string>
#include <utility>
#include <vector>

#include "accuracy/table/measurement_table.h"

namespace orrery {

struct SystemRule {
  // What of the machine a row's chips make up.
  enum class Domain {
    kNodes,   // whole nodes of the preset
    kRacks,   // racks of which a job takes `chips`, the last one fewer
    kPod,     // one fabric over all hosts
    kSlices,  // as many fabrics as the row has slices, joined by the hosts
  };
  std::string preset;
  Domain domain = Domain::kNodes;
  int chips = 0;
};

struct ModelRule {
  std::string preset;
  // The row's sizes are those of the model; otherwise they must be the
  // preset's.
  bool sizes_of_row = true;
};

// The preset, and what columns mean that are not set.
struct FrameworkRule {
  std::string preset = {};
  bool interleaves = false;
  std::string sharding = {};
  std::string sequence_parallel = {};
};

class TrainingRules {
 public:
  static absl::StatusOr<TrainingRules> Open();

  // By the column `system`, or `hardware` and `interconnect`.
  absl::StatusOr<SystemRule> SystemOf(const MeasurementRow& row) const;
  absl::StatusOr<ModelRule> ModelOf(const MeasurementRow& row) const;
  // Without a column `framework`: the preset is empty, the chip's default.
  absl::StatusOr<FrameworkRule> FrameworkOf(const MeasurementRow& row) const;
  // Overrides of the scenario ("training.overlap_tensor=true") by all lines
  // that begin like the row, and have its numbers of stages if they have any,
  // in their order.
  std::vector<std::string> RecipeOf(const MeasurementRow& row) const;

 private:
  TrainingRules(MeasurementTable systems, MeasurementTable models,
                MeasurementTable frameworks, MeasurementTable recipes)
      : systems_(std::move(systems)),
        models_(std::move(models)),
        frameworks_(std::move(frameworks)),
        recipes_(std::move(recipes)) {}

  MeasurementTable systems_;
  MeasurementTable models_;
  MeasurementTable frameworks_;
  MeasurementTable recipes_;
};

}  // namespace orrery
