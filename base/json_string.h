#pragma once
// JsonString: text as JSON writes it, in quotes and with everything escaped
// that must be (RFC 8259, section 7). What is not UTF-8 becomes U+FFFD, so that
// whatever a name holds, the document is JSON.
//
//   line += fmt::format("\"name\": {}", JsonString(name));
#include <absl/strings/string_view.h>

#include <string>

namespace orrery {

std::string JsonString(absl::string_view text);

}  // namespace orrery
