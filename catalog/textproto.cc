#include "catalog/textproto.h"

#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include "base/format.h"
#include "catalog/moved_fields.h"
#include "catalog/nearest.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

// Deeper than any message of ours; a guard against hostile input.
constexpr int kDeepest = 50;
// An error stays readable whatever the input quotes back at us.
constexpr size_t kLongestMessage = 600;

// Keeps the first error; the rest usually follow from it.
class FirstError : public gp::io::ErrorCollector {
 public:
  void AddError(int line, gp::io::ColumnNumber column,
                const std::string& message) override {
    if (seen_) return;
    seen_ = true;
    line_ = line;
    column_ = column;
    message_ = message;
  }
  void AddWarning(int, gp::io::ColumnNumber, const std::string&) override {}

  int line() const { return line_; }
  int column() const { return column_; }
  const std::string& message() const { return message_; }

 private:
  bool seen_ = false;
  int line_ = 0;
  int column_ = 0;
  std::string message_;
};

// The n-th text in double quotes, or "".
std::string Quoted(absl::string_view message, int n) {
  size_t at = 0;
  for (int i = 0;; ++i) {
    const size_t open = message.find('"', at);
    if (open == absl::string_view::npos) return "";
    const size_t close = message.find('"', open + 1);
    if (close == absl::string_view::npos) return "";
    if (i == n) return std::string(message.substr(open + 1, close - open - 1));
    at = close + 1;
  }
}

// A field of that name anywhere in the schema of `root`: enough to list its
// enum, since the parser's message does not say which message it was in.
const gp::FieldDescriptor* FindField(const gp::Descriptor& root,
                                     const std::string& name, int depth) {
  if (const gp::FieldDescriptor* field = root.FindFieldByName(name)) {
    if (field->enum_type() != nullptr) return field;
  }
  if (depth == 0) return nullptr;
  for (int i = 0; i < root.field_count(); ++i) {
    if (root.field(i)->message_type() == nullptr) continue;
    if (const gp::FieldDescriptor* field =
            FindField(*root.field(i)->message_type(), name, depth - 1)) {
      return field;
    }
  }
  return nullptr;
}

// The parser's message in our words, where ours say more.
std::string Explain(const std::string& message, const gp::Descriptor& root) {
  if (absl::StrContains(message, "has no field named")) {
    const std::string type = Quoted(message, 0);
    const std::string name = Quoted(message, 1);
    const gp::Descriptor* descriptor =
        root.file()->pool()->FindMessageTypeByName(type);
    if (descriptor == nullptr) return message;
    const std::vector<std::string> names = FieldNames(*descriptor);
    std::string hint = MovedTo(*descriptor, name);
    if (hint.empty()) hint = DidYouMean(name, names);
    if (hint.empty()) {
      hint = fmt::format("; its fields are {}", absl::StrJoin(names, ", "));
    }
    return fmt::format("{} has no field '{}'{}", descriptor->name(), name,
                       hint);
  }
  if (absl::StrContains(message, "Unknown enumeration value")) {
    const std::string value = Quoted(message, 0);
    const gp::FieldDescriptor* field =
        FindField(root, Quoted(message, 1), kDeepest / 5);
    return field == nullptr ? message : ExplainEnum(*field, value);
  }
  return message;
}

}  // namespace

std::vector<std::string> FieldNames(const gp::Descriptor& descriptor) {
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    names.push_back(descriptor.field(i)->name());
  }
  return names;
}

std::vector<std::string> LegalNames(const gp::EnumDescriptor& descriptor) {
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.value_count(); ++i) {
    const std::string& name = descriptor.value(i)->name();
    if (!absl::EndsWith(name, "_UNSPECIFIED")) names.push_back(name);
  }
  return names;
}

std::string ExplainEnum(const gp::FieldDescriptor& field,
                        absl::string_view value) {
  const std::vector<std::string> names = LegalNames(*field.enum_type());
  return fmt::format("{} must be one of {}, not '{}'{}", field.name(),
                     absl::StrJoin(names, ", "), value.substr(0, 80),
                     DidYouMean(value, names));
}

absl::Status ParseTextproto(absl::string_view text, absl::string_view origin,
                            gp::Message* message) {
  gp::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kDeepest);
  gp::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  if (parser.Parse(&input, message)) return absl::OkStatus();
  // The tokenizer counts lines and columns from 0 and may quote binary input.
  std::string words = Explain(error.message(), *message->GetDescriptor());
  for (char& c : words) {
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  }
  if (words.size() > kLongestMessage) {
    words.resize(kLongestMessage);
    words.append("...");
  }
  return absl::InvalidArgumentError(fmt::format(
      "{}:{}:{}: {}", origin, error.line() + 1, error.column() + 1, words));
}

std::string PrintTextproto(const gp::Message& message) {
  gp::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

}  // namespace orrery
