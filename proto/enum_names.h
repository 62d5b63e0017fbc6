#pragma once
// The names of a proto enum, for messages to the user.
//
//   EnumNames<pb::Attention::Kind>()   // "MHA, GQA, MQA, MLA"
//   EnumName(pb::BF16)                 // "BF16"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_enum_reflection.h>

#include <string>

namespace orrery {

// Every name of the enum but the zero value (*_UNSPECIFIED), in the order of
// the schema, joined by commas.
inline std::string EnumNames(const google::protobuf::EnumDescriptor& type) {
  std::string names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() == 0) continue;
    if (!names.empty()) names += ", ";
    names += type.value(i)->name();
  }
  return names;
}
template <class Enum>
std::string EnumNames() {
  return EnumNames(*google::protobuf::GetEnumDescriptor<Enum>());
}

// Requires: `value` is one of the enum's values.
template <class Enum>
const std::string& EnumName(Enum value) {
  return google::protobuf::GetEnumDescriptor<Enum>()
      ->FindValueByNumber(value)
      ->name();
}

}  // namespace orrery
