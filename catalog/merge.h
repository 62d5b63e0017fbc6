#pragma once
// Merging an override over a preset.
//
// A field that is set in the override wins; messages merge field by field; a
// repeated field that has entries in the override replaces the preset's whole
// list, so that merging twice changes nothing.
#include <google/protobuf/message.h>

namespace orrery {

// Requires: both of the same type.
void MergeOver(const google::protobuf::Message& override_message,
               google::protobuf::Message* base);

}  // namespace orrery
