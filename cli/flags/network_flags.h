#pragma once
// Flags that the commands about networks and collectives share: nodes,
// operations, fidelity, algorithms.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <string>
#include <vector>

#include "cli/flags/command.h"
#include "sim/network/collective_plan.h"
#include "topology/traffic/communication_kind.h"

namespace orrery {

// What --set and --nodes say of a system. Both may set the number of nodes, but
// not to different ones.
absl::StatusOr<std::vector<std::string>> ReadSystemSets(
    const Arguments& arguments);

// "all_reduce", "alltoall", "sendrecv" ...: our names and those of nccl-tests.
// The error also lists `others`, which the caller knows beside these.
absl::StatusOr<CommunicationKind> ParseOperation(
    absl::string_view name, absl::Span<const absl::string_view> others = {});
absl::StatusOr<CollectiveAlgorithm> ParseAlgorithm(absl::string_view name);
// "CLOSED_FORM", "FLUID" or "STEPPED".
absl::StatusOr<Fidelity> ParseFidelity(absl::string_view name);

}  // namespace orrery
