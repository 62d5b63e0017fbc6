#include "topology/routing/flow_hashes.h"

#include <cstring>

#include "base/check.h"
#include "base/mix_bits.h"
#include "topology/routing/route_hash.h"

namespace orrery {
namespace {

#if defined(__x86_64__) && defined(__GNUC__)
#define ORRERY_WIDE_HASHES 1
#endif

uint64_t IntermediateHash(uint64_t source, VertexId to) {
  return MixRoute(ChoiceHash(FlowHash(source, to, /*flow=*/0), /*place=*/0));
}

void Pick(uint64_t source, VertexId to, const ChoicePair& choices,
          uint32_t& first, uint32_t* second) {
  const uint64_t flow = FlowHash(source, to, /*flow=*/0);
  const auto pick =
      static_cast<uint32_t>(ChoiceHash(flow, choices.place) & choices.mask);
  first = choices.begin + pick;
  if (second == nullptr) return;
  const uint32_t place = choices.next_place + pick * choices.next_stride;
  *second = choices.next_begin + pick * choices.begin_stride +
            static_cast<uint32_t>(ChoiceHash(flow, place) & choices.next_mask);
}

#ifdef ORRERY_WIDE_HASHES

// So many words side by side; the compiler makes of them what the target of the
// function has. Several registers of them, so that one does not wait for the
// other.
template <size_t kLanes>
struct WideTypes;
template <>
struct WideTypes<8> {
  using Words [[gnu::vector_size(64)]] = uint64_t;
  using Halves [[gnu::vector_size(32)]] = uint32_t;
};
template <>
struct WideTypes<32> {
  using Words [[gnu::vector_size(256)]] = uint64_t;
  using Halves [[gnu::vector_size(128)]] = uint32_t;
};

template <size_t kLanes>
struct Wide {
  using Words = typename WideTypes<kLanes>::Words;
  using Halves = typename WideTypes<kLanes>::Halves;

  // In place: what is returned in registers depends on the target.
  [[gnu::always_inline]] static void Mix(Words& x) {
    x += kSplitMixIncrement;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
  }

  [[gnu::always_inline]] static void Flow(uint64_t source, const VertexId* to,
                                          Words& flow) {
    Halves ids;
    std::memcpy(&ids, to, sizeof(ids));
    flow = __builtin_convertvector(ids, Words) ^ source;
    Mix(flow);
    Mix(flow);
  }

  // From `i` on as many as fit; returns where it ends.
  [[gnu::always_inline]] static size_t Intermediates(uint64_t source,
                                                     const VertexId* to,
                                                     size_t i, size_t count,
                                                     uint64_t* hashes) {
    for (; i + kLanes <= count; i += kLanes) {
      Words hash;
      Flow(source, to + i, hash);
      Mix(hash);
      Mix(hash);
      std::memcpy(hashes + i, &hash, sizeof(hash));
    }
    return i;
  }

  [[gnu::always_inline]] static size_t Choices(
      uint64_t source, const VertexId* to, size_t i, size_t count,
      const ChoicePair& choices, uint32_t* first, uint32_t* second) {
    for (; i + kLanes <= count; i += kLanes) {
      Words flow;
      Flow(source, to + i, flow);
      Words pick = flow ^ choices.place;
      Mix(pick);
      pick &= choices.mask;
      const Halves number = __builtin_convertvector(pick, Halves);
      const Halves one = number + choices.begin;
      std::memcpy(first + i, &one, sizeof(one));
      if (!choices.twice) continue;
      const Halves place = number * choices.next_stride + choices.next_place;
      Words next = __builtin_convertvector(place, Words) ^ flow;
      Mix(next);
      next &= choices.next_mask;
      const Halves two = __builtin_convertvector(next, Halves) +
                         (number * choices.begin_stride + choices.next_begin);
      std::memcpy(second + i, &two, sizeof(two));
    }
    return i;
  }
};

constexpr size_t kMany = 32;
constexpr size_t kFew = 8;

[[gnu::target("avx512f,avx512dq")]] size_t Intermediates512(uint64_t source,
                                                            const VertexId* to,
                                                            size_t count,
                                                            uint64_t* hashes) {
  const size_t done = Wide<kMany>::Intermediates(source, to, 0, count, hashes);
  return Wide<kFew>::Intermediates(source, to, done, count, hashes);
}
[[gnu::target("avx2")]] size_t Intermediates256(uint64_t source,
                                                const VertexId* to,
                                                size_t count,
                                                uint64_t* hashes) {
  return Wide<kFew>::Intermediates(source, to, 0, count, hashes);
}
[[gnu::target("avx512f,avx512dq")]] size_t Choices512(
    uint64_t source, const VertexId* to, size_t count,
    const ChoicePair& choices, uint32_t* first, uint32_t* second) {
  const size_t done =
      Wide<kMany>::Choices(source, to, 0, count, choices, first, second);
  return Wide<kFew>::Choices(source, to, done, count, choices, first, second);
}
[[gnu::target("avx2")]] size_t Choices256(uint64_t source, const VertexId* to,
                                          size_t count,
                                          const ChoicePair& choices,
                                          uint32_t* first, uint32_t* second) {
  return Wide<kFew>::Choices(source, to, 0, count, choices, first, second);
}

enum class Width : uint8_t { kOne, k256, k512 };

Width WidestHere() {
  static const Width width = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
      return Width::k512;
    return __builtin_cpu_supports("avx2") ? Width::k256 : Width::kOne;
  }();
  return width;
}

#endif  // ORRERY_WIDE_HASHES

}  // namespace

void HashIntermediates(VertexId from, absl::Span<const VertexId> to,
                       absl::Span<uint64_t> hashes) {
  CHECK_EQ(to.size(), hashes.size());
  const uint64_t source = SourceHash(from);
  size_t done = 0;
#ifdef ORRERY_WIDE_HASHES
  switch (WidestHere()) {
    case Width::k512:
      done = Intermediates512(source, to.data(), to.size(), hashes.data());
      break;
    case Width::k256:
      done = Intermediates256(source, to.data(), to.size(), hashes.data());
      break;
    case Width::kOne:
      break;
  }
#endif
  for (; done < to.size(); ++done) {
    hashes[done] = IntermediateHash(source, to[done]);
  }
}

void HashChoices(VertexId from, absl::Span<const VertexId> to,
                 const ChoicePair& choices, absl::Span<uint32_t> first,
                 absl::Span<uint32_t> second) {
  CHECK_EQ(to.size(), first.size());
  CHECK_EQ(second.size(), choices.twice ? to.size() : 0);
  const uint64_t source = SourceHash(from);
  size_t done = 0;
#ifdef ORRERY_WIDE_HASHES
  switch (WidestHere()) {
    case Width::k512:
      done = Choices512(source, to.data(), to.size(), choices, first.data(),
                        second.data());
      break;
    case Width::k256:
      done = Choices256(source, to.data(), to.size(), choices, first.data(),
                        second.data());
      break;
    case Width::kOne:
      break;
  }
#endif
  for (; done < to.size(); ++done) {
    Pick(source, to[done], choices, first[done],
         second.empty() ? nullptr : &second[done]);
  }
}

}  // namespace orrery
