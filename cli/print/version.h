#pragma once
// What `orrery --version` says, and what results carry.
#include <absl/strings/string_view.h>

namespace orrery {

inline constexpr absl::string_view kVersion = "0.1.0";

}  // namespace orrery
