#include "base/excerpt.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

#include "base/format.h"
#include "base/utf8.h"

namespace orrery {
namespace {

std::string Escaped(unsigned char c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  return fmt::format("\\x{:02X}", c);
}

}  // namespace

std::string Excerpt(absl::string_view text, size_t most) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(text.substr(at));
    if (at + (length == 0 ? 1 : length) > most) break;
    const auto first = static_cast<unsigned char>(text[at]);
    if (length == 0 || absl::ascii_iscntrl(first)) {
      shown += Escaped(first);
      ++at;
    } else {
      absl::StrAppend(&shown, text.substr(at, length));
      at += length;
    }
  }
  return shown;
}

}  // namespace orrery
