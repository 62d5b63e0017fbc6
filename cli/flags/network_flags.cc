#include "cli/flags/network_flags.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/excerpt.h"
#include "base/format.h"
#include "catalog/enum_value.h"
#include "catalog/nearest.h"
#include "proto/scenario.pb.h"
#include "topology/traffic/nccl_tests.h"

namespace orrery {
namespace {

// As names are kept: in lower case, words joined by underscores.
std::string Plain(absl::string_view name) {
  std::string plain = absl::AsciiStrToLower(std::string(name.substr(0, 80)));
  std::replace(plain.begin(), plain.end(), '-', '_');
  return plain;
}

}  // namespace

absl::StatusOr<CommunicationKind> ParseOperation(
    absl::string_view name, absl::Span<const absl::string_view> others) {
  const std::string text = Plain(name);
  std::vector<std::string> known;
  for (const OperationName& n : OperationNames()) {
    if (n.text == text) return n.kind;
    known.emplace_back(n.text);
  }
  for (const absl::string_view other : others) known.emplace_back(other);
  return absl::InvalidArgumentError(
      fmt::format("there is no operation '{}'{} (operations: {})", text,
                  DidYouMean(text, known), absl::StrJoin(known, ", ")));
}

absl::StatusOr<CollectiveAlgorithm> ParseAlgorithm(absl::string_view name) {
  std::vector<std::string> known;
  for (int i = 0; i <= static_cast<int>(kLastCollectiveAlgorithm); ++i) {
    const auto algorithm = static_cast<CollectiveAlgorithm>(i);
    known.emplace_back(NameOf(algorithm));
    if (known.back() == Plain(name)) return algorithm;
  }
  const std::string text = Plain(name);
  return absl::InvalidArgumentError(
      fmt::format("there is no algorithm '{}'{} (algorithms: {})", text,
                  DidYouMean(text, known), absl::StrJoin(known, ", ")));
}

absl::StatusOr<Fidelity> ParseFidelity(absl::string_view name) {
  const auto* value = FindEnumValue(*pb::Network::Fidelity_descriptor(), name);
  switch (value == nullptr ? 0 : value->number()) {
    case pb::Network::CLOSED_FORM:
      return Fidelity::kClosedForm;
    case pb::Network::FLUID:
      return Fidelity::kFluid;
    case pb::Network::STEPPED:
      return Fidelity::kStepped;
    default:
      break;
  }
  return absl::InvalidArgumentError(
      fmt::format("there is no fidelity '{}' (CLOSED_FORM, FLUID, STEPPED)",
                  Excerpt(name)));
}

}  // namespace orrery
