#pragma once
// A value as somebody typed it, for a line of a message.
//
//   fmt::format("must be true or false, got '{}'", Excerpt(text))
#include <absl/strings/string_view.h>

#include <cstddef>
#include <string>

namespace orrery {

// The first `most` bytes of whole characters. Control characters, and bytes
// that are not UTF-8, are escaped: "\n", "\x1B". The result is one line.
std::string Excerpt(absl::string_view text, size_t most = 80);

}  // namespace orrery
