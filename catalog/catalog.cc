#include "catalog/catalog.h"

#include <absl/strings/strip.h>

#include <algorithm>

#include "base/format.h"
#include "base/status.h"
#include "catalog/nearest.h"
#include "catalog/textproto.h"

namespace orrery {
namespace {

// "chip" of "chips"; kernels come together.
absl::string_view OneOf(absl::string_view kind) {
  return kind == "kernels" ? "kernels preset" : absl::StripSuffix(kind, "s");
}

}  // namespace

std::vector<std::string> Catalog::Kinds() const {
  std::vector<std::string> kinds;
  for (const EmbeddedPreset& preset : presets_) {
    if (kinds.empty() || kinds.back() != preset.kind) {
      kinds.emplace_back(preset.kind);
    }
  }
  return kinds;
}

std::vector<std::string> Catalog::Names(absl::string_view kind) const {
  std::vector<std::string> names;
  for (const EmbeddedPreset& preset : presets_) {
    if (preset.kind == kind) names.emplace_back(preset.name);
  }
  return names;
}

bool Catalog::Has(absl::string_view kind, absl::string_view name) const {
  return std::any_of(presets_.begin(), presets_.end(),
                     [&](const EmbeddedPreset& preset) {
                       return preset.kind == kind && preset.name == name;
                     });
}

absl::StatusOr<const EmbeddedPreset*> Catalog::Find(
    absl::string_view kind, absl::string_view name) const {
  for (const EmbeddedPreset& preset : presets_) {
    if (preset.kind == kind && preset.name == name) return &preset;
  }
  return absl::NotFoundError(fmt::format(
      "there is no {} '{}'{} ('orrery list {}' shows them all)", OneOf(kind),
      name.substr(0, 80), DidYouMean(name, Names(kind)), kind));
}

template <class Message>
absl::StatusOr<Message> Catalog::Load(absl::string_view kind,
                                      absl::string_view name) const {
  ASSIGN_OR_RETURN(const EmbeddedPreset* preset, Find(kind, name));
  Message message;
  RETURN_IF_ERROR(ParseTextproto(
      preset->text, fmt::format("catalog/{}/{}.textproto", kind, name),
      &message));
  return message;
}

absl::StatusOr<pb::Chip> Catalog::Chip(absl::string_view name) const {
  return Load<pb::Chip>("chips", name);
}
absl::StatusOr<pb::Framework> Catalog::Framework(absl::string_view name) const {
  return Load<pb::Framework>("frameworks", name);
}
absl::StatusOr<pb::Kernels> Catalog::Kernels(absl::string_view name) const {
  return Load<pb::Kernels>("kernels", name);
}
absl::StatusOr<pb::Model> Catalog::Model(absl::string_view name) const {
  return Load<pb::Model>("models", name);
}
absl::StatusOr<pb::Scenario> Catalog::Scenario(absl::string_view name) const {
  return Load<pb::Scenario>("scenarios", name);
}
absl::StatusOr<pb::System> Catalog::System(absl::string_view name) const {
  return Load<pb::System>("systems", name);
}

}  // namespace orrery
