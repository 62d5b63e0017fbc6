#pragma once
// Messages as CSV, with the schema's own field names: what JSON says, for
// programs that want tables.
#include <absl/strings/string_view.h>
#include <absl/types/span.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace orrery {

// "field,value", a line for every number, text and choice in it:
// "breakdown.bubble_s,0.12", "memory.stages[0].peak_bytes,...".
std::string FieldsCsv(const google::protobuf::Message& message);

// A header, and a line for each message: a column for every field that one of
// them has, lists joined by spaces. Requires: all of one type.
std::string TableCsv(
    const std::vector<const google::protobuf::Message*>& messages);

// The same for a repeated field.
template <class T>
std::string TableCsv(const google::protobuf::RepeatedPtrField<T>& messages) {
  std::vector<const google::protobuf::Message*> rows;
  for (const T& message : messages) rows.push_back(&message);
  return TableCsv(rows);
}

// The same of a list of objects that was written as JSON, so that a command
// says what is in its table once; `member` is the list's name in an object, or
// empty if the text is the list. Requires: text that ParseJson takes.
std::string JsonRowsCsv(const std::string& json, absl::string_view member = "");

}  // namespace orrery
