#include "cli/print/preset_text.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <regex>
#include <vector>

#include "base/format.h"
#include "base/status.h"

namespace orrery {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// "precision[FP8]" as name and key.
struct FieldName {
  std::string name;
  std::string key;
};
FieldName ParseFieldName(absl::string_view text) {
  const size_t bracket = text.find('[');
  if (bracket == absl::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, bracket)),
          std::string(text.substr(bracket + 1, text.size() - bracket - 2))};
}

// The entry of a repeated message whose enum field is called `key`.
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
    }
  }
  return nullptr;
}

}  // namespace

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

absl::StatusOr<std::string> WithConstants(absl::string_view preset,
                                          absl::Span<const Override> changes,
                                          absl::Span<const std::string> ids) {
  std::vector<std::string> lines = absl::StrSplit(preset, '\n');
  for (const Override& change : changes) {
    const std::vector<std::string> steps = absl::StrSplit(change.path, '.');
    const FieldName last = ParseFieldName(steps.back());
    const FieldName parent = steps.size() > 1
                                 ? ParseFieldName(steps[steps.size() - 2])
                                 : FieldName{};
    // `name: value`, the value quoted or bare.
    const std::regex field(
        fmt::format("(^| ){}: (\"[^\"]*\"|[^ ]+)", last.name));
    std::string* place = nullptr;
    for (std::string& line : lines) {
      if (!std::regex_search(line, field)) continue;
      if (!parent.key.empty() && !absl::StrContains(line, parent.key)) continue;
      if (place != nullptr) {
        return absl::InvalidArgumentError(
            fmt::format("{} stands more than once in the preset", change.path));
      }
      place = &line;
    }
    if (place == nullptr) {
      return absl::InvalidArgumentError(
          fmt::format("{} does not stand in the preset", change.path));
    }
    const bool quoted = absl::StrContains(change.value, ' ');
    *place = std::regex_replace(
        *place, field,
        fmt::format(
            "$1{}: {}", last.name,
            quoted ? absl::StrCat("\"", change.value, "\"") : change.value));
  }
  // The ids go before the first source.
  std::vector<std::string> result;
  bool written = false;
  for (const std::string& line : lines) {
    if (absl::StrContains(line, "fitted_row:")) continue;
    if (!written && absl::StartsWith(line, "source {")) {
      for (const std::string& id : ids) {
        result.push_back(fmt::format("fitted_row: \"{}\"", id));
      }
      written = true;
    }
    result.push_back(line);
  }
  if (!written) {
    return absl::InvalidArgumentError("the preset has no source");
  }
  return absl::StrJoin(result, "\n");
}

}  // namespace orrery
