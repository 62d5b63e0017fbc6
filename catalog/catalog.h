#pragma once
// Catalog: the presets, by kind and name.
//
// Presets are read from the copy inside the program, whose text is parsed once;
// what is no preset's name but looks like a path is read from that file
// (preset_file.h). A lookup that fails says which kind was meant, which kind it
// is, the nearest known name and how to list them all.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <string>
#include <vector>

#include "catalog/embedded.h"
#include "proto/chip.pb.h"
#include "proto/cost.pb.h"
#include "proto/cost_models.pb.h"
#include "proto/engine.pb.h"
#include "proto/framework.pb.h"
#include "proto/kernels.pb.h"
#include "proto/model.pb.h"
#include "proto/scenario.pb.h"
#include "proto/study.pb.h"
#include "proto/system.pb.h"

namespace orrery {

class Catalog {
 public:
  // The presets that came with the program.
  Catalog() : presets_(EmbeddedPresets()) {}
  // Requires: sorted by kind, then name; outlives the catalogue.
  explicit Catalog(absl::Span<const EmbeddedPreset> presets)
      : presets_(presets) {}

  absl::Span<const EmbeddedPreset> presets() const { return presets_; }
  // "chips", "engines", "frameworks", "kernels", "models", "scenarios",
  // "studies", "systems"; of money, "cost_models", "packages", "packaging",
  // "prices", "processes".
  std::vector<std::string> Kinds() const;
  // Names of one kind, sorted.
  std::vector<std::string> Names(absl::string_view kind) const;
  bool Has(absl::string_view kind, absl::string_view name) const;
  // Of whatever kind.
  bool HasAny(absl::string_view name) const;
  // "a model", "a system": the kind of the preset `name`, or "".
  std::string KindOf(absl::string_view name) const;

  absl::StatusOr<pb::Chip> Chip(absl::string_view name) const;
  absl::StatusOr<pb::Engine> Engine(absl::string_view name) const;
  absl::StatusOr<pb::Framework> Framework(absl::string_view name) const;
  absl::StatusOr<pb::Kernels> Kernels(absl::string_view name) const;
  absl::StatusOr<pb::Study> Study(absl::string_view name) const;
  absl::StatusOr<pb::Model> Model(absl::string_view name) const;
  absl::StatusOr<pb::Scenario> Scenario(absl::string_view name) const;
  absl::StatusOr<pb::System> System(absl::string_view name) const;
  // Of money: processes, packagings, packages, prices, and the parameters of
  // published cost models.
  absl::StatusOr<pb::Process> Process(absl::string_view name) const;
  absl::StatusOr<pb::Packaging> Packaging(absl::string_view name) const;
  absl::StatusOr<pb::Package> Package(absl::string_view name) const;
  absl::StatusOr<pb::PriceList> Prices(absl::string_view name) const;
  absl::StatusOr<pb::ActuaryParameters> Actuary(absl::string_view name) const;
  absl::StatusOr<pb::CatchParameters> Catch(absl::string_view name) const;

 private:
  absl::StatusOr<const EmbeddedPreset*> Find(absl::string_view kind,
                                             absl::string_view name) const;
  template <class Message>
  absl::StatusOr<Message> Load(absl::string_view kind,
                               absl::string_view name) const;

  absl::Span<const EmbeddedPreset> presets_;
};

}  // namespace orrery
