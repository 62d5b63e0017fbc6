#include "cli/flags/network_flags.h"

#include <absl/strings/str_join.h>

#include <vector>

#include "base/format.h"
#include "catalog/nearest.h"
#include "topology/traffic/nccl_tests.h"

namespace orrery {

absl::StatusOr<CommunicationKind> ParseOperation(
    absl::string_view name, absl::Span<const absl::string_view> others) {
  const std::string text(name.substr(0, 80));
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
    if (known.back() == name) return algorithm;
  }
  const std::string text(name.substr(0, 80));
  return absl::InvalidArgumentError(
      fmt::format("there is no algorithm '{}'{} (algorithms: {})", text,
                  DidYouMean(text, known), absl::StrJoin(known, ", ")));
}

absl::StatusOr<Fidelity> ParseFidelity(absl::string_view name) {
  if (name == "CLOSED_FORM") return Fidelity::kClosedForm;
  if (name == "FLUID") return Fidelity::kFluid;
  if (name == "STEPPED") return Fidelity::kStepped;
  return absl::InvalidArgumentError(
      fmt::format("there is no fidelity '{}' (CLOSED_FORM, FLUID, STEPPED)",
                  std::string(name.substr(0, 80))));
}

absl::StatusOr<Arbitration> ParseArbitration(absl::string_view name) {
  if (name == "FLOW_FAIR") return Arbitration::kFlowFair;
  if (name == "PORT_FAIR") return Arbitration::kPortFair;
  return absl::InvalidArgumentError(
      fmt::format("there is no arbitration '{}' (FLOW_FAIR, PORT_FAIR)",
                  std::string(name.substr(0, 80))));
}

}  // namespace orrery
