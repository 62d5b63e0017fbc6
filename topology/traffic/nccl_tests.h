#pragma once
// Collectives as nccl-tests names and counts them, which is how most published
// tables do.
#include <absl/types/span.h>

#include <optional>
#include <string_view>

#include "topology/traffic/communication_kind.h"

namespace orrery {

struct OperationName {
  std::string_view text;
  CommunicationKind kind;
};

// "all_reduce", "alltoall", "sendrecv" ...: our names and those of nccl-tests.
absl::Span<const OperationName> OperationNames();
std::optional<CommunicationKind> OperationNamed(std::string_view name);

// From algorithm to bus bandwidth: bytes of a call, times this, over its time.
double BusFactor(CommunicationKind kind, int ranks);

}  // namespace orrery
