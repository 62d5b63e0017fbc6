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
#include <cstdint>
#include <vector>

namespace orrery {

class TouchList {
 public:
  void Add(uint32_t index) {
    if (size_ == filling_.size()) filling_.resize(2 * size_ + 64);
    filling_[size_++] = index;
  }
  bool empty() const { return size_ == 0; }

  // All that was added, sorted; an index added twice is there twice. Valid
  // until the next Take.
  absl::Span<const uint32_t> Take() {
    const size_t count = size_;
    size_ = 0;
    filling_.swap(taken_);
    if (count > 1 &&
        !std::is_sorted(taken_.begin(), taken_.begin() + Offset(count))) {
      std::sort(taken_.begin(), taken_.begin() + Offset(count));
    }
    return absl::MakeConstSpan(taken_.data(), count);
  }

 private:
  static std::ptrdiff_t Offset(size_t n) {
    return static_cast<std::ptrdiff_t>(n);
  }

  size_t size_ = 0;
  std::vector<uint32_t> filling_;
  std::vector<uint32_t> taken_;
};

}  // namespace orrery
