#pragma once
// Textproto in and out, with errors for people.
//
// A mistake is one line: where (origin:line:column), what, and where it helps
// the nearest field name or the legal enum names. Reading goes on after a field
// or a value that the schema does not have, so that an error lists all of them.
#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace orrery {

// Fills `message` from `text`, which is UTF-8 with or without a byte order
// mark. Enums may be written as enum_value.h says. `origin` is the file or
// preset for messages.
absl::Status ParseTextproto(absl::string_view text, absl::string_view origin,
                            google::protobuf::Message* message);

// One field per line, short messages on one line, in field order.
std::string PrintTextproto(const google::protobuf::Message& message);

// Field names of a message type, in order of declaration.
std::vector<std::string> FieldNames(
    const google::protobuf::Descriptor& descriptor);
// Legal names of an enum: all but *_UNSPECIFIED.
std::vector<std::string> LegalNames(
    const google::protobuf::EnumDescriptor& descriptor);

// "Training has no field 'shedule'; did you mean 'schedule'?"
std::string NoSuchField(const google::protobuf::Descriptor& message,
                        absl::string_view name);

// "schedule must be one of GPIPE, ONE_F_ONE_B ...; did you mean 'GPIPE'?"
std::string ExplainEnum(const google::protobuf::FieldDescriptor& field,
                        absl::string_view value);

}  // namespace orrery
