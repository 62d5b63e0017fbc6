#pragma once
// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, up to U+10FFFF.
//
//   if (const auto at = FirstNotUtf8(text)) ...   // a file in another encoding
#include <absl/strings/string_view.h>

#include <cstddef>
#include <optional>

namespace orrery {

// The number of bytes of the character at the start of `text`; zero if there is
// none. Requires: not empty.
size_t Utf8Length(absl::string_view text);

// Where `text` stops being UTF-8, or nothing if it never does.
std::optional<size_t> FirstNotUtf8(absl::string_view text);

}  // namespace orrery
