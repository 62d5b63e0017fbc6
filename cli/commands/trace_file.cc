#include "cli/commands/trace_file.h"

#include <absl/strings/ascii.h>
#include <absl/strings/string_view.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/format.h"
#include "cli/commands/json_trace.h"

namespace orrery {
namespace {

// The first bytes at an offset, as many as there are.
std::string Peek(int descriptor, int64_t at, size_t most) {
  std::string bytes(most, '\0');
  const ssize_t got = pread(descriptor, bytes.data(), most, at);
  bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return bytes;
}

// Where the packet at `at` ends: a tag of one byte, a length of up to ten, and
// so many bytes. Nothing if no packet begins there.
std::optional<int64_t> EndOfPacket(int descriptor, int64_t at, int64_t size) {
  constexpr char kPacket = '\n';  // field 1, length-delimited
  const std::string head = Peek(descriptor, at, 11);
  if (head.empty() || head[0] != kPacket) return std::nullopt;
  uint64_t length = 0;
  for (size_t i = 1; i < head.size(); ++i) {
    const auto byte = static_cast<unsigned char>(head[i]);
    length |= static_cast<uint64_t>(byte & 0x7F) << (7 * (i - 1));
    if (byte >= 0x80) continue;
    if (length > static_cast<uint64_t>(size)) return std::nullopt;
    return at + static_cast<int64_t>(i + 1 + length);
  }
  return std::nullopt;
}

absl::Status CutShort(const std::string& file, int64_t at) {
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is not a whole trace: it is damaged or cut short at byte {}", file,
      at));
}

absl::Status NoTrace(const std::string& file, absl::string_view why) {
  return absl::InvalidArgumentError(
      fmt::format("'{}' is not a trace: {}; 'orrery simulate SCENARIO --trace "
                  "FILE' writes one",
                  file, why));
}

}  // namespace

absl::Status CheckTraceFile(int descriptor, int64_t size,
                            const std::string& file) {
  const std::string first = Peek(descriptor, 0, 1);
  // Perfetto's own traces begin with a packet's tag, JSON with a bracket,
  // either compressed with gzip's mark.
  constexpr absl::string_view kBeginnings = "\n{[\x1f";
  if (first.empty() || kBeginnings.find(first[0]) == absl::string_view::npos) {
    return NoTrace(file, "it does not begin as one");
  }
  if (first[0] == '\n') {
    for (int64_t at = 0; at < size;) {
      const std::optional<int64_t> end = EndOfPacket(descriptor, at, size);
      if (!end || *end > size) return CutShort(file, at);
      at = *end;
    }
  }
  if (first[0] == '{') {
    const int64_t tail = std::max<int64_t>(0, size - 4096);
    const std::string end = Peek(descriptor, tail, 4096);
    if (absl::StripAsciiWhitespace(end).empty() ||
        absl::StripAsciiWhitespace(end).back() != '}') {
      return CutShort(file, size);
    }
  }
  const bool json = first[0] == '{' || first[0] == '[';
  if (json && !IsJsonTrace([&](int64_t at, size_t most) {
        return Peek(descriptor, at, most);
      })) {
    return NoTrace(file, "it is JSON without a list of traceEvents");
  }
  return absl::OkStatus();
}

}  // namespace orrery
