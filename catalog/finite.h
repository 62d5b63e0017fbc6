#pragma once
// Plain numbers of a message are numbers: not NaN, not infinite, not so large
// that arithmetic with a few of them would be.
#include <google/protobuf/message.h>

#include <string>

#include "base/status.h"

namespace orrery {

// Adds a line for every field of `message`, at any depth, that is none. `path`
// is where the message stands, "" for a scenario.
void CheckFinite(const google::protobuf::Message& message,
                 const std::string& path, Violations* violations);

}  // namespace orrery
