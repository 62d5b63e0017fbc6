#include "base/json_string.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace orrery {

std::string JsonString(absl::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    const size_t length = Utf8Length(text.substr(at));
    if (length != 1) {
      out +=
          length == 0 ? "\xEF\xBF\xBD" : std::string(text.substr(at, length));
      at += length == 0 ? 1 : length;
      continue;
    }
    ++at;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

}  // namespace orrery
