#pragma once
// Protocol Buffers' wire format, appended to a string: varints, tags, fixed
// words and length-delimited fields.
//
// For the few messages that are written by the million, where filling generated
// classes would cost more than everything else. Field numbers come from the
// generated classes' constants, so the schema stays the one place that knows
// them.
#include <absl/strings/string_view.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

namespace orrery::wire {

static_assert(std::endian::native == std::endian::little,
              "fixed words are written as they lie in memory");

inline void AppendVarint(uint64_t value, std::string& out) {
  char bytes[10];
  size_t size = 0;
  while (value >= 0x80) {
    bytes[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes[size++] = static_cast<char>(value);
  out.append(bytes, size);
}

// Tags: the field's number and how its value is written.
inline void AppendTag(int field, unsigned wire_type, std::string& out) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | wire_type, out);
}

inline void AppendVarintField(int field, uint64_t value, std::string& out) {
  AppendTag(field, 0, out);
  AppendVarint(value, out);
}

template <class Word>
requires(sizeof(Word) == 8) void AppendFixedField(int field, Word value,
                                                  std::string& out) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  AppendTag(field, 1, out);
  out.append(bytes, sizeof bytes);
}

inline void AppendBytesField(int field, absl::string_view bytes,
                             std::string& out) {
  AppendTag(field, 2, out);
  AppendVarint(bytes.size(), out);
  out.append(bytes.data(), bytes.size());
}

}  // namespace orrery::wire
