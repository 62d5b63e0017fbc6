#pragma once
// Quantities as text, in both directions.
//
//   ParseBytes("80 GiB")                  85899345920 bytes
//   ParseBytesPerSecond("400 Gb/s")       5e10: bits are b, bytes are B
//   ToText(BytesPerSecond(3.35e12))       "3.35 TB/s"
//
// A quantity is a decimal number, an optional blank and a unit; the unit is
// never left out. Decimal prefixes are k M G T P E (K is read as k), binary
// ones Ki Mi Gi Ti Pi. Negative numbers, NaN and infinities are refused: no
// quantity of a machine is negative. An error quotes the text and shows a legal
// one.
//
// ToText(q) is the shortest text that parses back to exactly `q`;
// ToText(q, digits) is rounded to that many significant digits, for people.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>

#include "base/units.h"

namespace orrery {

absl::StatusOr<Duration> ParseDuration(absl::string_view text);
absl::StatusOr<Bytes> ParseBytes(absl::string_view text);
absl::StatusOr<BytesPerSecond> ParseBytesPerSecond(absl::string_view text);
absl::StatusOr<Flops> ParseFlops(absl::string_view text);
absl::StatusOr<FlopsPerSecond> ParseFlopsPerSecond(absl::string_view text);
absl::StatusOr<OpsPerSecond> ParseOpsPerSecond(absl::string_view text);
absl::StatusOr<Hertz> ParseHertz(absl::string_view text);
absl::StatusOr<Joules> ParseJoules(absl::string_view text);
absl::StatusOr<Watts> ParseWatts(absl::string_view text);
absl::StatusOr<Dollars> ParseDollars(absl::string_view text);
absl::StatusOr<DollarsPerHour> ParseDollarsPerHour(absl::string_view text);
absl::StatusOr<SquareMillimetres> ParseSquareMillimetres(
    absl::string_view text);

// As many significant digits as it takes to parse back exactly.
inline constexpr int kExact = 0;

std::string ToText(Duration value, int digits = kExact);
std::string ToText(Bytes value, int digits = kExact);        // GB, decimal
std::string ToBinaryText(Bytes value, int digits = kExact);  // GiB
std::string ToText(BytesPerSecond value, int digits = kExact);
std::string ToText(Flops value, int digits = kExact);
std::string ToText(FlopsPerSecond value, int digits = kExact);
std::string ToText(OpsPerSecond value, int digits = kExact);
std::string ToText(Hertz value, int digits = kExact);
std::string ToText(Joules value, int digits = kExact);
std::string ToText(Watts value, int digits = kExact);
std::string ToText(Dollars value, int digits = kExact);
std::string ToText(DollarsPerHour value, int digits = kExact);
std::string ToText(SquareMillimetres value, int digits = kExact);

// As reports have them: "12.3 ms", "1.42 s"; "62.1 GiB".
std::string SecondsText(double seconds);
// "+1.5 ms", "-3 us".
std::string SignedSecondsText(double seconds);
std::string BytesText(int64_t bytes);

}  // namespace orrery
