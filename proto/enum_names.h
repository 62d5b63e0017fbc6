#pragma once
// The legal names of a proto enum, for messages to the user.
//
//   EnumNames<pb::Attention::Kind>()   // "MHA, GQA, MQA, MLA"
#include <google/protobuf/generated_enum_reflection.h>

#include <string>

namespace orrery {

// Every name of the enum but the zero value (*_UNSPECIFIED), in the order of
// the schema, joined by commas.
template <class Enum>
std::string EnumNames() {
  const auto* descriptor = google::protobuf::GetEnumDescriptor<Enum>();
  std::string names;
  for (int i = 0; i < descriptor->value_count(); ++i) {
    if (descriptor->value(i)->number() == 0) continue;
    if (!names.empty()) names += ", ";
    names += descriptor->value(i)->name();
  }
  return names;
}

}  // namespace orrery
