#include "catalog/field_text.h"

#include <absl/strings/str_split.h>

#include <vector>

#include "base/format.h"

namespace orrery {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The entry of a repeated message whose enum field, or name, is `key`.
const Message* Entry(const Message& parent, const FieldDescriptor& field,
                     const std::string& key) {
  const Reflection& reflection = *parent.GetReflection();
  for (int i = 0; i < reflection.FieldSize(parent, &field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(parent, &field, i);
    const auto& fields = *entry.GetDescriptor();
    for (int f = 0; f < fields.field_count(); ++f) {
      const FieldDescriptor& candidate = *fields.field(f);
      if (candidate.cpp_type() == FieldDescriptor::CPPTYPE_ENUM &&
          entry.GetReflection()->GetEnum(entry, &candidate)->name() == key) {
        return &entry;
      }
      if (candidate.name() == "name" &&
          candidate.cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
          entry.GetReflection()->GetString(entry, &candidate) == key) {
        return &entry;
      }
    }
  }
  return nullptr;
}

}  // namespace

FieldName ParseFieldName(absl::string_view text) {
  const size_t bracket = text.find('[');
  if (bracket == absl::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, bracket)),
          std::string(text.substr(bracket + 1, text.size() - bracket - 2))};
}

absl::StatusOr<std::string> FieldText(absl::string_view path,
                                      const Message& message) {
  const std::vector<std::string> steps = absl::StrSplit(path, '.');
  const Message* at = &message;
  for (size_t i = 0; i < steps.size(); ++i) {
    const FieldName step = ParseFieldName(steps[i]);
    const FieldDescriptor* field =
        at->GetDescriptor()->FindFieldByName(step.name);
    const auto missing = [&] {
      return absl::NotFoundError(fmt::format("{} is not set", path));
    };
    if (field == nullptr) return missing();
    const Reflection& reflection = *at->GetReflection();
    if (field->is_repeated()) {
      at = Entry(*at, *field, step.key);
      if (at == nullptr) return missing();
      continue;
    }
    if (!reflection.HasField(*at, field)) return missing();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        at = &reflection.GetMessage(*at, field);
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.GetString(*at, field);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return fmt::format("{}", reflection.GetDouble(*at, field));
      case FieldDescriptor::CPPTYPE_INT32:
        return fmt::format("{}", reflection.GetInt32(*at, field));
      default:
        return missing();
    }
  }
  return absl::NotFoundError(fmt::format("{} is no scalar", path));
}

}  // namespace orrery
