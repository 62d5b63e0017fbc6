#include "catalog/hf_config.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "base/format.h"

namespace orrery {
namespace {

constexpr int kLargest = std::numeric_limits<int32_t>::max();

std::string MustBe(absl::string_view key, const JsonValue& value,
                   absl::string_view rule) {
  return fmt::format("{}: '{}' must be {}, got {}", value.position().ToString(),
                     key, rule, value.Describe());
}

}  // namespace

const JsonValue* HfConfig::Lookup(absl::string_view key) const {
  if (key.empty()) return nullptr;
  const JsonValue* value = object_.Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

int HfConfig::Whole(absl::string_view key, const JsonValue& value, int low) {
  const JsonNumber* number = value.number();
  if (number == nullptr || !number->integer || *number->integer < low ||
      *number->integer > kLargest) {
    violations_.Add(
        MustBe(key, value,
               fmt::format("a whole number from {} to {}", low, kLargest)));
    return 1;
  }
  return static_cast<int>(*number->integer);
}

int HfConfig::Count(absl::string_view key, absl::string_view alternative) {
  for (const absl::string_view name : {key, alternative}) {
    if (const JsonValue* value = Lookup(name)) return Whole(name, *value, 1);
  }
  violations_.Add(fmt::format("key '{}' is missing", key));
  return 1;
}

int HfConfig::CountOr(absl::string_view key, int absent,
                      absl::string_view alternative) {
  return Has(key) || Has(alternative) ? Count(key, alternative) : absent;
}

int HfConfig::SizeOr(absl::string_view key, int absent) {
  const JsonValue* value = Lookup(key);
  return value == nullptr ? absent : Whole(key, *value, 0);
}

std::optional<int> HfConfig::OptionalCount(absl::string_view key) {
  if (!Has(key)) return std::nullopt;
  return Count(key);
}

bool HfConfig::FlagOr(absl::string_view key, bool absent) {
  const JsonValue* value = Lookup(key);
  if (value == nullptr) return absent;
  if (value->boolean() == nullptr) {
    violations_.Add(MustBe(key, *value, "true or false"));
    return absent;
  }
  return *value->boolean();
}

double HfConfig::NumberOr(absl::string_view key, double absent) {
  const JsonValue* value = Lookup(key);
  if (value == nullptr) return absent;
  if (value->number() == nullptr) {
    violations_.Add(MustBe(key, *value, "a number"));
    return absent;
  }
  return value->number()->value;
}

std::string HfConfig::TextOr(absl::string_view key, absl::string_view absent) {
  const JsonValue* value = Lookup(key);
  if (value == nullptr) return std::string(absent);
  if (value->string() == nullptr) {
    violations_.Add(MustBe(key, *value, "a string"));
    return std::string(absent);
  }
  return *value->string();
}

std::vector<int> HfConfig::Integers(absl::string_view key) {
  std::vector<int> integers;
  const JsonValue* value = Lookup(key);
  if (value == nullptr) return integers;
  if (value->array() == nullptr) {
    violations_.Add(MustBe(key, *value, "a list of whole numbers"));
    return integers;
  }
  for (const JsonValue& item : *value->array()) {
    integers.push_back(Whole(key, item, 0));
  }
  return integers;
}

std::vector<std::string> HfConfig::Texts(absl::string_view key) {
  std::vector<std::string> texts;
  const JsonValue* value = Lookup(key);
  if (value == nullptr) return texts;
  if (value->array() == nullptr) {
    violations_.Add(MustBe(key, *value, "a list of strings"));
    return texts;
  }
  for (const JsonValue& item : *value->array()) {
    if (item.string() == nullptr) {
      violations_.Add(MustBe(key, item, "a list of strings"));
      return {};
    }
    texts.push_back(*item.string());
  }
  return texts;
}

void HfConfig::Refuse(absl::string_view key, absl::string_view why) {
  const JsonValue* value = Lookup(key);
  violations_.Add(value == nullptr
                      ? fmt::format("'{}': {}", key, why)
                      : fmt::format("{}: '{}': {}",
                                    value->position().ToString(), key, why));
}

}  // namespace orrery
