#pragma once
// The tables of validation/ that commands read, as they were at build time.
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

namespace orrery {

struct EmbeddedFile {
  absl::string_view name;  // "kernels.csv"
  absl::string_view text;
};

absl::Span<const EmbeddedFile> ValidationFiles();

// The text of a table. Requires: it is one of those listed in CMakeLists.txt.
absl::string_view ValidationText(absl::string_view name);

}  // namespace orrery
