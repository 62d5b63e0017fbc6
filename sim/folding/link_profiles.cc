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

void LinkProfiles::FindProfiles() {
  profiles_.clear();
  profile_of_ = {};
  const auto counted = uses_.begin() + static_cast<std::ptrdiff_t>(counted_);
  std::stable_sort(uses_.begin(), counted, [](const Use& a, const Use& b) {
    return a.resource != b.resource ? a.resource < b.resource : a.row < b.row;
  });
  profile_of_.resize(capacities_.size(), -1);
  absl::flat_hash_map<std::string, int32_t> known;
  std::string key;
  for (size_t begin = 0; begin < counted_;) {
    const ResourceId resource = uses_[begin].resource;
    Profile profile = {.loads = {}, .needed = KeptReplicas::kNone};
    key.clear();
    size_t end = begin;
    while (end < counted_ && uses_[end].resource == resource) {
      const int32_t row = uses_[end].row;
      double sum = 0;
      for (; end < counted_ && uses_[end].resource == resource &&
             uses_[end].row == row;
           ++end) {
        sum += uses_[end].weight;
        profile.needed = std::max(profile.needed, uses_[end].nearness);
      }
      profile.loads.push_back({row, sum / capacities_[resource]});
      AppendBytes(key, row);
      AppendBytes(key, Key(profile.loads.back().load));
    }
    const auto [found, is_new] =
        known.try_emplace(key, static_cast<int32_t>(profiles_.size()));
    profile_of_[resource] = found->second;
    if (is_new) {
      profiles_.push_back(std::move(profile));
    } else {
      Profile& same = profiles_[static_cast<size_t>(found->second)];
      same.needed = std::min(same.needed, profile.needed);
    }
    begin = end;
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
  std::vector<int32_t> same_as(profiles_.size());
  for (size_t b = 0; b < profiles_.size(); ++b) {
    same_as[b] = static_cast<int32_t>(b);
    for (size_t a = 0; a < profiles_.size() && !profiles_[b].covered; ++a) {
      if (a == b || profiles_[a].covered) continue;
      if (!Covers(profiles_[a], profiles_[b])) continue;
      if (!Covers(profiles_[b], profiles_[a])) {
        profiles_[b].covered = true;
      } else if (a < b) {  // equal but for rounding
        profiles_[b].covered = true;
        profiles_[a].needed =
            std::min(profiles_[a].needed, profiles_[b].needed);
        same_as[b] = static_cast<int32_t>(a);
      }
    }
  }
  for (int32_t& profile : profile_of_) {
    if (profile >= 0) profile = same_as[static_cast<size_t>(profile)];
  }
}

std::optional<int32_t> LinkProfiles::FindUnevenRow(
    absl::Span<const char> left_out) {
  const auto counted =
      std::stable_partition(uses_.begin(), uses_.end(), [&](const Use& use) {
        return left_out.empty() || !left_out[static_cast<size_t>(use.row)];
      });
  counted_ = static_cast<size_t>(counted - uses_.begin());
  FindProfiles();
  FindCovered();
  // Of every profile and row, the replicas that meet it.
  std::sort(uses_.begin(), counted, [&](const Use& a, const Use& b) {
    const int32_t x = profile_of_[a.resource];
    const int32_t y = profile_of_[b.resource];
    if (x != y) return x < y;
    return a.row != b.row ? a.row < b.row : a.replica < b.replica;
  });
  for (size_t i = 0; i < counted_;) {
    const int32_t profile = profile_of_[uses_[i].resource];
    const int32_t row = uses_[i].row;
    int32_t met = 0;
    int32_t last = -1;
    for (; i < counted_ && profile_of_[uses_[i].resource] == profile &&
           uses_[i].row == row;
         ++i) {
      if (uses_[i].replica != last) ++met;
      last = uses_[i].replica;
    }
    if (profiles_[static_cast<size_t>(profile)].covered) continue;
    if (met < replicas_[static_cast<size_t>(row)]) return row;
  }
  needed_ = KeptReplicas::kNone;
  for (const Profile& profile : profiles_) {
    if (!profile.covered) needed_ = std::max(needed_, profile.needed);
  }
  return std::nullopt;
}

std::vector<int32_t> LinkProfiles::FindOthersMet() const {
  std::vector<char> met(replicas_.size(), false);
  for (size_t i = counted_; i < uses_.size(); ++i) {
    if (profile_of_[uses_[i].resource] < 0) continue;
    met[static_cast<size_t>(uses_[i].row)] = true;
  }
  std::vector<int32_t> rows;
  for (size_t row = 0; row < met.size(); ++row) {
    if (met[row]) rows.push_back(static_cast<int32_t>(row));
  }
  return rows;
}

}  // namespace orrery
