#include "catalog/override.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>

#include <optional>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "catalog/enum_value.h"
#include "catalog/moved_fields.h"
#include "catalog/nearest.h"
#include "catalog/textproto.h"
#include "proto/plain_value.pb.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;
using Type = gp::FieldDescriptor::CppType;

// One step of a path: a field, and for "peak[0]" what stands in the brackets.
struct Step {
  std::string field;
  std::optional<std::string> index;
};

absl::Status Bad(absl::string_view path, absl::string_view what) {
  return absl::InvalidArgumentError(fmt::format("--set {}: {}", path, what));
}

absl::StatusOr<std::vector<Step>> SplitPath(const std::string& path) {
  // Dots separate steps, except inside brackets.
  std::vector<std::string> parts(1);
  bool inside = false;
  for (const char c : path) {
    inside = c == '[' || (inside && c != ']');
    if (c == '.' && !inside) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  std::vector<Step> steps;
  for (absl::string_view part : parts) {
    Step step;
    const size_t bracket = part.find('[');
    if (bracket != absl::string_view::npos) {
      if (part.back() != ']') return Bad(path, "'[' without ']'");
      step.index =
          std::string(part.substr(bracket + 1, part.size() - bracket - 2));
      part = part.substr(0, bracket);
    }
    if (part.empty()) {
      return Bad(path, "a path is field names joined by single dots");
    }
    step.field = std::string(part);
    steps.push_back(std::move(step));
  }
  return steps;
}

// The entry of a list that `index` names: a position, or the value of an
// entry's enum, name or id. A list whose entries have ids gets an entry for a
// new one.
absl::StatusOr<int> FindEntry(gp::Message& message,
                              const gp::FieldDescriptor& field,
                              const std::string& index,
                              const std::string& path) {
  const gp::Reflection& reflection = *message.GetReflection();
  const gp::FieldDescriptor* id =
      field.message_type() != nullptr
          ? field.message_type()->FindFieldByName("id")
          : nullptr;
  const int size = reflection.FieldSize(message, &field);
  int position = 0;
  if (absl::SimpleAtoi(index, &position)) {
    if (position >= 0 && position < size) return position;
    return Bad(path, size == 0
                         ? "the list is empty"
                         : fmt::format("positions are 0 to {}", size - 1));
  }
  std::vector<std::string> keys;
  for (int i = 0; field.message_type() != nullptr && i < size; ++i) {
    const gp::Message& entry =
        reflection.GetRepeatedMessage(message, &field, i);
    for (int f = 0; f < field.message_type()->field_count(); ++f) {
      const gp::FieldDescriptor* key = field.message_type()->field(f);
      if (key->is_repeated() || !entry.GetReflection()->HasField(entry, key)) {
        continue;
      }
      std::string text;
      if (key->enum_type() != nullptr) {
        const gp::EnumValueDescriptor* meant =
            FindEnumValue(*key->enum_type(), index);
        text = entry.GetReflection()->GetEnum(entry, key)->name();
        if (meant != nullptr && meant->name() == text) return i;
      } else if (key == id || key->name() == "name") {
        text = entry.GetReflection()->GetString(entry, key);
      } else {
        continue;
      }
      if (text == index) return i;
      keys.push_back(text);
    }
  }
  if (id != nullptr && !index.empty()) {
    gp::Message* added = reflection.AddMessage(&message, &field);
    added->GetReflection()->SetString(added, id, index);
    return size;
  }
  return Bad(path, fmt::format("no entry '{}'; there are {}", index,
                               keys.empty() ? fmt::format("{} entries", size)
                                            : absl::StrJoin(keys, ", ")));
}

// Sets or appends one scalar, enum or message from text.
absl::Status SetValue(const gp::FieldDescriptor& field, const std::string& text,
                      const std::string& path, gp::Message* message) {
  const gp::Reflection& reflection = *message->GetReflection();
  const bool add = field.is_repeated();
  // The two spellings of every type differ by one word; this hides it.
  const auto put = [&](auto setter, auto adder, auto value) {
    if (add) {
      (reflection.*adder)(message, &field, value);
    } else {
      (reflection.*setter)(message, &field, value);
    }
    return absl::OkStatus();
  };
  const auto wrong = [&](absl::string_view what) {
    return Bad(path, fmt::format("'{}' is not {}", text.substr(0, 80), what));
  };
  using R = gp::Reflection;
  switch (field.cpp_type()) {
    case Type::CPPTYPE_INT32: {
      int32_t value = 0;
      if (!absl::SimpleAtoi(text, &value)) {
        return wrong("a whole number from -2147483648 to 2147483647");
      }
      return put(&R::SetInt32, &R::AddInt32, value);
    }
    case Type::CPPTYPE_INT64: {
      int64_t value = 0;
      if (!absl::SimpleAtoi(text, &value)) return wrong("a whole number");
      return put(&R::SetInt64, &R::AddInt64, value);
    }
    case Type::CPPTYPE_UINT32: {
      uint32_t value = 0;
      if (!absl::SimpleAtoi(text, &value)) {
        return wrong("a whole number from 0 to 4294967295");
      }
      return put(&R::SetUInt32, &R::AddUInt32, value);
    }
    case Type::CPPTYPE_UINT64: {
      uint64_t value = 0;
      if (!absl::SimpleAtoi(text, &value)) {
        return wrong("a whole number that is not negative");
      }
      return put(&R::SetUInt64, &R::AddUInt64, value);
    }
    case Type::CPPTYPE_DOUBLE: {
      double value = 0;
      if (!absl::SimpleAtod(text, &value)) return wrong("a number");
      return put(&R::SetDouble, &R::AddDouble, value);
    }
    case Type::CPPTYPE_FLOAT: {
      float value = 0;
      if (!absl::SimpleAtof(text, &value)) return wrong("a number");
      return put(&R::SetFloat, &R::AddFloat, value);
    }
    case Type::CPPTYPE_BOOL: {
      bool value = false;
      if (!absl::SimpleAtob(text, &value)) return wrong("true or false");
      return put(&R::SetBool, &R::AddBool, value);
    }
    case Type::CPPTYPE_STRING:
      if (add) {
        reflection.AddString(message, &field, text);
      } else {
        reflection.SetString(message, &field, text);
      }
      return absl::OkStatus();
    case Type::CPPTYPE_ENUM: {
      const gp::EnumValueDescriptor* value =
          FindEnumValue(*field.enum_type(), text);
      if (value == nullptr) {
        return Bad(path, ExplainEnum(field, text));
      }
      return put(
          static_cast<void (R::*)(gp::Message*, const gp::FieldDescriptor*,
                                  const gp::EnumValueDescriptor*) const>(
              &R::SetEnum),
          static_cast<void (R::*)(gp::Message*, const gp::FieldDescriptor*,
                                  const gp::EnumValueDescriptor*) const>(
              &R::AddEnum),
          value);
    }
    case Type::CPPTYPE_MESSAGE: {
      absl::string_view body = absl::StripAsciiWhitespace(text);
      const std::string& plain =
          field.message_type()->options().GetExtension(pb::plain_value);
      if (!add && !plain.empty() && body.substr(0, 1) != "{") {
        return SetValue(*field.message_type()->FindFieldByName(plain), text,
                        path, reflection.MutableMessage(message, &field));
      }
      if (body.size() < 2 || body.front() != '{' || body.back() != '}') {
        return Bad(path,
                   fmt::format(
                       "is a message; set one of its fields ({}) or "
                       "write {{...}}",
                       absl::StrJoin(FieldNames(*field.message_type()), ", ")));
      }
      body = body.substr(1, body.size() - 2);
      gp::Message* target = add ? reflection.AddMessage(message, &field)
                                : reflection.MutableMessage(message, &field);
      target->Clear();
      return ParseTextproto(body, fmt::format("--set {}", path), target);
    }
  }
  return wrong("of a kind that can be set");
}

// Commas separate entries of a list, except inside braces.
std::vector<std::string> SplitList(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  std::vector<std::string> entries(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '{';
    depth -= c == '}';
    if (c == ',' && depth == 0) {
      entries.emplace_back();
    } else {
      entries.back() += c;
    }
  }
  for (std::string& entry : entries) absl::StripAsciiWhitespace(&entry);
  return entries;
}

}  // namespace

