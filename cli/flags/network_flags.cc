#include "cli/flags/network_flags.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/enum_value.h"
#include "catalog/nearest.h"
#include "catalog/override.h"
#include "cli/flags/number_flags.h"
#include "proto/scenario.pb.h"
#include "proto/system.pb.h"
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

absl::StatusOr<std::vector<std::string>> ReadSystemSets(
    const Arguments& arguments) {
  const absl::Span<const std::string> given = arguments.All("set");
  std::vector<std::string> sets(given.begin(), given.end());
  if (!arguments.Has("nodes")) return sets;
  ASSIGN_OR_RETURN(
      const int64_t nodes,
      FieldFlag(arguments, "nodes", *pb::System::descriptor(), "nodes", 1));
  const std::string value = fmt::to_string(nodes);
  for (const std::string& set : sets) {
    const absl::StatusOr<Override> each = ParseOverride(set);
    if (!each.ok() || each->path != "system.nodes" || each->value == value) {
      continue;
    }
    return absl::InvalidArgumentError(
        fmt::format("--nodes {} and --set system.nodes={} contradict each "
                    "other; leave one of the two out",
                    value, Excerpt(each->value)));
  }
  sets.push_back("system.nodes=" + value);
  return sets;
}

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
