#pragma once
// CallShape: who sends how much to whom in a call, beyond what its kind says.
//
// The one vocabulary of programs, of the network and of what it keeps. Calls
// that agree in everything but the shape are different calls.
#include <cstdint>
#include <string_view>

namespace orrery {

enum class CallShape : uint8_t {
  // As the kind says, and all members alike.
  kEven,
  // Point-to-point: every member sends to the next one, the last to the first.
  kAroundTheRing,
  // All-to-all among experts (ExpertTraffic): tokens on their way to their
  // experts, and back from them.
  kTokensToExperts,
  kTokensFromExperts,
};

// Whether ExpertTraffic says who sends how much.
constexpr bool MovesTokens(CallShape shape) {
  return shape == CallShape::kTokensToExperts ||
         shape == CallShape::kTokensFromExperts;
}

constexpr std::string_view NameOf(CallShape shape) {
  switch (shape) {
    case CallShape::kEven:
      return "even";
    case CallShape::kAroundTheRing:
      return "around the ring";
    case CallShape::kTokensToExperts:
      return "tokens to experts";
    case CallShape::kTokensFromExperts:
      return "tokens from experts";
  }
  return "unknown";
}

}  // namespace orrery