absl::StatusOr<Override> ParseOverride(absl::string_view text) {
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        fmt::format("--set '{}': write PATH=VALUE, for example "
                    "training.parallel.tensor=4",
                    text.substr(0, 80)));
  }
  return Override{
      std::string(absl::StripAsciiWhitespace(text.substr(0, equals))),
      std::string(absl::StripAsciiWhitespace(text.substr(equals + 1)))};
}

absl::Status ApplyOverride(const Override& override_value,
                           gp::Message* message) {
  ASSIGN_OR_RETURN(const std::vector<Step> steps,
                   SplitPath(override_value.path));
  std::string walked;
  for (size_t i = 0; i < steps.size(); ++i) {
    const gp::Descriptor& descriptor = *message->GetDescriptor();
    const gp::FieldDescriptor* field =
        descriptor.FindFieldByName(steps[i].field);
    walked += (walked.empty() ? "" : ".") + steps[i].field;
    if (field == nullptr) {
      const std::vector<std::string> names = FieldNames(descriptor);
      std::string hint = MovedTo(descriptor, steps[i].field);
      if (hint.empty()) hint = DidYouMean(steps[i].field, names);
      if (hint.empty()) {
        hint = fmt::format("; its fields are {}", absl::StrJoin(names, ", "));
      }
      return Bad(walked, fmt::format("{} has no field '{}'{}",
                                     descriptor.name(), steps[i].field, hint));
    }
    const gp::Reflection& reflection = *message->GetReflection();
    const bool last = i + 1 == steps.size();
    if (steps[i].index) {
      if (!field->is_repeated()) return Bad(walked, "is not a list");
      ASSIGN_OR_RETURN(
          const int entry,
          FindEntry(*message, *field, *steps[i].index, override_value.path));
      if (field->message_type() == nullptr) {
        return Bad(walked, "set the whole list, or a field of an entry");
      }
      message = reflection.MutableRepeatedMessage(message, field, entry);
      if (!last) continue;
      const std::string& plain =
          field->message_type()->options().GetExtension(pb::plain_value);
      if (plain.empty()) {
        return Bad(walked, "set the whole list, or a field of an entry");
      }
      field = field->message_type()->FindFieldByName(plain);
      return SetValue(*field, override_value.value, override_value.path,
                      message);
    }
    if (!last) {
      if (field->message_type() == nullptr) {
        return Bad(walked, "is a value and has no fields");
      }
      if (field->is_repeated()) {
        return Bad(walked, fmt::format("is a list; write {}[0]", walked));
      }
      message = reflection.MutableMessage(message, field);
      continue;
    }
    if (override_value.value.empty()) {
      reflection.ClearField(message, field);
      return absl::OkStatus();
    }
    if (!field->is_repeated()) {
      return SetValue(*field, override_value.value, walked, message);
    }
    reflection.ClearField(message, field);
    for (const std::string& entry : SplitList(override_value.value)) {
      RETURN_IF_ERROR(SetValue(*field, entry, walked, message));
    }
  }
  return absl::OkStatus();
}

}  // namespace orrery
