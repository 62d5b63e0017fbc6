#include "base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/mix_bits.h"

namespace orrery {
namespace {

uint64_t SplitMix64(uint64_t& state) {
  return MixBits(state += kSplitMixIncrement);
}

// FNV-1a, 64 bit.
uint64_t HashName(absl::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

Rng::Rng(uint64_t seed, absl::string_view name) {
  uint64_t mix = HashName(name);
  mix = SplitMix64(mix) ^ seed;
  for (uint64_t& word : state_) word = SplitMix64(mix);
}

uint64_t Rng::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Rng::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

uint64_t Rng::Below(uint64_t bound) {
  CHECK(bound > 0);
  // Numbers below 2^64 mod bound would be drawn once too often.
  const uint64_t first_fair = (0 - bound) % bound;
  for (;;) {
    const uint64_t drawn = Next();
    if (drawn >= first_fair) return drawn % bound;
  }
}

int64_t Rng::Between(int64_t low, int64_t high) {
  CHECK(low <= high);
  const uint64_t span =
      static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t offset = span == 0 ? Next() : Below(span);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

double Rng::Exponential() { return -std::log1p(-Uniform()); }

double Rng::Normal() {
  // Box and Muller, one of the pair, so that a draw depends on no other.
  const double radius = std::sqrt(2 * Exponential());
  return radius * std::cos(2 * std::numbers::pi * Uniform());
}

}  // namespace orrery
