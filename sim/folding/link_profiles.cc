#include "sim/folding/link_profiles.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/folding/replica_loads.h"

namespace orrery {
namespace {

// Sums of the same loads in another order differ by less; loads that differ at
// all differ by more.
constexpr double kRounding = 1e-11;

// More profiles than this are not compared with each other: each counts.
constexpr size_t kMostCompared = 3000;

bool Near(double a, double b) {
  return std::abs(a - b) <= kRounding * std::max(a, b);
}

template <class T>
void AppendBytes(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A number to ten digits, so that near ones nearly always have the same key.
int64_t Key(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::llround(std::ldexp(mantissa, 34)) * 4096 + exponent;
}

}  // namespace

int32_t LinkProfiles::AddRows(size_t count, size_t replicas) {
  const auto first = static_cast<int32_t>(replicas_.size());
  replicas_.resize(replicas_.size() + count, static_cast<int32_t>(replicas));
  return first;
}

void LinkProfiles::SortUses() {
  std::vector<int32_t> next(capacities_.size() + 1, 0);
  for (const Use& use : uses_) {
    if (Counts(use)) ++next[Index(use.resource) + 1];
  }
  for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  begin_ = next;
  sorted_.resize(static_cast<size_t>(begin_.back()));
  for (size_t i = 0; i < uses_.size(); ++i) {
    if (!Counts(uses_[i])) continue;
    const auto place = static_cast<size_t>(next[Index(uses_[i].resource)]++);
    sorted_[place] = static_cast<int32_t>(i);
  }
  const auto by_row = [&](int32_t a, int32_t b) {
    return uses_[static_cast<size_t>(a)].row <
           uses_[static_cast<size_t>(b)].row;
  };
  for (size_t i = 0; i + 1 < begin_.size(); ++i) {
    const auto begin = sorted_.begin() + begin_[i];
    const auto end = sorted_.begin() + begin_[i + 1];
    if (std::is_sorted(begin, end, by_row)) continue;
    std::stable_sort(begin, end, by_row);
  }
}

void LinkProfiles::FindProfiles() {
  profiles_.clear();
  profile_of_ = {};
  profile_of_.resize(capacities_.size(), -1);
  load_of_.resize(uses_.size());
  absl::flat_hash_map<std::string, int32_t> known;
  std::string key;
  std::vector<Load> loads;
  size_t all_loads = 0;
  for (const ResourceId resource : capacities_.ids()) {
    const auto begin = static_cast<size_t>(begin_[Index(resource)]);
    const auto end = static_cast<size_t>(begin_[Index(resource) + 1]);
    if (begin == end) continue;
    key.clear();
    loads.clear();
    KeptReplicas needed = KeptReplicas::kNone;
    for (size_t i = begin; i < end;) {
      const int32_t row = uses_[static_cast<size_t>(sorted_[i])].row;
      double sum = 0;
      for (; i < end; ++i) {
        const auto at = static_cast<size_t>(sorted_[i]);
        const Use& use = uses_[at];
        if (use.row != row) break;
        sum += use.weight;
        needed = std::max(needed, use.nearness);
        load_of_[at] = static_cast<int32_t>(loads.size());
      }
      loads.push_back({row, sum / capacities_[resource]});
      AppendBytes(key, row);
      AppendBytes(key, Key(loads.back().load));
    }
    const auto [found, is_new] =
        known.try_emplace(key, static_cast<int32_t>(profiles_.size()));
    profile_of_[resource] = found->second;
    if (is_new) {
      profiles_.push_back({.loads = loads,
                           .needed = needed,
                           .first_load = all_loads,
                           .same_as = profiles_.size()});
      all_loads += loads.size();
    }
    Profile& profile = profiles_[static_cast<size_t>(found->second)];
    profile.needed = std::min(profile.needed, needed);
    for (size_t i = begin; i < end; ++i) {
      load_of_[static_cast<size_t>(sorted_[i])] +=
          static_cast<int32_t>(profile.first_load);
    }
  }
}

// Whether `a` is nowhere less than `b`.
bool LinkProfiles::Covers(const Profile& a, const Profile& b) {
  if (a.loads.size() < b.loads.size()) return false;
  size_t i = 0;
  for (const Load& load : b.loads) {
    while (i < a.loads.size() && a.loads[i].row < load.row) ++i;
    if (i == a.loads.size() || a.loads[i].row != load.row) return false;
    if (a.loads[i].load < load.load && !Near(a.loads[i].load, load.load)) {
      return false;
    }
  }
  return true;
}

void LinkProfiles::FindCovered() {
  if (profiles_.size() > kMostCompared) return;
  for (size_t b = 0; b < profiles_.size(); ++b) {
    for (size_t a = 0; a < profiles_.size() && !profiles_[b].covered; ++a) {
      if (a == b || profiles_[a].covered) continue;
      if (!Covers(profiles_[a], profiles_[b])) continue;
      if (!Covers(profiles_[b], profiles_[a])) {
        profiles_[b].covered = true;
      } else if (a < b) {  // equal but for rounding
        profiles_[b].covered = true;
        profiles_[a].needed =
            std::min(profiles_[a].needed, profiles_[b].needed);
        profiles_[b].same_as = a;
      }
    }
  }
}

std::optional<int32_t> LinkProfiles::FindUnevenRow(
    absl::Span<const char> left_out) {
  left_out_.assign(left_out.begin(), left_out.end());
  SortUses();
  FindProfiles();
  FindCovered();
  // Of every load of every profile, the replicas that meet it.
  struct Met {
    int32_t count = 0;
    int32_t last = -1;
  };
  std::vector<Met> met;
  std::vector<int32_t> same_load;  // of a profile equal but for rounding
  for (const Profile& profile : profiles_) {
    const size_t first = profiles_[profile.same_as].first_load;
    for (size_t i = 0; i < profile.loads.size(); ++i) {
      same_load.push_back(static_cast<int32_t>(first + i));
    }
  }
  met.resize(same_load.size());
  for (size_t i = 0; i < uses_.size(); ++i) {
    if (!Counts(uses_[i])) continue;
    const int32_t load = same_load[static_cast<size_t>(load_of_[i])];
    Met& here = met[static_cast<size_t>(load)];
    if (here.last == uses_[i].replica) continue;
    ++here.count;
    here.last = uses_[i].replica;
  }
  for (const Profile& profile : profiles_) {
    if (profile.covered) continue;
    for (size_t i = 0; i < profile.loads.size(); ++i) {
      const int32_t row = profile.loads[i].row;
      if (met[profile.first_load + i].count <
          replicas_[static_cast<size_t>(row)]) {
        return row;
      }
    }
  }
  needed_ = KeptReplicas::kNone;
  for (const Profile& profile : profiles_) {
    if (!profile.covered) needed_ = std::max(needed_, profile.needed);
  }
  return std::nullopt;
}

std::vector<int32_t> LinkProfiles::FindOthersMet() const {
  std::vector<char> met(replicas_.size(), false);
  for (const Use& use : uses_) {
    if (Counts(use) || profile_of_[use.resource] < 0) continue;
    met[static_cast<size_t>(use.row)] = true;
  }
  std::vector<int32_t> rows;
  for (size_t row = 0; row < met.size(); ++row) {
    if (met[row]) rows.push_back(static_cast<int32_t>(row));
  }
  return rows;
}

}  // namespace orrery
