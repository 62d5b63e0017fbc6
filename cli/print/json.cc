#include "cli/print/json.h"

#include <cmath>
#include <vector>

#include "base/format.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;
using Type = gp::FieldDescriptor::CppType;

void Append(const gp::Message& message, int depth, std::string* out);

// One value: of a singular field (index -1) or of an entry of a repeated one.
void AppendValue(const gp::Message& message, const gp::FieldDescriptor* field,
                 int index, int depth, std::string* out) {
  const gp::Reflection& r = *message.GetReflection();
  const bool one = index < 0;
  switch (field->cpp_type()) {
    case Type::CPPTYPE_INT32:
      *out +=
          fmt::format("{}", one ? r.GetInt32(message, field)
                                : r.GetRepeatedInt32(message, field, index));
      return;
    case Type::CPPTYPE_INT64:
      *out +=
          fmt::format("{}", one ? r.GetInt64(message, field)
                                : r.GetRepeatedInt64(message, field, index));
      return;
    case Type::CPPTYPE_UINT32:
      *out +=
          fmt::format("{}", one ? r.GetUInt32(message, field)
                                : r.GetRepeatedUInt32(message, field, index));
      return;
    case Type::CPPTYPE_UINT64:
      *out +=
          fmt::format("{}", one ? r.GetUInt64(message, field)
                                : r.GetRepeatedUInt64(message, field, index));
      return;
    case Type::CPPTYPE_DOUBLE:
      *out += JsonNumberText(one ? r.GetDouble(message, field)
                                 : r.GetRepeatedDouble(message, field, index));
      return;
    case Type::CPPTYPE_FLOAT:
      *out += JsonNumberText(
          static_cast<double>(one ? r.GetFloat(message, field)
                                  : r.GetRepeatedFloat(message, field, index)));
      return;
    case Type::CPPTYPE_BOOL:
      *out += (one ? r.GetBool(message, field)
                   : r.GetRepeatedBool(message, field, index))
                  ? "true"
                  : "false";
      return;
    case Type::CPPTYPE_ENUM:
      *out += JsonString((one ? r.GetEnum(message, field)
                              : r.GetRepeatedEnum(message, field, index))
                             ->name());
      return;
    case Type::CPPTYPE_STRING:
      *out += JsonString(one ? r.GetString(message, field)
                             : r.GetRepeatedString(message, field, index));
      return;
    case Type::CPPTYPE_MESSAGE:
      Append(one ? r.GetMessage(message, field)
                 : r.GetRepeatedMessage(message, field, index),
             depth, out);
      return;
  }
}

void AppendList(const gp::Message& message, const gp::FieldDescriptor* field,
                int depth, std::string* out) {
  const int size = message.GetReflection()->FieldSize(message, field);
  const bool nested = field->message_type() != nullptr;
  const std::string separator =
      nested ? fmt::format("\n{:{}}", "", 2 * (depth + 1)) : "";
  *out += '[';
  for (int i = 0; i < size; ++i) {
    if (i > 0) *out += nested ? "," : ", ";
    *out += separator;
    AppendValue(message, field, i, depth + 1, out);
  }
  if (nested) *out += fmt::format("\n{:{}}", "", 2 * depth);
  *out += ']';
}

void Append(const gp::Message& message, int depth, std::string* out) {
  std::vector<const gp::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  if (fields.empty()) {
    *out += "{}";
    return;
  }
  *out += '{';
  for (size_t i = 0; i < fields.size(); ++i) {
    *out += fmt::format("{}\n{:{}}{}: ", i > 0 ? "," : "", "", 2 * (depth + 1),
                        JsonString(fields[i]->name()));
    if (fields[i]->is_repeated()) {
      AppendList(message, fields[i], depth + 1, out);
    } else {
      AppendValue(message, fields[i], -1, depth + 1, out);
    }
  }
  *out += fmt::format("\n{:{}}}}", "", 2 * depth);
}

}  // namespace

std::string JsonNumberText(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string ToJson(const gp::Message& message) {
  std::string out;
  Append(message, 0, &out);
  return out + '\n';
}

}  // namespace orrery
