#include "catalog/textproto.h"

#include <absl/container/flat_hash_set.h>
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/strip.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"
#include "base/utf8.h"
#include "catalog/enum_value.h"
#include "catalog/legal.h"
#include "catalog/moved_fields.h"
#include "catalog/nearest.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

// Deeper than any message of ours; a guard against hostile input.
constexpr int kDeepest = 50;
// An error stays readable whatever the input quotes back at us.
constexpr size_t kLongestMessage = 600;
// Words that are replaced so that the parser gets on: enums in another form
// than the schema's, and mistakes.
constexpr int kMostPatches = 200;
// As many mistakes as somebody reads.
constexpr size_t kMostMistakes = 20;
// Editors of some systems put it first.
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

// What the parser says of a place in the text; lines and columns count from 0.
struct Remark {
  int line = 0;
  int column = 0;
  std::string message;
};

// The first error, as the rest usually follow from it; and the fields that the
// schema does not have, which the parser passes over.
class Remarks : public gp::io::ErrorCollector {
 public:
  void AddError(int line, gp::io::ColumnNumber column,
                const std::string& message) override {
    if (!error) error = Remark{line, column, message};
  }
  void AddWarning(int line, gp::io::ColumnNumber column,
                  const std::string& message) override {
    unknown.push_back({line, column, message});
  }

  std::optional<Remark> error;
  std::vector<Remark> unknown;
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

// The fields of that name anywhere in the schema of `root`, since the parser's
// message does not say which message it was in.
void FindFields(const gp::Descriptor& root, const std::string& name, int depth,
                std::vector<const gp::FieldDescriptor*>* found) {
  if (const gp::FieldDescriptor* field = root.FindFieldByName(name)) {
    found->push_back(field);
  }
  for (int i = 0; depth > 0 && i < root.field_count(); ++i) {
    if (root.field(i)->message_type() == nullptr) continue;
    FindFields(*root.field(i)->message_type(), name, depth - 1, found);
  }
}
// Those of them that hold an enum.
std::vector<const gp::FieldDescriptor*> FindEnums(const gp::Descriptor& root,
                                                  const std::string& name) {
  std::vector<const gp::FieldDescriptor*> found;
  FindFields(root, name, kDeepest / 5, &found);
  std::erase_if(
      found, [](const auto* field) { return field->enum_type() == nullptr; });
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
    return NoSuchField(*descriptor, name);
  }
  if (absl::StrContains(message, "Unknown enumeration value")) {
    const std::string value = Quoted(message, 0);
    const auto fields = FindEnums(root, Quoted(message, 1));
    return fields.empty() ? message : ExplainEnum(*fields[0], value);
  }
  if (absl::StrContains(message, "is specified multiple times") ||
      absl::StrContains(message, "is specified along with")) {
    return fmt::format("{}; keep one of them", absl::StripSuffix(message, "."));
  }
  if (absl::StartsWith(message, "Expected identifier, got: {")) {
    return "a field and its value are needed, as in model { preset: "
           "\"llama3_8b\" }; JSON is not read here";
  }
  if (absl::EndsWith(absl::StripSuffix(message, "."), ", got: ")) {
    return "the text ends within a message; close its brace";
  }
  return message;
}

// A text in which words were replaced, so that the parser gets on. Places are
// told in the text as it was.
class PatchedText {
 public:
  explicit PatchedText(absl::string_view text) : original_(text), text_(text) {}

  absl::string_view text() const { return text_; }

  // Where line and column are, as far as they are there. The tokenizer counts a
  // tab as up to eight columns.
  size_t OffsetOf(const Remark& remark) const {
    size_t at = 0;
    for (int line = remark.line; line > 0; --line) {
      const size_t end = text_.find('\n', at);
      if (end == std::string::npos) return text_.size();
      at = end + 1;
    }
    for (int here = 0; here < remark.column && at < text_.size(); ++at) {
      here += text_[at] == '\t' ? 8 - here % 8 : 1;
    }
    return at;
  }

  void Replace(size_t begin, size_t end, absl::string_view by) {
    text_.replace(begin, end - begin, by.data(), by.size());
    patches_.push_back(
        {begin + by.size(), static_cast<ptrdiff_t>(end - begin) -
                                static_cast<ptrdiff_t>(by.size())});
  }

  // The same place in the text as it was.
  size_t InOriginal(size_t offset) const {
    size_t at = offset;
    for (const Patch& patch : patches_) {
      if (offset >= patch.end) at += static_cast<size_t>(patch.longer);
    }
    return at;
  }
  // "3:16", of an offset in the patched text.
  std::string PlaceOf(size_t offset) const {
    const size_t at = InOriginal(offset);
    const absl::string_view before = original_.substr(0, at);
    const size_t line = before.rfind('\n');
    return fmt::format("{}:{}",
                       1 + std::count(before.begin(), before.end(), '\n'),
                       line == absl::string_view::npos ? at + 1 : at - line);
  }

