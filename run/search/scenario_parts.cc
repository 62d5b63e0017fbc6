#include "run/search/scenario_parts.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <memory>

#include "base/check.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

// Lines of one part; the others are counted.
constexpr size_t kMostChanges = 6;

bool Ignored(const gp::FieldDescriptor& field) {
  return field.name() == "name" || field.name() == "description" ||
         field.name() == "source" || field.name() == "measured" ||
         field.name() == "fitted_row";
}

bool IsMessage(const gp::FieldDescriptor& field) {
  return field.cpp_type() == gp::FieldDescriptor::CPPTYPE_MESSAGE &&
         !field.is_repeated();
}

// A field as textproto, without its name and on one line.
std::string ShownValue(const gp::Message& message,
                       const gp::FieldDescriptor& field) {
  const gp::Reflection& reflection = *message.GetReflection();
  const int size = field.is_repeated() ? reflection.FieldSize(message, &field)
                   : reflection.HasField(message, &field) ? 1
                                                          : 0;
  if (size == 0) return "not set";
  gp::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  for (int i = 0; i < size; ++i) {
    std::string one;
    printer.PrintFieldValueToString(message, &field,
                                    field.is_repeated() ? i : -1, &one);
    absl::StrAppend(&text, i > 0 ? "," : "", one);
  }
  constexpr size_t kLongest = 60;
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

bool Same(const gp::Message& a, const gp::Message& b,
          const gp::FieldDescriptor& field) {
  gp::util::MessageDifferencer differencer;
  return differencer.CompareWithFields(a, b, {&field}, {&field});
}

// The name by which a part is known, where it has one.
std::string NameOf(const gp::Message& message) {
  for (const char* field : {"name", "preset"}) {
    const gp::FieldDescriptor* name =
        message.GetDescriptor()->FindFieldByName(field);
    if (name == nullptr ||
        name->cpp_type() != gp::FieldDescriptor::CPPTYPE_STRING) {
      continue;
    }
    std::string text = message.GetReflection()->GetString(message, name);
    if (!text.empty()) return text;
  }
  return "";
}

// Every leaf that is not the same.
void AddChanges(const gp::Message& a, const gp::Message& b,
                const std::string& path, std::vector<std::string>* changes) {
  const gp::Descriptor& type = *a.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const gp::FieldDescriptor& field = *type.field(i);
    if (Ignored(field) || Same(a, b, field)) continue;
    const std::string inner = absl::StrCat(path, ".", field.name());
    if (IsMessage(field)) {
      AddChanges(a.GetReflection()->GetMessage(a, &field),
                 b.GetReflection()->GetMessage(b, &field), inner, changes);
      continue;
    }
    changes->push_back(absl::StrCat(inner, ": ", ShownValue(a, field), " -> ",
                                    ShownValue(b, field)));
  }
}

// The part of a field, if it differs in what counts.
void AddPart(const gp::Message& a, const gp::Message& b,
             const gp::FieldDescriptor& field, const std::string& path,
             std::vector<ScenarioPart>* parts) {
  ScenarioPart part{path, {}};
  if (IsMessage(field)) {
    AddChanges(a.GetReflection()->GetMessage(a, &field),
               b.GetReflection()->GetMessage(b, &field), path, &part.changes);
  } else {
    part.changes.push_back(absl::StrCat(path, ": ", ShownValue(a, field),
                                        " -> ", ShownValue(b, field)));
  }
  if (part.changes.empty()) return;
  if (IsMessage(field)) {
    const std::string from = NameOf(a.GetReflection()->GetMessage(a, &field));
    const std::string to = NameOf(b.GetReflection()->GetMessage(b, &field));
    if (from != to) {
      const auto text = [](const std::string& name) {
        return name.empty() ? std::string("not set") : name;
      };
      part.changes = {absl::StrCat(path, ": ", text(from), " -> ", text(to))};
    }
  }
  if (part.changes.size() > kMostChanges) {
    const size_t rest = part.changes.size() - kMostChanges;
    part.changes.resize(kMostChanges);
    part.changes.push_back(
        absl::StrCat(path, ": and ", rest, " more fields differ"));
  }
  parts->push_back(std::move(part));
}

}  // namespace

std::vector<ScenarioPart> DifferingParts(const pb::Scenario& first,
                                         const pb::Scenario& second) {
  std::vector<ScenarioPart> parts;
  const gp::Descriptor& type = *pb::Scenario::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const gp::FieldDescriptor& field = *type.field(i);
    if (Ignored(field) || Same(first, second, field)) continue;
    const std::string path = field.name();
    if (!IsMessage(field)) {
      AddPart(first, second, field, path, &parts);
      continue;
    }
    const auto& a = first.GetReflection()->GetMessage(first, &field);
    const auto& b = second.GetReflection()->GetMessage(second, &field);
    const bool whole = NameOf(a) != NameOf(b) ||
                       first.GetReflection()->HasField(first, &field) !=
                           second.GetReflection()->HasField(second, &field);
    if (whole) {
      AddPart(first, second, field, path, &parts);
      continue;
    }
    const gp::Descriptor& inner = *a.GetDescriptor();
    for (int j = 0; j < inner.field_count(); ++j) {
      const gp::FieldDescriptor& each = *inner.field(j);
      if (Ignored(each) || Same(a, b, each)) continue;
      AddPart(a, b, each, absl::StrCat(path, ".", each.name()), &parts);
    }
  }
  return parts;
}

void CopyPart(const ScenarioPart& part, const pb::Scenario& from,
              pb::Scenario* to) {
  const gp::Message* source = &from;
  gp::Message* target = to;
  const std::vector<std::string> names = absl::StrSplit(part.path, '.');
  for (size_t i = 0; i < names.size(); ++i) {
    const gp::FieldDescriptor* field =
        source->GetDescriptor()->FindFieldByName(names[i]);
    CHECK(field != nullptr) << part.path;
    if (i + 1 < names.size()) {
      source = &source->GetReflection()->GetMessage(*source, field);
      target = target->GetReflection()->MutableMessage(target, field);
      continue;
    }
    // A message of this field alone, merged over the cleared one.
    target->GetReflection()->ClearField(target, field);
    std::vector<const gp::FieldDescriptor*> set;
    std::unique_ptr<gp::Message> only(source->New());
    only->CopyFrom(*source);
    only->GetReflection()->ListFields(*only, &set);
    for (const gp::FieldDescriptor* each : set) {
      if (each != field) only->GetReflection()->ClearField(only.get(), each);
    }
    target->MergeFrom(*only);
  }
}

}  // namespace orrery
