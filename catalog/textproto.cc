#include "catalog/textproto.h"

#include <absl/container/flat_hash_set.h>
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/strip.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <optional>

#include "base/format.h"
#include "base/status.h"
#include "base/utf8.h"
#include "catalog/enum_value.h"
#include "catalog/moved_fields.h"
#include "catalog/nearest.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

// Deeper than any message of ours; a guard against hostile input.
constexpr int kDeepest = 50;
// An error stays readable whatever the input quotes back at us.
constexpr size_t kLongestMessage = 600;
// Enums of a text that are written in another form than the schema's.
constexpr int kMostEnums = 200;
// Editors of some systems put it first.
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

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

// The enum fields of that name anywhere in the schema of `root`, since the
// parser's message does not say which message it was in.
void FindFields(const gp::Descriptor& root, const std::string& name, int depth,
                std::vector<const gp::FieldDescriptor*>* found) {
  if (const gp::FieldDescriptor* field = root.FindFieldByName(name)) {
    if (field->enum_type() != nullptr) found->push_back(field);
  }
  for (int i = 0; depth > 0 && i < root.field_count(); ++i) {
    if (root.field(i)->message_type() == nullptr) continue;
    FindFields(*root.field(i)->message_type(), name, depth - 1, found);
  }
}
std::vector<const gp::FieldDescriptor*> FindFields(const gp::Descriptor& root,
                                                   const std::string& name) {
  std::vector<const gp::FieldDescriptor*> found;
  FindFields(root, name, kDeepest / 5, &found);
  return found;
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
    const auto fields = FindFields(root, Quoted(message, 1));
    return fields.empty() ? message : ExplainEnum(*fields[0], value);
  }
  return message;
}

// Where line and column (from 0) are in `text`, as far as they are there. The
// tokenizer counts a tab as up to eight columns.
size_t OffsetOf(absl::string_view text, int line, int column) {
  size_t at = 0;
  for (; line > 0; --line) {
    const size_t end = text.find('\n', at);
    if (end == absl::string_view::npos) return text.size();
    at = end + 1;
  }
  for (int here = 0; here < column && at < text.size(); ++at) {
    here += text[at] == '\t' ? 8 - here % 8 : 1;
  }
  return at;
}

bool IsWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '-';
}

// The field whose value stands before `at`, if it is written "name: value".
std::string FieldBefore(absl::string_view text, size_t at) {
  const auto space = [&](size_t i) {
    return absl::ascii_isspace(static_cast<unsigned char>(text[i]));
  };
  while (at > 0 && space(at - 1)) --at;
  if (at == 0 || text[at - 1] != ':') return "";
  --at;
  while (at > 0 && space(at - 1)) --at;
  const size_t end = at;
  while (at > 0 && IsWord(text[at - 1])) --at;
  return std::string(text.substr(at, end - at));
}

// The word that the parser did not know, and the field it is the value of.
struct UnknownWord {
  size_t begin = 0;
  size_t end = 0;
  std::string field;
};

// Nothing if the error is another one.
std::optional<UnknownWord> FindUnknownWord(absl::string_view text,
                                           const FirstError& error) {
  const size_t at = OffsetOf(text, error.line(), error.column());
  UnknownWord word;
  if (absl::StrContains(error.message(), "Unknown enumeration value")) {
    // The parser has gone on to what comes after it.
    const std::string value = Quoted(error.message(), 0);
    word.begin = text.substr(0, at).rfind(value);
    if (value.empty() || word.begin == absl::string_view::npos) {
      return std::nullopt;
    }
    word.end = word.begin + value.size();
    word.field = Quoted(error.message(), 1);
    return word;
  }
  // The tokenizer stops within "1F1B".
  word.begin = word.end = at;
  while (word.begin > 0 && IsWord(text[word.begin - 1])) --word.begin;
  while (word.end < text.size() && IsWord(text[word.end])) ++word.end;
  if (word.begin == word.end) return std::nullopt;
  word.field = FieldBefore(text, word.begin);
  return word;
}

// The text with that word as the schema writes it, if it is an enum's name in
// another form.
std::optional<std::string> WithEnumName(absl::string_view text,
                                        const UnknownWord& word,
                                        const gp::Descriptor& root) {
  const absl::string_view value =
      text.substr(word.begin, word.end - word.begin);
  absl::flat_hash_set<std::string> names;
  for (const gp::FieldDescriptor* field : FindFields(root, word.field)) {
    const auto* found = FindEnumValue(*field->enum_type(), value);
    if (found != nullptr) names.insert(found->name());
  }
  if (names.size() != 1 || *names.begin() == value) return std::nullopt;
  return absl::StrCat(text.substr(0, word.begin), *names.begin(),
                      text.substr(word.end));
}

absl::Status WhatIsWrong(const FirstError& error, absl::string_view origin,
                         const gp::Descriptor& root) {
  // The tokenizer counts lines and columns from 0 and may quote binary input.
  std::string words = Explain(error.message(), root);
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

absl::Status CheckEncoding(absl::string_view text, absl::string_view origin) {
  const std::optional<size_t> at = FirstNotUtf8(text);
  if (!at) return absl::OkStatus();
  const bool utf16 =
      absl::StartsWith(text, "\xFF\xFE") || absl::StartsWith(text, "\xFE\xFF");
  return absl::InvalidArgumentError(fmt::format(
      "{}:{}: the text is {}; save it as UTF-8", origin,
      1 + std::count(text.begin(),
                     text.begin() + static_cast<std::ptrdiff_t>(*at), '\n'),
      utf16 ? "UTF-16" : "not UTF-8 from here on"));
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
  absl::ConsumePrefix(&text, kByteOrderMark);
  RETURN_IF_ERROR(CheckEncoding(text, origin));
  std::string fixed;
  for (int rewritten = 0;; ++rewritten) {
    gp::TextFormat::Parser parser;
    FirstError error;
    parser.RecordErrorsTo(&error);
    parser.SetRecursionLimit(kDeepest);
    gp::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
    message->Clear();
    if (parser.Parse(&input, message)) return absl::OkStatus();
    const std::optional<UnknownWord> word = FindUnknownWord(text, error);
    std::optional<std::string> other;
    if (word) other = WithEnumName(text, *word, *message->GetDescriptor());
    if (!other || rewritten == kMostEnums) {
      return WhatIsWrong(error, origin, *message->GetDescriptor());
    }
    fixed = *std::move(other);
    text = fixed;
  }
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
