#pragma once
// Fields that older scenarios set and that stand elsewhere now.
#include <absl/strings/string_view.h>
#include <google/protobuf/descriptor.h>

#include <string>

namespace orrery {

// Where a field that the message no longer has went, as the end of a sentence
// that says it is not there; "" if it never was.
std::string MovedTo(const google::protobuf::Descriptor& message,
                    absl::string_view field);

}  // namespace orrery
