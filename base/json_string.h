#pragma once
// JsonString: text as JSON writes it, in quotes and with everything escaped
// that must be (RFC 8259, section 7). Bytes that are not UTF-8 pass as they
// are.
//
//   line += fmt::format("\"name\": {}", JsonString(name));
#include <absl/strings/string_view.h>

#include <string>

namespace orrery {

std::string JsonString(absl::string_view text);

}  // namespace orrery
