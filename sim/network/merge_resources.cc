#include "sim/network/merge_resources.h"

#include <absl/container/flat_hash_map.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/mix_bits.h"

namespace orrery {
namespace {

constexpr ResourceId kDropped = static_cast<ResourceId>(-1);

// A number to about nine digits.
uint64_t Rounded(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return static_cast<uint64_t>(std::llround(std::ldexp(mantissa, 30))) +
         (static_cast<uint64_t>(exponent + 2048) << 40);
}

// Two independent hashes of all loads of a resource: 128 bits make a mistake
// less likely than one of the hardware.
struct Signature {
  uint64_t a = 0;
  uint64_t b = 0;
  friend bool operator==(const Signature&, const Signature&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Signature& s) {
    return H::combine(std::move(h), s.a, s.b);
  }
};

}  // namespace

IdVector<ResourceId, double> MergeResources(
    const IdVector<ResourceId, double>& capacities, absl::Span<PlanSteps> plans,
    IdVector<ResourceId, std::vector<ResourceId>>* merged) {
  IdVector<ResourceId, Signature> signatures(capacities.size());
  uint64_t step_number = 0;
  for (const PlanSteps& plan : plans) {
    for (const TransferStep& step : plan.steps) {
      ++step_number;
      // Of a spray most links are loaded like the one before them.
      double weight = -1;
      double capacity = -1;
      Signature more;
      for (const ResourceUse& use : step.uses) {
        if (use.weight != weight || capacities[use.resource] != capacity) {
          weight = use.weight;
          capacity = capacities[use.resource];
          const uint64_t load = Rounded(weight / capacity);
          more = {MixBits(step_number) ^ load,
                  MixBits(step_number * 3 + load * 5)};
        }
        Signature& s = signatures[use.resource];
        s.a = MixBits(s.a ^ more.a);
        s.b = MixBits(s.b + more.b);
      }
    }
  }
  IdVector<ResourceId, double> left;
  IdVector<ResourceId, ResourceId> renamed(capacities.size(), kDropped);
  absl::flat_hash_map<Signature, ResourceId> first;
  for (ResourceId id : capacities.ids()) {
    if (signatures[id] == Signature()) continue;
    const auto [entry, is_first] = first.try_emplace(signatures[id], id);
    if (is_first) {
      renamed[id] = left.Add(capacities[id]);
      if (merged != nullptr) merged->Add({});
    }
    if (merged != nullptr) (*merged)[renamed[entry->second]].push_back(id);
  }
  for (PlanSteps& plan : plans) {
    for (TransferStep& step : plan.steps) {
      size_t uses = 0;
      for (const ResourceUse& use : step.uses) {
        if (renamed[use.resource] == kDropped) continue;
        step.uses[uses++] = {renamed[use.resource], use.weight};
      }
      step.uses.resize(uses);
      step.uses.shrink_to_fit();
    }
  }
  return left;
}

}  // namespace orrery
