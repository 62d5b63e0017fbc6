#include "base/json.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstddef>

#include "base/format.h"
#include "base/overload.h"
#include "base/status.h"
#include "base/utf8.h"

namespace orrery {
namespace {

// Doubles up to here hold every whole number.
constexpr double kExactIntegers = 9007199254740992.0;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendUtf8(uint32_t code, std::string& out) {
  const auto put = [&](uint32_t byte) {
    out.push_back(static_cast<char>(byte));
  };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<JsonValue> ParseDocument() {
    SkipSpace();
    ASSIGN_OR_RETURN(JsonValue value, ParseValue(0));
    SkipSpace();
    if (!AtEnd()) return Error("nothing may follow the value");
    return value;
  }

 private:
  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  JsonPosition Position() const {
    return {line_, static_cast<int>(at_ - line_start_) + 1};
  }

  absl::Status ErrorAt(JsonPosition position, absl::string_view what) const {
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", position.ToString(), what));
  }
  absl::Status Error(absl::string_view what) const {
    return ErrorAt(Position(), what);
  }
  absl::Status Expected(absl::string_view what) const {
    if (AtEnd()) return Error(fmt::format("expected {}, the text ends", what));
    const char c = Peek();
    const bool printable = c >= ' ' && c <= '~';
    return Error(printable ? fmt::format("expected {}, got '{}'", what, c)
                           : fmt::format("expected {}, got byte 0x{:02x}", what,
                                         static_cast<unsigned char>(c)));
  }

  void SkipSpace() {
    for (; !AtEnd(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  bool Consume(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool ConsumeWord(absl::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  absl::StatusOr<JsonValue> ParseValue(int depth) {
    const JsonPosition position = Position();
    if (depth > kMaxJsonDepth) {
      return Error(fmt::format("nested deeper than {}", kMaxJsonDepth));
    }
    if (++values_ > kMaxJsonValues) {
      return Error(fmt::format("more than {} values", kMaxJsonValues));
    }
    if (Peek() == '{') return ParseObject(depth, position);
    if (Peek() == '[') return ParseArray(depth, position);
    if (Peek() == '"') {
      ASSIGN_OR_RETURN(std::string text, ParseString());
      return JsonValue(std::move(text), position);
    }
    if (Peek() == '-' || IsDigit(Peek())) {
      ASSIGN_OR_RETURN(const JsonNumber number, ParseNumber());
      return JsonValue(number, position);
    }
    if (ConsumeWord("true")) return JsonValue(true, position);
    if (ConsumeWord("false")) return JsonValue(false, position);
    if (ConsumeWord("null")) return JsonValue(nullptr, position);
    return Expected("a value");
  }

  absl::StatusOr<JsonValue> ParseObject(int depth, JsonPosition position) {
    Consume('{');
    JsonValue::Object members;
    absl::flat_hash_set<std::string> keys;
    SkipSpace();
    if (Consume('}')) return JsonValue(std::move(members), position);
    while (true) {
      if (Peek() != '"') return Expected("a key in double quotes");
      const JsonPosition key_position = Position();
      ASSIGN_OR_RETURN(std::string key, ParseString());
      if (!keys.insert(key).second) {
        return ErrorAt(key_position,
                       fmt::format("key '{}' is there twice", key));
      }
      SkipSpace();
      if (!Consume(':')) return Expected("':'");
      SkipSpace();
      ASSIGN_OR_RETURN(JsonValue value, ParseValue(depth + 1));
      members.push_back({std::move(key), std::move(value)});
      SkipSpace();
      if (Consume('}')) return JsonValue(std::move(members), position);
      if (!Consume(',')) return Expected("',' or '}'");
      SkipSpace();
    }
  }

  absl::StatusOr<JsonValue> ParseArray(int depth, JsonPosition position) {
    Consume('[');
    JsonValue::Array values;
    SkipSpace();
    if (Consume(']')) return JsonValue(std::move(values), position);
    while (true) {
      ASSIGN_OR_RETURN(JsonValue value, ParseValue(depth + 1));
      values.push_back(std::move(value));
      SkipSpace();
      if (Consume(']')) return JsonValue(std::move(values), position);
      if (!Consume(',')) return Expected("',' or ']'");
      SkipSpace();
    }
  }

  absl::StatusOr<std::string> ParseString() {
    Consume('"');
    std::string out;
    while (true) {
      if (AtEnd()) return Expected("'\"'");
      const char c = text_[at_];
      if (Consume('"')) return out;
      if (Consume('\\')) {
        RETURN_IF_ERROR(ParseEscape(out));
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x20) {
        return Error("control characters in a string must be escaped");
      }
      const size_t length = Utf8Length(text_.substr(at_));
      if (length == 0) return Error("the text is not UTF-8");
      out.append(text_.data() + at_, length);
      at_ += length;
    }
  }

  absl::Status ParseEscape(std::string& out) {
    constexpr absl::string_view kEscapes = "\"\\/bfnrt";
    constexpr absl::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const size_t simple =
        AtEnd() ? absl::string_view::npos : kEscapes.find(text_[at_]);
    if (simple != absl::string_view::npos) {
      out.push_back(kMeanings[simple]);
      ++at_;
      return absl::OkStatus();
    }
    if (!Consume('u')) return Expected("an escape");
    ASSIGN_OR_RETURN(uint32_t code, ParseHex4());
    if (code >= 0xDC00 && code <= 0xDFFF) return Error("a lone surrogate");
    if (code >= 0xD800 && code <= 0xDBFF) {
      if (!ConsumeWord("\\u")) return Error("a lone surrogate");
      ASSIGN_OR_RETURN(const uint32_t low, ParseHex4());
      if (low < 0xDC00 || low > 0xDFFF) return Error("a lone surrogate");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    AppendUtf8(code, out);
    return absl::OkStatus();
  }

  absl::StatusOr<uint32_t> ParseHex4() {
    uint32_t code = 0;
    const absl::string_view digits = text_.substr(at_, 4);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() < 4 || error != std::errc() ||
        end != digits.data() + digits.size()) {
      return Expected("four hexadecimal digits");
    }
    at_ += 4;
    return code;
  }

  absl::Status ParseDigits() {
    if (!IsDigit(Peek())) return Expected("a digit");
    while (IsDigit(Peek())) ++at_;
    return absl::OkStatus();
  }

  absl::StatusOr<JsonNumber> ParseNumber() {
    const JsonPosition position = Position();
    const size_t start = at_;
    bool plain = true;
    Consume('-');
    if (!Consume('0')) RETURN_IF_ERROR(ParseDigits());
    if (IsDigit(Peek())) return Error("a number may not start with 0");
    if (Consume('.')) {
      plain = false;
      RETURN_IF_ERROR(ParseDigits());
    }
    if (Consume('e') || Consume('E')) {
      plain = false;
      if (!Consume('+')) Consume('-');
      RETURN_IF_ERROR(ParseDigits());
    }
    const absl::string_view text = text_.substr(start, at_ - start);
    const char* const end = text.data() + text.size();
    JsonNumber number;
    if (std::from_chars(text.data(), end, number.value).ec != std::errc()) {
      return ErrorAt(position, "the number is beyond the range of a double");
    }
    int64_t integer = 0;
    if (plain && std::from_chars(text.data(), end, integer).ec == std::errc()) {
      number.integer = integer;
    } else if (!plain && number.value == std::trunc(number.value) &&
               std::abs(number.value) <= kExactIntegers) {
      number.integer = static_cast<int64_t>(number.value);
    }
    return number;
  }

  absl::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  size_t line_start_ = 0;
  int values_ = 0;
};

}  // namespace

std::string JsonPosition::ToString() const {
  return fmt::format("line {}, column {}", line, column);
}

const JsonValue* JsonValue::Find(absl::string_view key) const {
  if (object() == nullptr) return nullptr;
  for (const JsonMember& member : *object()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

std::string JsonValue::Describe() const {
  constexpr size_t kLongest = 40;
  return std::visit(
      Overload{
          [](std::nullptr_t) -> std::string { return "null"; },
          [](bool value) -> std::string { return value ? "true" : "false"; },
          [](const JsonNumber& number) {
            return number.integer ? fmt::format("{}", *number.integer)
                                  : fmt::format("{}", number.value);
          },
          [](const std::string& text) {
            return text.size() <= kLongest
                       ? fmt::format("'{}'", text)
                       : fmt::format("'{}...'", text.substr(0, kLongest));
          },
          [](const Array&) -> std::string { return "a list"; },
          [](const Object&) -> std::string { return "an object"; }},
      content_);
}

absl::StatusOr<JsonValue> ParseJson(absl::string_view text) {
  return Parser(text).ParseDocument();
}

}  // namespace orrery
