#pragma once
// Dimension: the ways in which the work of a model is split over ranks. Ranks
// that differ in one of them only are a group that communicates for its sake.
#include <cstdint>
#include <string_view>

namespace orrery {

enum class Dimension : uint8_t { kTensor, kContext, kExpert, kData, kPipeline };
inline constexpr int kDimensions = 5;

constexpr std::string_view NameOf(Dimension dimension) {
  constexpr std::string_view kNames[] = {"tensor", "context", "expert", "data",
                                         "pipeline"};
  return kNames[static_cast<int>(dimension)];
}

}  // namespace orrery
