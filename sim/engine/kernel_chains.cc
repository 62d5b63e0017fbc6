#include "sim/engine/kernel_chains.h"

namespace orrery {
namespace {

// Chains of so many kernels of so long end within the range of time.
constexpr int32_t kMostKernels = 1 << 16;
constexpr Duration kLongestKernel{1'000'000'000'000};

// By place, whether a task of the role waits for the one that is kept there.
std::vector<char> AwaitedPlaces(const Role& role, size_t streams) {
  std::vector<char> awaited(static_cast<size_t>(role.place_count()), false);
  const RoleLoop& loop = role.loop();
  // Marks the place of a dependency; whether it is in the loop.
  const auto mark = [&](const Dependency& needed) {
    const PlaceId place = role.Find(needed.stream, needed.task).place;
    awaited[Index(place)] = true;
    return loop.turns > 1 && loop.bodies[Index(needed.stream)].Has(place);
  };
  for (size_t s = 0; s < streams; ++s) {
    const auto stream = static_cast<StreamId>(s);
    for (PlaceId p = role.place_begin(stream); p != role.place_end(stream);
         p = static_cast<PlaceId>(static_cast<int32_t>(p) + 1)) {
      const bool turns = loop.turns > 1 && loop.bodies[s].Has(p);
      for (const Dependency& needed : role.dependencies_at(p)) {
        // In the first turns it may be before the loop, and in the last after
        // it: from both ends until it is inside.
        const int32_t last = turns ? loop.turns - 1 : 0;
        int32_t turn = 0;
        while (!mark(loop.InTurn(needed, turn)) && turn < last) ++turn;
        for (turn = last; turn > 0 && !mark(loop.InTurn(needed, turn));
             --turn) {
        }
      }
    }
  }
  return awaited;
}

}  // namespace

KernelChains::KernelChains(const Role& role, size_t streams)
    : length_(static_cast<size_t>(role.place_count()), 1) {
  const std::vector<char> awaited = AwaitedPlaces(role, streams);
  const auto is_plain = [&](const Task& task) {
    if (task.kind != TaskKind::kKernel || task.has_memory_effects) return false;
    const Duration time = role.kernel(task).duration;
    return time > Duration(0) && time < kLongestKernel;
  };
  for (size_t s = 0; s < streams; ++s) {
    const auto stream = static_cast<StreamId>(s);
    const auto begin = static_cast<int32_t>(role.place_begin(stream));
    const auto end = static_cast<int32_t>(role.place_end(stream));
    const auto wrap = static_cast<int32_t>(role.loop().bodies[s].end());
    for (int32_t i = end - 2; i >= begin; --i) {
      const Task& task = role.at(static_cast<PlaceId>(i));
      const Task& next = role.at(static_cast<PlaceId>(i + 1));
      if (i + 1 == wrap || awaited[static_cast<size_t>(i)] ||
          next.dependency_count > 0 ||
          length_[static_cast<size_t>(i) + 1] == kMostKernels ||
          !is_plain(task) || !is_plain(next)) {
        continue;
      }
      length_[static_cast<size_t>(i)] = length_[static_cast<size_t>(i) + 1] + 1;
    }
  }
}

KernelSums::KernelSums(const Role& role) {
  before_.reserve(static_cast<size_t>(role.place_count()) + 1);
  uint64_t sum = 0;
  for (int32_t i = 0; i < role.place_count(); ++i) {
    before_.push_back(sum);
    const Task& task = role.at(static_cast<PlaceId>(i));
    if (task.kind != TaskKind::kKernel) continue;
    sum += static_cast<uint64_t>(role.kernel(task).duration.count());
  }
  before_.push_back(sum);
}

}  // namespace orrery
