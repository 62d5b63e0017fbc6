#include "sim/analysis/role_times.h"

#include "sim/engine/chip_sharing.h"

namespace orrery {

RoleTimes::RoleTimes(const Role& role, size_t streams,
                     const std::vector<double>* slowness)
    : few_(role), chains_(role, streams), slowness_(slowness) {
  // First each by itself, one place further.
  for (size_t s = 0; s < streams; ++s) {
    const auto stream = static_cast<StreamId>(s);
    for (auto i = static_cast<int32_t>(role.place_begin(stream));
         i < static_cast<int32_t>(role.place_end(stream)); ++i) {
      const auto place = static_cast<PlaceId>(i);
      if (role.at(place).kind != TaskKind::kKernel) continue;
      const KernelWork& kernel = role.kernel(role.at(place));
      few_.ForEachTurn(stream, place, [&](TaskId task, int32_t) {
        if (before_.size() < Index(task) + 2) before_.resize(Index(task) + 2);
        const double slower =
            slowness == nullptr ? 1 : (*slowness)[Index(task)];
        before_[Index(task) + 1] =
            static_cast<uint64_t>(SoloDuration(kernel, slower).count());
      });
    }
  }
  uint64_t sum = 0;
  for (uint64_t& each : before_) each = sum += each;
}

}  // namespace orrery
