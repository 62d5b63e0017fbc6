#include "catalog/catalog.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/escaping.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/excerpt.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/nearest.h"
#include "catalog/preset_file.h"
#include "catalog/textproto.h"

namespace orrery {
namespace {

// "chip" of "chips"; kernels come together.
absl::string_view OneOf(absl::string_view kind) {
  if (kind == "kernels") return "kernels preset";
  if (kind == "processes") return "process";
  if (kind == "prices") return "price list";
  if (kind == "studies") return "study";
  if (kind == "cost_models") return "cost model";
  return absl::StripSuffix(kind, "s");
}

// A name as somebody typed it, in a line of a message.
std::string Shown(absl::string_view name) { return Excerpt(name); }

// Presets of the program as messages: their text is part of it and does not
// change, so each is parsed once, whoever asks. For many threads.
template <class Message>
class ParsedPresets {
 public:
  absl::StatusOr<const Message*> Find(const EmbeddedPreset& preset) {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<const Message>& known = parsed_[preset.text.data()];
    if (known == nullptr) {
      auto message = std::make_unique<Message>();
      RETURN_IF_ERROR(ParsePreset(preset, message.get()));
      known = std::move(message);
    }
    return known.get();
  }

  static absl::Status ParsePreset(const EmbeddedPreset& preset,
                                  Message* message) {
    return ParseTextproto(
        preset.text,
        fmt::format("catalog/{}/{}.textproto", preset.kind, preset.name),
        message);
  }

 private:
  std::mutex mutex_;
  absl::flat_hash_map<const char*, std::unique_ptr<const Message>> parsed_;
};

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

bool Catalog::HasAny(absl::string_view name) const {
  return std::any_of(
      presets_.begin(), presets_.end(),
      [&](const EmbeddedPreset& preset) { return preset.name == name; });
}

std::string Catalog::KindOf(absl::string_view name) const {
  for (const EmbeddedPreset& preset : presets_) {
    if (preset.name == name) return fmt::format("a {}", OneOf(preset.kind));
  }
  return "";
}

absl::StatusOr<const EmbeddedPreset*> Catalog::Find(
    absl::string_view kind, absl::string_view name) const {
  for (const EmbeddedPreset& preset : presets_) {
    if (preset.kind == kind && preset.name == name) return &preset;
  }
  if (const std::string other = KindOf(name); !other.empty()) {
    return absl::NotFoundError(fmt::format(
        "'{}' is {}, and a {} is needed here ('orrery list {}' shows them all)",
        name, other, OneOf(kind), kind));
  }
  return absl::NotFoundError(fmt::format(
      "there is no {} '{}'{} ('orrery list {}' shows them all; a path of a "
      "file has a dot or a slash)",
      OneOf(kind), Shown(name), DidYouMean(name, Names(kind)), kind));
}

template <class Message>
absl::StatusOr<Message> Catalog::Load(absl::string_view kind,
                                      absl::string_view name) const {
  Message message;
  if (!Has(kind, name) && LooksLikePath(name)) {
    const std::string path(name);
    const absl::StatusOr<std::string> text = ReadFile(path);
    if (!text.ok()) {
      return Annotate(text.status(),
                      fmt::format("there is no {} '{}'{}", OneOf(kind),
                                  Shown(name), DidYouMean(name, Names(kind))));
    }
    RETURN_IF_ERROR(CheckMessageComment(*text, path, *Message::descriptor()));
    RETURN_IF_ERROR(ParseTextproto(*text, path, &message));
    RebasePaths(*this, path, &message);
    return message;
  }
  ASSIGN_OR_RETURN(const EmbeddedPreset* preset, Find(kind, name));
  if (presets_.data() == EmbeddedPresets().data()) {
    static ParsedPresets<Message> parsed;
    ASSIGN_OR_RETURN(const Message* known, parsed.Find(*preset));
    return *known;
  }
  RETURN_IF_ERROR(ParsedPresets<Message>::ParsePreset(*preset, &message));
  return message;
}

absl::StatusOr<pb::Chip> Catalog::Chip(absl::string_view name) const {
  return Load<pb::Chip>("chips", name);
}
absl::StatusOr<pb::Engine> Catalog::Engine(absl::string_view name) const {
  return Load<pb::Engine>("engines", name);
}
absl::StatusOr<pb::Framework> Catalog::Framework(absl::string_view name) const {
  return Load<pb::Framework>("frameworks", name);
}
absl::StatusOr<pb::Study> Catalog::Study(absl::string_view name) const {
  return Load<pb::Study>("studies", name);
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
absl::StatusOr<pb::Process> Catalog::Process(absl::string_view name) const {
  return Load<pb::Process>("processes", name);
}
absl::StatusOr<pb::Packaging> Catalog::Packaging(absl::string_view name) const {
  return Load<pb::Packaging>("packaging", name);
}
absl::StatusOr<pb::Package> Catalog::Package(absl::string_view name) const {
  return Load<pb::Package>("packages", name);
}
absl::StatusOr<pb::PriceList> Catalog::Prices(absl::string_view name) const {
  return Load<pb::PriceList>("prices", name);
}
absl::StatusOr<pb::ActuaryParameters> Catalog::Actuary(
    absl::string_view name) const {
  return Load<pb::ActuaryParameters>("cost_models", name);
}
absl::StatusOr<pb::CatchParameters> Catalog::Catch(
    absl::string_view name) const {
  return Load<pb::CatchParameters>("cost_models", name);
}

}  // namespace orrery
