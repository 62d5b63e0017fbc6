#pragma once
// Sums of lists whose entries have a key: uses of resources, loads, ports.
//
// An entry has key(), and += of another entry with the same key. A list is
// canonical if it is in the order of keys with one entry for each.
#include <algorithm>
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

}  // namespace orrery
