#pragma once
// The presets of catalog/<kind>/*.textproto as they were at build time.
//
// The program carries its catalogue, so that it runs from anywhere.
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

namespace orrery {

struct EmbeddedPreset {
  absl::string_view kind;  // "chips", "kernels", "models", ...
  absl::string_view name;
  absl::string_view text;
};

// Sorted by kind, then name.
absl::Span<const EmbeddedPreset> EmbeddedPresets();

}  // namespace orrery
