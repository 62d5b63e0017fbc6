// Forms on tori: collective_forms.h.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "analytic/collective/collective_forms.h"
#include "analytic/collective/form_builder.h"

namespace orrery {

CollectiveForm TorusBucketForm(const GroupNetwork& group) {
  const std::vector<GroupNetwork::Side>& sides = group.grid();
  const size_t dimensions = sides.size();
  FormBuilder form(group, CollectiveAlgorithm::kTorusBucket);
  // What the ring that began with each side still holds of its part.
  std::vector<double> left(dimensions, 1.0);
  for (size_t stage = 0; stage < dimensions; ++stage) {
    std::vector<MessageTerm> steps;
    double largest = 0;
    for (size_t first = 0; first < dimensions; ++first) {
      const GroupNetwork::Side& side = sides[(first + stage) % dimensions];
      const double k = side.members;
      // There and, in the all-gather, back.
      steps.push_back({Tier::kScaleUp, side.hops, 2 * (k - 1)});
      largest = std::max(largest, (k - 1) / k * left[first]);
      left[first] /= k;
    }
    form.AddRace(steps, {.island = largest / static_cast<double>(dimensions)});
  }
  return std::move(form).Build();
}

CollectiveForm GridForm(CommunicationKind kind, const GroupNetwork& group) {
  const std::vector<GroupNetwork::Side>& sides = group.grid();
  const size_t dimensions = sides.size();
  FormBuilder form(group, CollectiveAlgorithm::kGrid);
  std::vector<double> left(dimensions, 1.0 / static_cast<double>(dimensions));
  for (size_t stage = 0; stage < dimensions; ++stage) {
    std::vector<MessageTerm> steps;
    double largest = 0;
    for (size_t first = 0; first < dimensions; ++first) {
      const GroupNetwork::Side& side = sides[(first + stage) % dimensions];
      const int k = side.members;
      // Half of everything from either side of a ring; the link at the end of a
      // line passes all.
      steps.push_back(
          {Tier::kScaleUp, side.hops,
           static_cast<double>((side.open ? k - 1 : k / 2) * PassesOf(kind))});
      largest =
          std::max(largest, (k - 1.0) / (side.open ? k : 2 * k) * left[first]);
      left[first] /= k;
    }
    form.AddRace(steps, {.island = largest * PassesOf(kind)});
  }
  return std::move(form).Build();
}

CollectiveForm ShardRingForm(const GroupNetwork& group) {
  const int p = group.ranks();
  FormBuilder form(group, CollectiveAlgorithm::kShardRing);
  const auto both_ways = [&](int repeat, double share) {
    form.BeginWave();
    for (const int direction : {1, p - 1}) {
      form.BeginRound(repeat);
      for (int r = 0; r < p; ++r) form.Send(r, (r + direction) % p, share);
    }
  };
  for (int pass = 0; pass < 2; ++pass) {
    // Half of the others' shards each way; that of the opposite rank comes half
    // from either side.
    both_ways(p / 2, (p - 1.0) / 2 / (p / 2) / p);
  }
  return std::move(form).Build();
}

CollectiveForm SwingForm(const GroupNetwork& group) {
  const std::vector<int> sides = group.rings();
  const size_t dimensions = sides.size();
  const int side = sides[0];
  const auto steps = static_cast<size_t>(
      std::countr_zero(static_cast<unsigned>(group.ranks())));
  std::vector<int> stride(dimensions, 1);
  for (size_t d = 1; d < dimensions; ++d) stride[d] = stride[d - 1] * side;
  FormBuilder form(group, CollectiveAlgorithm::kSwing);
  // Of 2D parts of the data, each begins with its own side and direction.
  const auto step = [&](size_t s, size_t first, int direction, double share) {
    const size_t d = (first + s) % dimensions;
    // 1, -1, 3, -5, 11, ...: (1 - (-2)^(t+1)) / 3 in step t of a side.
    int distance = 1;
    for (size_t t = 0; t < s / dimensions; ++t) distance = 1 - 2 * distance;
    form.BeginRound();
    for (int r = 0; r < group.ranks(); ++r) {
      const int x = r / stride[d] % side;
      const int way = (x % 2 == 0 ? direction : -direction) * distance;
      const int y = ((x + way) % side + side) % side;
      form.Send(r, r + (y - x) * stride[d], share);
    }
  };
  for (int pass = 0; pass < 2; ++pass) {
    double share = 0.5 / (2 * static_cast<double>(dimensions));
    for (size_t s = 0; s < steps; ++s, share /= 2) {
      form.BeginWave();
      for (size_t first = 0; first < dimensions; ++first) {
        for (const int direction : {1, -1}) step(s, first, direction, share);
      }
    }
  }
  return std::move(form).Build();
}

}  // namespace orrery
