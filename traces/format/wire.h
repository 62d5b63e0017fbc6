#pragma once
// Protocol Buffers' wire format: varints, tags, fixed words and
// length-delimited fields.
//
// For the few messages that are written by the million, where filling generated
// classes would cost more than everything else. Field numbers come from the
// generated classes' constants, so the schema stays the one place that knows
// them.
//
// Put... writes to memory that has room and returns where it ended; Append...
// lengthens a string.
#include <absl/strings/string_view.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace orrery::wire {

static_assert(std::endian::native == std::endian::little,
              "fixed words are written as they lie in memory");

enum Type : unsigned { kVarint = 0, kFixed64 = 1, kBytes = 2 };
inline constexpr size_t kLongestVarint = 10;
inline constexpr size_t kLongestTag = 2;

constexpr size_t VarintSize(uint64_t value) {
  return 1 + static_cast<size_t>(63 - std::countl_zero(value | 1)) / 7;
}

inline char* PutVarint(uint64_t value, char* out) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

// Tags: the field's number and how its value is written.
template <int kField, Type kType>
constexpr size_t TagSize() {
  constexpr size_t kSize = VarintSize(unsigned{kField} << 3 | kType);
  static_assert(kSize <= kLongestTag);
  return kSize;
}

template <int kField, Type kType>
inline char* PutTag(char* out) {
  constexpr uint64_t kTag = unsigned{kField} << 3 | kType;
  if constexpr (TagSize<kField, kType>() == 1) {
    *out++ = static_cast<char>(kTag);
  } else {
    *out++ = static_cast<char>(kTag | 0x80);
    *out++ = static_cast<char>(kTag >> 7);
  }
  return out;
}

template <int kField>
inline char* PutVarintField(uint64_t value, char* out) {
  return PutVarint(value, PutTag<kField, kVarint>(out));
}

template <int kField, class Word>
requires(sizeof(Word) == 8) inline char* PutFixedField(Word value, char* out) {
  out = PutTag<kField, kFixed64>(out);
  std::memcpy(out, &value, sizeof value);
  return out + sizeof value;
}

// The tag and the length; the bytes follow.
template <int kField>
inline char* PutBytesHead(size_t size, char* out) {
  return PutVarint(size, PutTag<kField, kBytes>(out));
}

inline char* PutRaw(absl::string_view bytes, char* out) {
  // An empty view may point nowhere.
  if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
  return out + bytes.size();
}

template <int kField>
inline void AppendBytesField(absl::string_view bytes, std::string& out) {
  char head[kLongestTag + kLongestVarint];
  const char* const end = PutBytesHead<kField>(bytes.size(), head);
  out.append(head, static_cast<size_t>(end - head));
  out.append(bytes.data(), bytes.size());
}

}  // namespace orrery::wire
