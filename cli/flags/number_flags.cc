#include "cli/flags/number_flags.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/legal.h"

namespace orrery {
namespace {

constexpr int64_t kMost = 1'000'000'000'000;

}  // namespace

absl::StatusOr<int64_t> CountFlag(const Arguments& arguments,
                                  absl::string_view flag,
                                  std::optional<int64_t> fallback) {
  const std::optional<std::string> text = arguments.Get(flag);
  if (!text.has_value()) {
    if (fallback.has_value()) return *fallback;
    return absl::InvalidArgumentError(fmt::format("--{} is needed", flag));
  }
  int64_t value = 0;
  if (absl::SimpleAtoi(*text, &value) && value >= 1 && value <= kMost) {
    return value;
  }
  return absl::InvalidArgumentError(
      fmt::format("--{} must be a whole number from 1 to {}, got '{}'", flag,
                  kMost, Excerpt(*text)));
}

absl::StatusOr<int64_t> FieldFlag(const Arguments& arguments,
                                  absl::string_view flag,
                                  const google::protobuf::Descriptor& message,
                                  const std::string& field, int64_t fallback) {
  const std::optional<std::string> text = arguments.Get(flag);
  if (!text.has_value()) return fallback;
  const auto* legal = message.FindFieldByName(field);
  CHECK(legal != nullptr) << field;
  int64_t value = 0;
  if (absl::SimpleAtoi(*text, &value) &&
      IsLegal(*legal, static_cast<double>(value))) {
    return value;
  }
  return absl::InvalidArgumentError(fmt::format(
      "--{} must be {}, got '{}'", flag, LegalValues(*legal), Excerpt(*text)));
}

absl::StatusOr<DType> DTypeFlag(const Arguments& arguments,
                                absl::string_view flag, DType fallback) {
  const std::optional<std::string> text = arguments.Get(flag);
  if (!text.has_value()) return fallback;
  std::vector<std::string> names;
  for (const DType dtype : kAllDTypes) {
    if (Name(dtype) == absl::AsciiStrToUpper(*text)) return dtype;
    names.push_back(absl::AsciiStrToLower(std::string(Name(dtype))));
  }
  return absl::InvalidArgumentError(
      fmt::format("--{} must be one of {}, got '{}'", flag,
                  absl::StrJoin(names, ", "), Excerpt(*text)));
}

std::vector<Flag> KernelOptionFlags() {
  return {{.name = "graph",
           .value = "",
           .help = "kernels are replayed from a captured graph"},
          {.name = "additive",
           .value = "",
           .help = "attention as load + products + pointwise + store, without "
                   "overlap (arXiv 2507.02456)"},
          {.name = "clock",
           .value = "CLOCK",
           .help = "the clock held instead of the sustained one: '1.4 GHz'"}};
}

absl::Status CheckMatrixFormat(DType dtype, const Chip& chip) {
  if (chip.peak(dtype).has_value()) return absl::OkStatus();
  std::vector<std::string> known;
  for (const DType other : kAllDTypes) {
    if (chip.peak(other)) known.emplace_back(Name(other));
  }
  return absl::InvalidArgumentError(
      fmt::format("{} has no matrix units for {}; it has {}", chip.name(),
                  Name(dtype), absl::StrJoin(known, ", ")));
}

absl::StatusOr<KernelOptions> ReadKernelOptions(const Arguments& arguments,
                                                const Chip& chip) {
  KernelOptions options;
  if (arguments.Has("graph")) options.launch = LaunchMode::kGraph;
  if (arguments.Has("additive")) options.attention = AttentionForm::kAdditive;
  if (const auto clock = arguments.Get("clock")) {
    ASSIGN_OR_RETURN(const Hertz hertz, ParseHertz(*clock));
    const Hertz highest = chip.highest_clock();
    if (hertz.value() < 1e6 || hertz > highest) {
      return absl::InvalidArgumentError(fmt::format(
          "--clock must be between 1 MHz and {}, the highest clock that {} "
          "states, got '{}'",
          ToText(highest, 4), chip.name(), Excerpt(*clock)));
    }
    options.clock = hertz;
  }
  return options;
}

}  // namespace orrery
