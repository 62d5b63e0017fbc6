#pragma once
// HashSink: a hash of the spans of a run and of their order: equal runs have
// equal hashes.
#include <cstdint>

#include "base/mix_bits.h"
#include "traces/format/span.h"

namespace orrery {

class HashSink {
 public:
  void Add(const TaskSpan& span) {
    const auto mix = [this](uint64_t word) {
      hash_ = MixBits(hash_ + word + kSplitMixIncrement);
    };
    mix(static_cast<uint64_t>(span.rank));
    mix(static_cast<uint64_t>(span.stream) << 32 |
        static_cast<uint64_t>(span.task));
    mix(static_cast<uint64_t>(span.name) << 8 |
        static_cast<uint64_t>(span.kind));
    mix(static_cast<uint64_t>(span.release.by) << 32 |
        static_cast<uint32_t>(span.release.index));
    mix(static_cast<uint64_t>(span.headed.time_since_epoch().count()));
    mix(static_cast<uint64_t>(span.ready.time_since_epoch().count()));
    mix(static_cast<uint64_t>(span.started.time_since_epoch().count()));
    mix(static_cast<uint64_t>(span.ended.time_since_epoch().count()));
    ++count_;
  }
  uint64_t hash() const { return hash_; }
  int64_t count() const { return count_; }

 private:
  uint64_t hash_ = 0;
  int64_t count_ = 0;
};

}  // namespace orrery
