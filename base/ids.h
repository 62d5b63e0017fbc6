#pragma once
// Ids that do not mix, and vectors indexed by them.
//
// An id is an enum class over int32_t, counted from 0:
//
//   enum class ChipId : int32_t {};
//   IdVector<ChipId, Chip> chips;
//   const ChipId id = chips.Add(Chip{...});
//   for (ChipId id : chips.ids()) Use(chips[id]);
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"

namespace orrery {

template <class Id>
concept IsId = std::is_enum_v<Id>;

// The position an id stands for.
template <IsId Id>
constexpr size_t Index(Id id) {
  return static_cast<size_t>(id);
}

// The ids [begin, end) as a range.
template <IsId Id>
class IdRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(size_t at) : at_(at) {}
    constexpr Id operator*() const { return static_cast<Id>(at_); }
    constexpr Iterator& operator++() {
      ++at_;
      return *this;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    size_t at_;
  };
  constexpr IdRange(size_t begin, size_t end) : begin_(begin), end_(end) {}
  constexpr Iterator begin() const { return Iterator(begin_); }
  constexpr Iterator end() const { return Iterator(end_); }
  constexpr size_t size() const { return end_ - begin_; }

 private:
  size_t begin_;
  size_t end_;
};

// A std::vector that only its own id can index. Indexing is checked in debug
// builds.
template <IsId Id, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(size_t size, const T& value = T()) : items_(size, value) {}
  explicit IdVector(std::vector<T> items) : items_(std::move(items)) {}

  // Appends an item and returns its id. The number of items must fit the id.
  Id Add(T item) {
    using Rep = std::underlying_type_t<Id>;
    CHECK(items_.size() < static_cast<size_t>(std::numeric_limits<Rep>::max()));
    items_.push_back(std::move(item));
    return static_cast<Id>(items_.size() - 1);
  }

  decltype(auto) operator[](Id id) {
    DCHECK(Index(id) < items_.size());
    return items_[Index(id)];
  }
  decltype(auto) operator[](Id id) const {
    DCHECK(Index(id) < items_.size());
    return items_[Index(id)];
  }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void reserve(size_t size) { items_.reserve(size); }
  void resize(size_t size, const T& value = T()) { items_.resize(size, value); }
  IdRange<Id> ids() const { return IdRange<Id>(0, items_.size()); }

  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  const std::vector<T>& items() const { return items_; }
  bool operator==(const IdVector&) const = default;

 private:
  std::vector<T> items_;
};

}  // namespace orrery
