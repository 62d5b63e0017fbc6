#pragma once
// CommunicationKind: what a group of ranks does together.
//
// The vocabulary shared by programs, collective algorithms and closed forms.
// For the bytes of a call, all follow one convention: all-reduce and
// reduce-scatter count the full vector per rank, all-gather the gathered
// result, all-to-all what one rank sends in total (its own block included), the
// others the message itself.
#include <cstdint>
#include <string_view>

namespace orrery {

enum class CommunicationKind : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kBroadcast,
  kReduce,
  kBarrier,
  kPointToPoint,
};
inline constexpr int kCommunicationKinds = 8;

constexpr std::string_view NameOf(CommunicationKind kind) {
  switch (kind) {
    case CommunicationKind::kAllReduce:
      return "all_reduce";
    case CommunicationKind::kReduceScatter:
      return "reduce_scatter";
    case CommunicationKind::kAllGather:
      return "all_gather";
    case CommunicationKind::kAllToAll:
      return "all_to_all";
    case CommunicationKind::kBroadcast:
      return "broadcast";
    case CommunicationKind::kReduce:
      return "reduce";
    case CommunicationKind::kBarrier:
      return "barrier";
    case CommunicationKind::kPointToPoint:
      return "point_to_point";
  }
  return "unknown";
}

}  // namespace orrery
