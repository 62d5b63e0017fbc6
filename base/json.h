#pragma once
// JSON, read strictly (RFC 8259) and with bounds.
//
// Nothing beyond the standard is accepted: no comments, no trailing commas, no
// NaN, no text after the value, no key twice in an object, no bytes that are
// not UTF-8. Depth and number of values are limited, so that memory is bounded
// by the text and no input can overflow the stack. Every value knows where it
// stood, for messages.
//
//   ASSIGN_OR_RETURN(const JsonValue config, ParseJson(text));
//   if (const JsonValue* layers = config.Find("num_hidden_layers")) ...
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace orrery {

inline constexpr int kMaxJsonDepth = 64;
inline constexpr int kMaxJsonValues = 1 << 20;

struct JsonMember;

// A place in the text, counted from 1; columns count bytes.
struct JsonPosition {
  int line = 1;
  int column = 1;
  // "line 3, column 14".
  std::string ToString() const;
};

struct JsonNumber {
  double value = 0;
  // The same number, exactly, if it is whole and fits.
  std::optional<int64_t> integer;
};

class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;
  using Content = std::variant<std::nullptr_t, bool, JsonNumber, std::string,
                               Array, Object>;

  JsonValue() = default;
  JsonValue(Content content, JsonPosition position);

  bool is_null() const {
    return std::holds_alternative<std::nullptr_t>(content_);
  }
  // The content if it is of that type, otherwise nothing.
  const bool* boolean() const { return std::get_if<bool>(&content_); }
  const JsonNumber* number() const {
    return std::get_if<JsonNumber>(&content_);
  }
  const std::string* string() const {
    return std::get_if<std::string>(&content_);
  }
  const Array* array() const { return std::get_if<Array>(&content_); }
  const Object* object() const { return std::get_if<Object>(&content_); }

  // The member of an object; nothing if there is none or this is no object.
  const JsonValue* Find(absl::string_view key) const;

  // "null", "true", "3.5", "'text'", "a list", "an object": for messages. Long
  // strings are cut.
  std::string Describe() const;
  JsonPosition position() const { return position_; }

 private:
  Content content_;  // null, unless said otherwise
  JsonPosition position_;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

// Here, because a member holds values and a value members.
inline JsonValue::JsonValue(Content content, JsonPosition position)
    : content_(std::move(content)), position_(position) {}

// The value that `text` holds. An error says where and what was expected.
absl::StatusOr<JsonValue> ParseJson(absl::string_view text);

}  // namespace orrery
