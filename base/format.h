#pragma once
// fmt for absl::string_view, which Debian builds as a type of its own.
#include <absl/strings/string_view.h>
#include <fmt/format.h>

#ifndef ABSL_USES_STD_STRING_VIEW
template <>
struct fmt::formatter<absl::string_view> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(absl::string_view text, Context& context) const {
    return fmt::formatter<fmt::string_view>::format(
        fmt::string_view(text.data(), text.size()), context);
  }
};
#endif
