#include "catalog/override.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"
#include "base/utf8.h"
#include "catalog/enum_value.h"
#include "catalog/legal.h"
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
  // An error stays readable whatever is typed.
  constexpr size_t kLongestPath = 120;
  return absl::InvalidArgumentError(
      fmt::format("--set {}: {}", Excerpt(path, kLongestPath), what));
}

// At dots, but for those in brackets.
std::vector<absl::string_view> PartsOfPath(absl::string_view path) {
  std::vector<absl::string_view> parts;
  size_t begin = 0;
  bool inside = false;
  for (size_t i = 0; i <= path.size(); ++i) {
    if (i < path.size() && path[i] == '[') inside = true;
    if (i < path.size() && path[i] == ']') inside = false;
    if (i < path.size() && (path[i] != '.' || inside)) continue;
    parts.push_back(path.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

absl::StatusOr<std::vector<Step>> SplitPath(const std::string& path) {
  std::vector<Step> steps;
  for (absl::string_view part : PartsOfPath(path)) {
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
  return Bad(path, fmt::format("no entry '{}'; there are {}", Excerpt(index),
                               keys.empty() ? fmt::format("{} entries", size)
                                            : absl::StrJoin(keys, ", ")));
}

// Commas separate entries of a list, except inside braces and quotes.
std::vector<std::string> SplitList(absl::string_view text) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  std::vector<std::string> entries(1);
  int depth = 0;
  char quote = 0;
  bool escaped = false;
  for (const char c : text) {
    if (quote != 0) {
      if (!escaped && c == quote) quote = 0;
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      quote = c;
    } else {
      depth += c == '{';
      depth -= c == '}';
    }
    if (c == ',' && depth == 0 && quote == 0) {
      entries.emplace_back();
    } else {
      entries.back() += c;
    }
  }
  for (std::string& entry : entries) absl::StripAsciiWhitespace(&entry);
  if (entries.size() == 1 && entries[0].empty()) entries.clear();
  return entries;
}

bool IsQuoted(absl::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"';
}

// Puts one value into the field of an empty message: what a file says after
// the field's name. Texts need no quotes here.
absl::Status ReadValue(const gp::FieldDescriptor& field,
                       const std::string& text, const std::string& path,
                       gp::Message* message) {
  if (field.cpp_type() == Type::CPPTYPE_STRING && !IsQuoted(text)) {
    const gp::Reflection& reflection = *message->GetReflection();
    if (field.is_repeated()) {
      reflection.AddString(message, &field, text);
    } else {
      reflection.SetString(message, &field, text);
    }
    return absl::OkStatus();
  }
  const bool is_message = field.message_type() != nullptr;
  if (is_message && !field.is_repeated() && text.substr(0, 1) != "{") {
    const std::string& plain =
        field.message_type()->options().GetExtension(pb::plain_value);
    if (!plain.empty()) {
      return ReadValue(
          *field.message_type()->FindFieldByName(plain), text, path,
          message->GetReflection()->MutableMessage(message, &field));
    }
  }
  if (is_message &&
      (text.size() < 2 || text.front() != '{' || text.back() != '}')) {
    const bool is_name = text.find_first_of("{} \"'") == std::string::npos;
    if (is_name && field.message_type()->FindFieldByName("preset") != nullptr) {
      return Bad(path, fmt::format("is a message; for a preset write "
                                   "{}.preset={}",
                                   path, text.substr(0, 80)));
    }
    return Bad(path, fmt::format("is a message; set one of its fields ({}) or "
                                 "write {{...}}",
                                 absl::StrJoin(
                                     FieldNames(*field.message_type()), ", ")));
  }
  const absl::Status read =
      ParseTextproto(fmt::format("{}: {}", field.name(), text),
                     fmt::format("--set {}", path), message);
  // A value that goes on is not one: "4 pipeline: 2".
  std::vector<const gp::FieldDescriptor*> set;
  message->GetReflection()->ListFields(*message, &set);
  const bool alone = set.size() == 1 && set[0] == &field;
  if (read.ok() && alone) return absl::OkStatus();
  if (is_message && !read.ok()) return read;
  if (field.enum_type() != nullptr) return Bad(path, ExplainEnum(field, text));
  const std::string wanted =
      field.cpp_type() == Type::CPPTYPE_BOOL     ? "true or false"
      : field.cpp_type() == Type::CPPTYPE_STRING ? "a text in quotes"
                                                 : LegalValues(field);
  return Bad(path, fmt::format("'{}' is not {}", Excerpt(text), wanted));
}

// Puts the value in the place of what the field holds.
absl::Status SetValue(const gp::FieldDescriptor& field, const std::string& text,
                      const std::string& path, gp::Message* message) {
  const std::unique_ptr<gp::Message> said(message->New());
  if (!field.is_repeated()) {
    RETURN_IF_ERROR(ReadValue(field, text, path, said.get()));
  } else {
    for (const std::string& entry : SplitList(text)) {
      const std::unique_ptr<gp::Message> one(message->New());
      RETURN_IF_ERROR(ReadValue(field, entry, path, one.get()));
      said->MergeFrom(*one);
    }
  }
  message->GetReflection()->ClearField(message, &field);
  message->MergeFrom(*said);
  return absl::OkStatus();
}

// The message in a field of another one; nothing if it is not set there.
const gp::Message* Below(const gp::Message* message,
                         const gp::FieldDescriptor& field) {
  if (message == nullptr) return nullptr;
  const gp::Reflection& reflection = *message->GetReflection();
  if (!reflection.HasField(*message, &field)) return nullptr;
  return &reflection.GetMessage(*message, &field);
}

// A list that `message` does not say becomes that of `base`.
void TakeOverList(const gp::FieldDescriptor& field, const gp::Message* base,
                  gp::Message* message) {
  const gp::Reflection& reflection = *message->GetReflection();
  if (base == nullptr || reflection.FieldSize(*message, &field) > 0) return;
  for (int i = 0; i < reflection.FieldSize(*base, &field); ++i) {
    reflection.AddMessage(message, &field)
        ->CopyFrom(reflection.GetRepeatedMessage(*base, &field, i));
  }
}

}  // namespace

absl::StatusOr<Override> ParseOverride(absl::string_view text) {
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        fmt::format("--set '{}': write PATH=VALUE, for example "
                    "training.parallel.tensor=4",
                    Excerpt(text)));
  }
  if (FirstNotUtf8(text)) {
    return absl::InvalidArgumentError(fmt::format(
        "--set '{}': the text is not UTF-8; write it in UTF-8", Excerpt(text)));
  }
  return Override{
      std::string(absl::StripAsciiWhitespace(text.substr(0, equals))),
      std::string(absl::StripAsciiWhitespace(text.substr(equals + 1)))};
}

