#pragma once
// Sums of lists whose entries have a key: uses of resources, loads.
//
// An entry has key(), and += of another entry with the same key. A list is
// canonical if it is in the order of keys with one entry for each.
#include <absl/types/span.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace orrery {

template <class T>
concept KeyedEntry = requires(T& a, const T& b) {
  {b.key() < b.key()};
  a += b;
};

// The list made canonical. Entries with the same key are added in the order of
// their weights, so that the result depends on the entries alone.
template <KeyedEntry T>
std::vector<T> Canonical(std::vector<T> list) {
  std::sort(list.begin(), list.end(), [](const T& a, const T& b) {
    return a.key() != b.key() ? a.key() < b.key() : a.weight < b.weight;
  });
  size_t kept = 0;
  for (const T& entry : list) {
    if (kept > 0 && list[kept - 1].key() == entry.key()) {
      list[kept - 1] += entry;
    } else {
      list[kept++] = entry;
    }
  }
  list.resize(kept);
  return list;
}

// Both canonical lists as one. Cost: O(a + b).
template <KeyedEntry T>
std::vector<T> Sum(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  std::vector<T> sum;
  sum.reserve(a.size() + b.size());
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    if (y == b.end() || (x != a.end() && x->key() < y->key())) {
      sum.push_back(*x++);
    } else if (x == a.end() || y->key() < x->key()) {
      sum.push_back(*y++);
    } else {
      sum.push_back(*x++);
      sum.back() += *y++;
    }
  }
  return sum;
}

// A canonical list and others as one. Entries with the same key are added in
// the order of the lists, as if each were summed with all before it. Cost:
// O(n log n) for n entries in all.
template <KeyedEntry T>
std::vector<T> SumAll(std::vector<T> first,
                      absl::Span<const std::vector<T>* const> others) {
  size_t entries = first.size();
  for (const std::vector<T>* other : others) entries += other->size();
  if (entries == first.size()) return first;
  first.reserve(entries);
  for (const std::vector<T>* other : others) {
    first.insert(first.end(), other->begin(), other->end());
  }
  std::stable_sort(first.begin(), first.end(),
                   [](const T& a, const T& b) { return a.key() < b.key(); });
  size_t kept = 0;
  for (const T& entry : first) {
    if (kept > 0 && !(first[kept - 1].key() < entry.key())) {
      first[kept - 1] += entry;
    } else {
      first[kept++] = entry;
    }
  }
  first.erase(first.begin() + static_cast<std::ptrdiff_t>(kept), first.end());
  return first;
}

}  // namespace orrery
