#pragma once
// MixBits: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014), a
// bijection of 64-bit words in which every input bit changes half of the
// output. For hashes that must be the same on every machine.
#include <cstdint>

namespace orrery {

// SplitMix64 is MixBits of a counter that grows by this.
inline constexpr uint64_t kSplitMixIncrement = 0x9e3779b97f4a7c15;

constexpr uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace orrery