bool NamesEntry(const Override& override_value) {
  return absl::StrContains(override_value.path, '[');
}

absl::Status ApplyOverride(const Override& override_value, gp::Message* message,
                           const gp::Message* base) {
  ASSIGN_OR_RETURN(const std::vector<Step> steps,
                   SplitPath(override_value.path));
  std::string walked;
  std::vector<std::unique_ptr<gp::Message>> unsaid;
  for (size_t i = 0; i < steps.size(); ++i) {
    const gp::Descriptor& descriptor = *message->GetDescriptor();
    const gp::FieldDescriptor* field =
        descriptor.FindFieldByName(steps[i].field);
    walked += (walked.empty() ? "" : ".") + steps[i].field;
    if (field == nullptr) {
      return Bad(walked, NoSuchField(descriptor, steps[i].field));
    }
    const gp::Reflection& reflection = *message->GetReflection();
    const bool last = i + 1 == steps.size();
    if (steps[i].index) {
      if (!field->is_repeated()) return Bad(walked, "is not a list");
      if (field->message_type() == nullptr) {
        return Bad(walked, "set the whole list, as in 10,11,11,10");
      }
      TakeOverList(*field, base, message);
      ASSIGN_OR_RETURN(
          const int entry,
          FindEntry(*message, *field, *steps[i].index, override_value.path));
      message = reflection.MutableRepeatedMessage(message, field, entry);
      base = nullptr;  // the entry is whole
      if (!last) continue;
      const std::string& plain =
          field->message_type()->options().GetExtension(pb::plain_value);
      if (plain.empty()) {
        return Bad(walked,
                   fmt::format("set a field of the entry ({}), or the whole "
                               "list",
                               absl::StrJoin(FieldNames(*field->message_type()),
                                             ", ")));
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
      base = Below(base, *field);
      if (override_value.value.empty() &&
          !reflection.HasField(*message, field)) {
        // Nothing is said there, and nothing shall be.
        unsaid.emplace_back(reflection.GetMessage(*message, field).New());
        message = unsaid.back().get();
      } else {
        message = reflection.MutableMessage(message, field);
      }
      continue;
    }
    if (override_value.value.empty()) {
      reflection.ClearField(message, field);
      return absl::OkStatus();
    }
    return SetValue(*field, override_value.value, walked, message);
  }
  return absl::OkStatus();
}

absl::Status CheckTakenBack(const Override& override_value,
                            const gp::Message& message) {
  if (!override_value.value.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Step> steps,
                   SplitPath(override_value.path));
  if (steps.back().index) {
    return Bad(override_value.path,
               "an entry of a list has no empty value; give it another");
  }
  // A copy, as looking for an entry by its id may add one.
  const std::unique_ptr<gp::Message> copy(message.New());
  copy->CopyFrom(message);
  gp::Message* at = copy.get();
  for (const Step& step : steps) {
    const gp::FieldDescriptor* field =
        at->GetDescriptor()->FindFieldByName(step.field);
    const gp::Reflection& reflection = *at->GetReflection();
    const bool set = field->is_repeated() ? reflection.FieldSize(*at, field) > 0
                                          : reflection.HasField(*at, field);
    if (!set) return absl::OkStatus();
    if (step.index) {
      ASSIGN_OR_RETURN(const int entry, FindEntry(*at, *field, *step.index,
                                                  override_value.path));
      at = reflection.MutableRepeatedMessage(at, field, entry);
    } else if (&step != &steps.back()) {
      at = reflection.MutableMessage(at, field);
    }
  }
  return Bad(override_value.path,
             "an empty value takes back what the scenario itself says, but "
             "this is said by a preset; give it another value");
}

}  // namespace orrery
