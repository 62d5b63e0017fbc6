#include "cli/network_flags.h"

#include <absl/strings/str_join.h>

#include <vector>

#include "base/format.h"
#include "catalog/nearest.h"

namespace orrery {

absl::StatusOr<CommunicationKind> ParseOperation(
    absl::string_view name, absl::Span<const absl::string_view> others) {
  struct Name {
    absl::string_view text;
    CommunicationKind kind;
  };
  constexpr Name kNames[] = {
      {"all_reduce", CommunicationKind::kAllReduce},
      {"reduce_scatter", CommunicationKind::kReduceScatter},
      {"all_gather", CommunicationKind::kAllGather},
      {"all_to_all", CommunicationKind::kAllToAll},
      {"alltoall", CommunicationKind::kAllToAll},
      {"broadcast", CommunicationKind::kBroadcast},
      {"reduce", CommunicationKind::kReduce},
      {"point_to_point", CommunicationKind::kPointToPoint},
      {"sendrecv", CommunicationKind::kPointToPoint},
  };
  std::vector<std::string> known;
  for (const Name& n : kNames) {
    if (n.text == name) return n.kind;
    known.emplace_back(n.text);
  }
  for (const absl::string_view other : others) known.emplace_back(other);
  const std::string text(name.substr(0, 80));
  return absl::InvalidArgumentError(
      fmt::format("there is no operation '{}'{} (operations: {})", text,
                  DidYouMean(text, known), absl::StrJoin(known, ", ")));
}

absl::StatusOr<CollectiveAlgorithm> ParseAlgorithm(absl::string_view name) {
  std::vector<std::string> known;
  for (int i = 0; i <= static_cast<int>(CollectiveAlgorithm::kPxn); ++i) {
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

double BusFactor(CommunicationKind kind, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (kind) {
    case CommunicationKind::kAllReduce:
      return 2 * others;
    case CommunicationKind::kReduceScatter:
    case CommunicationKind::kAllGather:
    case CommunicationKind::kAllToAll:
      return others;
    case CommunicationKind::kBroadcast:
    case CommunicationKind::kReduce:
    case CommunicationKind::kBarrier:
    case CommunicationKind::kPointToPoint:
      return 1;
  }
  return 1;
}

}  // namespace orrery
