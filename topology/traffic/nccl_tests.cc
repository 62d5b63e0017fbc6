#include "topology/traffic/nccl_tests.h"

namespace orrery {
namespace {

constexpr OperationName kNames[] = {
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

}  // namespace

absl::Span<const OperationName> OperationNames() { return kNames; }

std::optional<CommunicationKind> OperationNamed(std::string_view name) {
  for (const OperationName& known : kNames) {
    if (known.text == name) return known.kind;
  }
  return std::nullopt;
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
