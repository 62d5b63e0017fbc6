#pragma once
// Rng: deterministic random numbers, in streams named after what they feed.
//
// Two streams with different names or seeds are independent, and a new stream
// never shifts the numbers of an old one. The generator is xoshiro256**
// (Blackman and Vigna, 2018) seeded through SplitMix64; the distributions are
// our own, because the standard ones differ between libraries.
//
//   Rng rng(scenario_seed, "kernel jitter");
//   const double jitter = rng.Normal();
#include <absl/strings/string_view.h>

#include <array>
#include <cstdint>
#include <vector>

namespace orrery {

class Rng {
 public:
  Rng(uint64_t seed, absl::string_view name);

  uint64_t Next();
  // Uniform in [0, 1), 53 bits.
  double Uniform();
  // Uniform in [0, bound), without bias. Requires: bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [low, high]. Requires: low <= high.
  int64_t Between(int64_t low, int64_t high);
  // Mean 1.
  double Exponential();
  // Mean 0, variance 1.
  double Normal();

  // Fisher-Yates.
  template <class T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) {
      using std::swap;
      swap(items[i - 1], items[Below(i)]);
    }
  }

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace orrery