 private:
  struct Patch {
    size_t end;        // in the text when it was patched
    ptrdiff_t longer;  // how much longer the original is
  };

  absl::string_view original_;
  std::string text_;
  std::vector<Patch> patches_;  // from front to back
};

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

// The word that a remark is about.
struct Word {
  size_t begin = 0;
  size_t end = 0;
};

// The parser remarks on these words when it has gone on to what follows them.
Word WordBefore(absl::string_view text, size_t at, const std::string& word) {
  const size_t begin = text.substr(0, at).rfind(word);
  if (word.empty() || begin == absl::string_view::npos) return {at, at};
  return {begin, begin + word.size()};
}

Word WordAround(absl::string_view text, size_t at) {
  Word word{at, at};
  // A quoted text with its quotes.
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
    const size_t close =
        text.find_first_of(std::string{text[at], '\n'}, at + 1);
    if (close != absl::string_view::npos && text[close] == text[at]) {
      word.end = close + 1;
      return word;
    }
  }
  while (word.begin > 0 && IsWord(text[word.begin - 1])) --word.begin;
  const auto in_number = [&](size_t i) {
    return text[i] == '.' && i + 1 < text.size() &&
           absl::ascii_isdigit(static_cast<unsigned char>(text[i + 1]));
  };
  while (word.end < text.size() &&
         (IsWord(text[word.end]) || in_number(word.end))) {
    ++word.end;
  }
  return word;
}

bool IsUnknownEnum(const std::string& message) {
  return absl::StrContains(message, "Unknown enumeration value");
}

Word WordOf(const PatchedText& source, const Remark& remark) {
  const size_t at = source.OffsetOf(remark);
  const std::string& message = remark.message;
  if (IsUnknownEnum(message) ||
      absl::StrContains(message, "is specified multiple times") ||
      absl::StrContains(message, "is specified along with")) {
    return WordBefore(source.text(), at, Quoted(message, 0));
  }
  if (absl::StrContains(message, "has no field named") ||
      absl::StrContains(message, "Invalid value for boolean field")) {
    return WordBefore(source.text(), at, Quoted(message, 1));
  }
  // The tokenizer stops within "1F1B".
  return WordAround(source.text(), at);
}

// The enum's name as the schema writes it, if the word is one in another form.
std::optional<std::string> EnumName(const PatchedText& source,
                                    const Remark& remark, const Word& word,
                                    const gp::Descriptor& root) {
  const std::string field = IsUnknownEnum(remark.message)
                                ? Quoted(remark.message, 1)
                                : FieldBefore(source.text(), word.begin);
  const absl::string_view value =
      source.text().substr(word.begin, word.end - word.begin);
  absl::flat_hash_set<std::string> names;
  for (const gp::FieldDescriptor* each : FindEnums(root, field)) {
    const auto* found = FindEnumValue(*each->enum_type(), value);
    if (found != nullptr) names.insert(found->name());
  }
  if (names.size() != 1 || *names.begin() == value) return std::nullopt;
  return *names.begin();
}

// A value that the parser takes in the place of one that it refused, so that it
// finds the mistakes after it too; nothing if it cannot go on.
std::optional<std::string> LegalInstead(const std::string& message,
                                        const gp::Descriptor& root) {
  if (IsUnknownEnum(message)) {
    const auto fields = FindEnums(root, Quoted(message, 1));
    if (fields.empty()) return std::nullopt;
    return fields[0]->enum_type()->value(0)->name();
  }
  if (absl::StartsWith(message, "Expected integer or identifier, got")) {
    return "0";  // no enum has a value without its zero
  }
  if (absl::StartsWith(message, "Expected integer, got") ||
      absl::StartsWith(message, "Expected double, got") ||
      absl::StartsWith(message, "Integer out of range")) {
    return "1";
  }
  if (absl::StrContains(message, "Invalid value for boolean field")) {
    return "true";
  }
  return std::nullopt;
}

