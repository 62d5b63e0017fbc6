#include "traces/format/argument_block.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "proto/perfetto.pb.h"
#include "traces/format/wire.h"

namespace orrery {
namespace {

using perfetto::DebugAnnotation;
using perfetto::TrackEvent;

// The value's tag and what follows it, behind the key; with its frame an
// argument is shorter than this.
constexpr size_t kLongest =
    2 * (wire::kLongestTag + wire::kLongestVarint) + wire::kLongestTag + 1;
static_assert(kLongest < 0x80, "lengths of arguments are one byte");

// An argument up to its value, which will take `value` bytes.
char* PutKey(ArgumentKey key, size_t value, char* out) {
  const auto number = static_cast<uint64_t>(key);
  const size_t size =
      wire::TagSize<DebugAnnotation::kNameIidFieldNumber, wire::kVarint>() +
      wire::VarintSize(number) + value;
  out = wire::PutBytesHead<TrackEvent::kDebugAnnotationsFieldNumber>(size, out);
  return wire::PutVarintField<DebugAnnotation::kNameIidFieldNumber>(number,
                                                                    out);
}

template <int kField>
char* PutNumber(ArgumentKey key, uint64_t value, char* out) {
  out = PutKey(key,
               wire::TagSize<kField, wire::kVarint>() + wire::VarintSize(value),
               out);
  return wire::PutVarintField<kField>(value, out);
}

}  // namespace

char* ArgumentBlock::Room(size_t bytes) {
  if (size_ + bytes > capacity_) {
    capacity_ = std::max<size_t>(2 * (size_ + bytes), 512);
    auto larger = std::make_unique<char[]>(capacity_);
    if (size_ > 0) std::memcpy(larger.get(), buffer_.get(), size_);
    buffer_ = std::move(larger);
  }
  return buffer_.get() + size_;
}

void ArgumentBlock::Took(const char* end) {
  size_ = static_cast<size_t>(end - buffer_.get());
}

void ArgumentBlock::Add(ArgumentKey key, int64_t value) {
  Took(PutNumber<DebugAnnotation::kIntValueFieldNumber>(
      key, static_cast<uint64_t>(value), Room(kLongest)));
}

void ArgumentBlock::Add(ArgumentKey key, ArgumentText value) {
  Took(PutNumber<DebugAnnotation::kStringValueIidFieldNumber>(
      key, static_cast<uint64_t>(value), Room(kLongest)));
}

void ArgumentBlock::Add(ArgumentKey key, double value) {
  constexpr int kField = DebugAnnotation::kDoubleValueFieldNumber;
  char* const out =
      PutKey(key, wire::TagSize<kField, wire::kFixed64>() + sizeof value,
             Room(kLongest));
  Took(wire::PutFixedField<kField>(value, out));
}

void ArgumentBlock::Add(const EventArgument& argument) {
  std::visit([&](auto value) { Add(argument.key, value); }, argument.value);
}

void ArgumentBlock::Append(absl::string_view encoded) {
  if (encoded.empty()) return;
  Took(wire::PutRaw(encoded, Room(encoded.size())));
}

}  // namespace orrery
