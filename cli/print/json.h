#pragma once
// Messages as JSON, with the schema's own field names.
//
// Unlike protobuf's own printer: 64-bit integers are numbers, doubles have as
// few digits as parse back exactly, and fields come in the schema's order.
// Unset fields are left out.
#include <google/protobuf/message.h>

#include <string>

#include "base/json_string.h"  // JsonString, for what is written row by row

namespace orrery {

// Ends with a newline.
std::string ToJson(const google::protobuf::Message& message);

// A number; JSON has no infinities, so these become null.
std::string JsonNumberText(double value);

}  // namespace orrery
