#pragma once
// MemoryTracker: what a rank holds, by kind, and the most it ever held.
//
// The peak is the largest total at any moment; of equal ones the earliest.
// Within an instant, tasks that end give back before tasks that start take.
#include "base/units.h"
#include "workload/program/task.h"

namespace orrery {

struct MemoryPeak {
  Bytes total;
  Time at{};
  MemoryByKind by_kind{};
};

class MemoryTracker {
 public:
  MemoryTracker() = default;
  explicit MemoryTracker(const MemoryByKind& initial) : held_(initial) {
    for (const Bytes bytes : initial) total_ += bytes;
    peak_ = {total_, Time{}, held_};
  }

  void Change(MemoryKind kind, Bytes change, Time now) {
    Bytes& held = held_[static_cast<size_t>(kind)];
    held += change;
    total_ += change;
    if (held < Bytes(0)) went_negative_ = true;
    if (total_ > peak_.total) peak_ = {total_, now, held_};
  }

  const MemoryPeak& peak() const { return peak_; }
  const MemoryByKind& held() const { return held_; }
  // More was released than was held: the program's order is wrong.
  bool went_negative() const { return went_negative_; }

 private:
  MemoryByKind held_{};
  Bytes total_;
  MemoryPeak peak_;
  bool went_negative_ = false;
};

}  // namespace orrery
