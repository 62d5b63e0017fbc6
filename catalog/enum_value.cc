#include "catalog/enum_value.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <string>
#include <vector>

namespace orrery {
namespace {

namespace gp = google::protobuf;

constexpr absl::string_view kUnspecified = "_UNSPECIFIED";

// Upper case, without what separates words.
std::string Squeezed(absl::string_view text) {
  std::string out = absl::AsciiStrToUpper(std::string(text));
  out.erase(
      std::remove_if(
          out.begin(), out.end(),
          [](char c) { return c == '_' || c == '-' || c == ' ' || c == '.'; }),
      out.end());
  return out;
}

// "ONE_F_ONE_B" as "1_F_1_B". ZERO is a name here, not a number.
std::string WithDigits(absl::string_view name) {
  std::string out;
  for (absl::string_view word : absl::StrSplit(name, '_')) {
    if (!out.empty()) out += '_';
    out += word == "ONE" ? "1" : word == "TWO" ? "2" : std::string(word);
  }
  return out;
}

// "RECOMPUTE" of "RECOMPUTE_UNSPECIFIED", and "ATTENTION_KERNEL" of the type's
// name AttentionKernel.
std::vector<std::string> Prefixes(const gp::EnumDescriptor& type) {
  std::vector<std::string> prefixes = {Squeezed(type.name())};
  absl::string_view zero = type.value(0)->name();
  if (absl::ConsumeSuffix(&zero, kUnspecified)) {
    prefixes.push_back(Squeezed(zero));
  }
  return prefixes;
}

bool Means(const gp::EnumDescriptor& type, const std::string& name,
           const std::string& wanted) {
  for (const std::string& spelled :
       {Squeezed(name), Squeezed(WithDigits(name))}) {
    if (wanted == spelled) return true;
    for (const std::string& prefix : Prefixes(type)) {
      if (wanted == prefix + spelled) return true;
      if (absl::StartsWith(spelled, prefix) &&
          wanted == spelled.substr(prefix.size())) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

const gp::EnumValueDescriptor* FindEnumValue(const gp::EnumDescriptor& type,
                                             absl::string_view text) {
  const gp::EnumValueDescriptor* exact =
      type.FindValueByName(std::string(text));
  if (exact != nullptr) return exact->number() == 0 ? nullptr : exact;
  const std::string wanted = Squeezed(text);
  const gp::EnumValueDescriptor* found = nullptr;
  for (int i = 0; i < type.value_count(); ++i) {
    const gp::EnumValueDescriptor* value = type.value(i);
    if (value->number() == 0 || !Means(type, value->name(), wanted)) continue;
    if (found != nullptr && found->number() != value->number()) return nullptr;
    found = value;
  }
  return found;
}

}  // namespace orrery