// What the field before the word holds, in place of the parser's words for a
// value of another kind ("Expected integer, got: many").
void TellKind(const PatchedText& source, const Word& word,
              const gp::Descriptor& root, Remark* remark) {
  const std::string name = FieldBefore(source.text(), word.begin);
  const std::string value(
      source.text().substr(word.begin, word.end - word.begin));
  std::vector<const gp::FieldDescriptor*> fields;
  FindFields(root, name, kDeepest / 5, &fields);
  if (value.empty() || fields.empty()) return;
  const auto type = fields[0]->cpp_type();
  if (!std::all_of(fields.begin(), fields.end(), [&](const auto* field) {
        return field->cpp_type() == type;
      })) {
    return;
  }
  const bool quoted = value.front() == '"' || value.front() == '\'';
  const auto must_be = [&](absl::string_view what) {
    const std::string shown = Excerpt(value);
    remark->message = fmt::format("{} must be {}, not {}", name, what,
                                  quoted ? shown : fmt::format("'{}'", shown));
  };
  if (quoted && type == gp::FieldDescriptor::CPPTYPE_ENUM) {
    return must_be(
        fmt::format("one of {} without quotes",
                    absl::StrJoin(LegalNames(*fields[0]->enum_type()), ", ")));
  }
  switch (type) {
    case gp::FieldDescriptor::CPPTYPE_ENUM:
      remark->message = fmt::format(
          "Unknown enumeration value of \"{}\" for field \"{}\".", value, name);
      return;
    case gp::FieldDescriptor::CPPTYPE_INT32:
    case gp::FieldDescriptor::CPPTYPE_DOUBLE:
      return must_be(LegalValues(*fields[0]));
    case gp::FieldDescriptor::CPPTYPE_BOOL:
      return must_be("true or false");
    case gp::FieldDescriptor::CPPTYPE_STRING:
      return must_be(fmt::format("a text in quotes ({}: \"...\")", name));
    case gp::FieldDescriptor::CPPTYPE_MESSAGE:
      return must_be(fmt::format("a message in braces ({} {{ ... }})", name));
    default:
      return;
  }
}

std::string WhatIsWrong(std::string words, absl::string_view place,
                        absl::string_view origin) {
  // Binary input may be quoted.
  for (char& c : words) {
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  }
  if (words.size() > kLongestMessage) {
    words.resize(kLongestMessage);
    words.append("...");
  }
  return fmt::format("{}:{}: {}", origin, place, words);
}

// Braces and brackets that are open at once, outside of texts and comments.
absl::Status CheckDepth(absl::string_view text, absl::string_view origin) {
  int depth = 0;
  int line = 1;
  char quote = 0;
  bool comment = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      comment = false;
      quote = 0;
    } else if (comment) {
      continue;
    } else if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      comment = true;
    } else if (c == '{' || c == '<' || c == '[') {
      if (++depth <= kDeepest) continue;
      return absl::InvalidArgumentError(
          fmt::format("{}:{}: braces are nested more than {} deep; no message "
                      "is: close those before",
                      origin, line, kDeepest));
    } else if (c == '}' || c == '>' || c == ']') {
      --depth;
    }
  }
  return absl::OkStatus();
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
                     absl::StrJoin(names, ", "), Excerpt(value),
                     DidYouMean(value, names));
}

std::string NoSuchField(const gp::Descriptor& message, absl::string_view name) {
  const std::vector<std::string> names = FieldNames(message);
  std::string hint = MovedTo(message, name);
  if (hint.empty()) hint = DidYouMean(name, names);
  if (hint.empty()) {
    hint = fmt::format("; its fields are {}", absl::StrJoin(names, ", "));
  }
  return fmt::format("{} has no field '{}'{}", message.name(), Excerpt(name),
                     hint);
}

absl::Status ParseTextproto(absl::string_view text, absl::string_view origin,
                            gp::Message* message) {
  absl::ConsumePrefix(&text, kByteOrderMark);
  RETURN_IF_ERROR(CheckEncoding(text, origin));
  RETURN_IF_ERROR(CheckDepth(text, origin));
  const gp::Descriptor& root = *message->GetDescriptor();
  PatchedText source(text);
  std::map<size_t, std::string> mistakes;  // by their place
  const auto add = [&](const Remark& remark, const Word& word) {
    mistakes.emplace(source.InOriginal(word.begin),
                     WhatIsWrong(Explain(remark.message, root),
                                 source.PlaceOf(word.begin), origin));
  };
  for (int patches = 0;; ++patches) {
    gp::TextFormat::Parser parser;
    Remarks remarks;
    parser.RecordErrorsTo(&remarks);
    parser.SetRecursionLimit(kDeepest);
    parser.AllowUnknownField(true);
    gp::io::ArrayInputStream input(source.text().data(),
                                   static_cast<int>(source.text().size()));
    message->Clear();
    parser.Parse(&input, message);
    if (remarks.error) {
      const Word word = WordOf(source, *remarks.error);
      std::optional<std::string> instead =
          EnumName(source, *remarks.error, word, root);
      if (!instead) {
        instead = LegalInstead(remarks.error->message, root);
        TellKind(source, word, root, &*remarks.error);
        if (!instead) instead = LegalInstead(remarks.error->message, root);
        add(*remarks.error, word);
      }
      if (instead && word.begin < word.end && patches < kMostPatches &&
          mistakes.size() < kMostMistakes) {
        source.Replace(word.begin, word.end, *instead);
        continue;
      }
    }
    for (const Remark& unknown : remarks.unknown) {
      add(unknown, WordOf(source, unknown));
    }
    Violations violations;
    for (auto& [place, words] : mistakes) {
      if (violations.messages().size() < kMostMistakes) {
        violations.Add(std::move(words));
      }
    }
    return violations.ToStatus();
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
