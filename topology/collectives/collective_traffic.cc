#include "topology/collectives/collective_traffic.h"

#include "base/check.h"

namespace orrery {

Schedule TrafficSchedule(int32_t ranks, absl::Span<const double> amounts) {
  CHECK_EQ(amounts.size(),
           static_cast<size_t>(ranks) * static_cast<size_t>(ranks));
  ScheduleBuilder builder(CommunicationKind::kAllToAll, ranks, ranks * ranks);
  builder.schedule().chunk_share.assign(amounts.begin(), amounts.end());
  bool open = false;
  for (int32_t offset = 1; offset < ranks; ++offset) {
    for (int32_t rank = 0; rank < ranks; ++rank) {
      const int32_t to = (rank + offset) % ranks;
      const ChunkRange block = {.begin = rank * ranks + to};
      const double amount = amounts[static_cast<size_t>(block.begin)];
      CHECK(amount >= 0);
      if (amount == 0) continue;
      if (!open) {
        builder.BeginPhase();
        builder.BeginRound();
        open = true;
      }
      builder.Send(rank, to, {&block, 1}, false);
    }
  }
  CHECK(!builder.schedule().phases.empty()) << "no traffic at all";
  return std::move(builder).Build();
}

}  // namespace orrery
