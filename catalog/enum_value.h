#pragma once
// The value of an enum that somebody means, however they write it.
//
//   recompute: RECOMPUTE_FULL, FULL, full, recompute-full      RECOMPUTE_FULL
//   sharding:  ZERO_1, zero1, SHARDING_ZERO_1                  ZERO_1
//   schedule:  ONE_F_ONE_B, 1F1B, SCHEDULE_1F1B                ONE_F_ONE_B
//
// Case, dashes and underscores do not matter, the enum's prefix may be there or
// not, and a digit may stand for its word. The schema's own name always wins;
// what could mean two values means none. `orrery show` prints the schema's.
#include <absl/strings/string_view.h>
#include <google/protobuf/descriptor.h>

namespace orrery {

// Nothing (null) if no value or several are meant; never *_UNSPECIFIED.
const google::protobuf::EnumValueDescriptor* FindEnumValue(
    const google::protobuf::EnumDescriptor& type, absl::string_view text);

}  // namespace orrery
