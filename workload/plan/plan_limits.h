#pragma once
// Sizes beyond these are slips of the keyboard; within them every count of a
// step fits an int.

namespace orrery {

inline constexpr int kLargestBatch = 1 << 24;
inline constexpr int kLargestSequence = 1 << 24;
// Of a cache that is kept in blocks, in tokens.
inline constexpr int kLargestBlock = 1 << 16;
// Of weights that share a scale.
inline constexpr int kLargestWeightGroup = 1 << 16;

}  // namespace orrery
