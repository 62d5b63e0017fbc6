#pragma once
// TouchList: the streams whose heads may have become able to start.
//
// Filled while things end, then taken in the order of indices; what is added
// meanwhile belongs to the next round. The size is kept apart from the vector:
// the pair of pointers inside a vector is read in one piece by compilers that
// have just seen half of it written, and the processor stalls on that once per
// event.
#include <absl/types/span.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace orrery {

class TouchList {
 public:
  void Add(uint32_t index) {
    if (size_ == filling_.size()) filling_.resize(2 * size_ + 64);
    filling_[size_++] = index;
  }
  bool empty() const { return size_ == 0; }

  // All that was added, sorted; an index added twice is there once or twice.
  // Valid until the next Take.
  absl::Span<const uint32_t> Take() {
    size_t count = size_;
    size_ = 0;
    filling_.swap(taken_);
    if (count > 1 && !std::is_sorted(taken_.begin(), End(count))) {
      count = Sort(count);
    }
    return absl::MakeConstSpan(taken_.data(), count);
  }

 private:
  std::vector<uint32_t>::iterator End(size_t count) {
    return taken_.begin() + static_cast<std::ptrdiff_t>(count);
  }

  // By a bit for each index where they lie close: ranks in step touch most of
  // their streams at once. Returns how many are left, each once.
  size_t Sort(size_t count) {
    constexpr uint32_t kBits = 64;
    constexpr size_t kWordsPerIndex = 4;
    const auto [least, most] = std::minmax_element(taken_.begin(), End(count));
    const uint32_t base = *least / kBits;
    const size_t words = *most / kBits - base + 1;
    if (words > kWordsPerIndex * count) {
      std::sort(taken_.begin(), End(count));
      return count;
    }
    if (words_.size() < words) words_.resize(words, 0);
    for (size_t i = 0; i < count; ++i) {
      words_[taken_[i] / kBits - base] |= uint64_t{1} << taken_[i] % kBits;
    }
    size_t kept = 0;
    for (uint32_t word = 0; word < words; ++word) {
      for (uint64_t rest = std::exchange(words_[word], 0); rest != 0;
           rest &= rest - 1) {
        taken_[kept++] = (base + word) * kBits +
                         static_cast<uint32_t>(std::countr_zero(rest));
      }
    }
    return kept;
  }

  size_t size_ = 0;
  std::vector<uint32_t> filling_;
  std::vector<uint32_t> taken_;
  std::vector<uint64_t> words_;  // all 0
};

}  // namespace orrery
