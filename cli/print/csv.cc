#include "cli/print/csv.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/csv.h"
#include "base/format.h"
#include "base/json.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;
using Field = gp::FieldDescriptor;

std::string ValueText(const gp::Message& message, const Field& field,
                      int index) {
  const gp::Reflection& r = *message.GetReflection();
  const bool one = index < 0;
  switch (field.cpp_type()) {
    case Field::CPPTYPE_DOUBLE:
      return fmt::format("{}",
                         one ? r.GetDouble(message, &field)
                             : r.GetRepeatedDouble(message, &field, index));
    case Field::CPPTYPE_FLOAT:
      return fmt::format("{}",
                         one ? r.GetFloat(message, &field)
                             : r.GetRepeatedFloat(message, &field, index));
    case Field::CPPTYPE_INT32:
      return absl::StrCat(one ? r.GetInt32(message, &field)
                              : r.GetRepeatedInt32(message, &field, index));
    case Field::CPPTYPE_INT64:
      return absl::StrCat(one ? r.GetInt64(message, &field)
                              : r.GetRepeatedInt64(message, &field, index));
    case Field::CPPTYPE_UINT32:
      return absl::StrCat(one ? r.GetUInt32(message, &field)
                              : r.GetRepeatedUInt32(message, &field, index));
    case Field::CPPTYPE_UINT64:
      return absl::StrCat(one ? r.GetUInt64(message, &field)
                              : r.GetRepeatedUInt64(message, &field, index));
    case Field::CPPTYPE_BOOL:
      return (one ? r.GetBool(message, &field)
                  : r.GetRepeatedBool(message, &field, index))
                 ? "true"
                 : "false";
    case Field::CPPTYPE_ENUM:
      return (one ? r.GetEnum(message, &field)
                  : r.GetRepeatedEnum(message, &field, index))
          ->name();
    case Field::CPPTYPE_STRING:
      return one ? r.GetString(message, &field)
                 : r.GetRepeatedString(message, &field, index);
    case Field::CPPTYPE_MESSAGE:
      break;
  }
  return "";
}

using Leaves = std::vector<std::pair<std::string, std::string>>;

// Lists of values are one leaf, lists of messages a leaf per entry.
void AddLeaves(const gp::Message& message, const std::string& path,
               Leaves* leaves) {
  const gp::Reflection& reflection = *message.GetReflection();
  std::vector<const Field*> fields;
  reflection.ListFields(message, &fields);
  for (const Field* field : fields) {
    const std::string name = absl::StrCat(path, field->name());
    const bool nested = field->cpp_type() == Field::CPPTYPE_MESSAGE;
    if (!field->is_repeated()) {
      if (nested) {
        AddLeaves(reflection.GetMessage(message, field),
                  absl::StrCat(name, "."), leaves);
      } else {
        leaves->emplace_back(name, ValueText(message, *field, -1));
      }
      continue;
    }
    std::vector<std::string> values;
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      if (nested) {
        AddLeaves(reflection.GetRepeatedMessage(message, field, i),
                  absl::StrCat(name, "[", i, "]."), leaves);
      } else {
        values.push_back(ValueText(message, *field, i));
      }
    }
    if (!nested) leaves->emplace_back(name, absl::StrJoin(values, " "));
  }
}

// A column for every name, in the order in which they first come.
std::string RowsCsv(const std::vector<Leaves>& rows) {
  std::vector<std::string> columns;
  absl::flat_hash_map<std::string, size_t> places;
  std::vector<std::vector<std::string>> lines;
  for (const Leaves& leaves : rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const auto& [name, value] : leaves) {
      const auto [place, is_new] = places.try_emplace(name, columns.size());
      if (is_new) columns.push_back(CsvField(name));
      line.resize(std::max(line.size(), place->second + 1));
      line[place->second] = CsvField(value);
    }
  }
  std::string text = absl::StrJoin(columns, ",") + "\n";
  for (std::vector<std::string>& line : lines) {
    line.resize(columns.size());
    absl::StrAppend(&text, absl::StrJoin(line, ","), "\n");
  }
  return text;
}

// Of a value that is no list and no object.
std::string LeafText(const JsonValue& value) {
  if (const std::string* text = value.string()) return *text;
  if (const bool* truth = value.boolean()) return *truth ? "true" : "false";
  const auto* number = value.number();
  if (number == nullptr) return "";
  if (number->integer) return absl::StrCat(*number->integer);
  return fmt::format("{}", number->value);
}

}  // namespace

std::string FieldsCsv(const gp::Message& message) {
  Leaves leaves;
  AddLeaves(message, "", &leaves);
  std::string text = "field,value\n";
  for (auto& [name, value] : leaves) {
    absl::StrAppend(&text, CsvField(name), ",", CsvField(value), "\n");
  }
  return text;
}

std::string TableCsv(const std::vector<const gp::Message*>& messages) {
  std::vector<Leaves> rows;
  for (const gp::Message* message : messages) {
    AddLeaves(*message, "", &rows.emplace_back());
  }
  return RowsCsv(rows);
}

std::string JsonRowsCsv(const std::string& json, absl::string_view member) {
  const absl::StatusOr<JsonValue> parsed = ParseJson(json);
  CHECK(parsed.ok()) << parsed.status();
  const JsonValue* list = member.empty() ? &*parsed : parsed->Find(member);
  CHECK(list != nullptr && list->array() != nullptr) << member;
  std::vector<Leaves> rows;
  for (const JsonValue& object : *list->array()) {
    Leaves& leaves = rows.emplace_back();
    for (const JsonMember& each : *object.object()) {
      leaves.emplace_back(each.key, LeafText(each.value));
    }
  }
  return RowsCsv(rows);
}

}  // namespace orrery
