#pragma once
// RoleLoop: the part of a role that is run many times and kept once.
//
// Of every stream a body, which may be empty, is run `turns` times in a row;
// what lies before and after it is run once. Turns are a matter of the list of
// tasks and not of time: streams go through them each at its own pace, and
// bodies of different streams need not begin with the same micro-batch.
//
// What a task of a body waits for moves on with the turns: in turn k it is k
// bodies of the other stream later in that stream than in the first turn, also
// where the first turn waits for something before the loop.
#include <absl/types/span.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "workload/program/task.h"

namespace orrery {

// Where a task of a role is kept: stream by stream, in order, a body once.
enum class PlaceId : int32_t {};

inline constexpr int kMaxStreams = 16;

struct RoleLoop {
  struct Body {
    PlaceId begin{};
    int32_t length = 0;
    PlaceId end() const {
      return static_cast<PlaceId>(static_cast<int32_t>(begin) + length);
    }
    bool Has(PlaceId p) const { return begin <= p && p < end(); }
  };
  int32_t turns = 1;
  std::array<Body, kMaxStreams> bodies{};  // by stream

  // The same in a later turn.
  Dependency InTurn(Dependency of, int32_t turn) const {
    of.task = static_cast<TaskId>(static_cast<int32_t>(of.task) +
                                  turn * bodies[Index(of.stream)].length);
    return of;
  }
};

struct LoopPlace {
  PlaceId place{};
  int32_t turn = 0;
};

// What a task waits for in its turn: a range of Dependency.
class DependencyList {
 public:
  DependencyList(absl::Span<const Dependency> first, const RoleLoop& loop,
                 int32_t turn)
      : first_(first), loop_(&loop), turn_(turn) {}

  class const_iterator {
   public:
    using value_type = Dependency;
    using reference = Dependency;
    using pointer = const Dependency*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    const_iterator() = default;
    const_iterator(const Dependency* at, const RoleLoop* loop, int32_t turn)
        : at_(at), loop_(loop), turn_(turn) {}
    Dependency operator*() const { return loop_->InTurn(*at_, turn_); }
    const_iterator& operator++() {
      ++at_;
      return *this;
    }
    const_iterator operator++(int) {
      const const_iterator before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const const_iterator& a, const const_iterator& b) {
      return a.at_ == b.at_;
    }

   private:
    const Dependency* at_ = nullptr;
    const RoleLoop* loop_ = nullptr;
    int32_t turn_ = 0;
  };
  using value_type = Dependency;
  using iterator = const_iterator;

  const_iterator begin() const { return {first_.data(), loop_, turn_}; }
  const_iterator end() const {
    return {first_.data() + first_.size(), loop_, turn_};
  }
  size_t size() const { return first_.size(); }
  bool empty() const { return first_.empty(); }

 private:
  absl::Span<const Dependency> first_;
  const RoleLoop* loop_;
  int32_t turn_;
};

}  // namespace orrery
