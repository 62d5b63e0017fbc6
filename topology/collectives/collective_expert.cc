#include "topology/collectives/collective_expert.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "topology/collectives/collective_traffic.h"

namespace orrery {
namespace {

// One message of each pair, in one phase.
class PhaseWriter {
 public:
  PhaseWriter(ScheduleBuilder& builder, bool reverse)
      : builder_(builder), reverse_(reverse) {}

  void Begin(bool streams) {
    builder_.BeginPhase(streams);
    builder_.BeginRound();
  }
  void Send(int from, int to, double amount) {
    if (from == to || amount <= 0) return;
    const ChunkRange chunk = {
        .begin = static_cast<int32_t>(builder_.schedule().chunk_share.size())};
    builder_.schedule().chunk_share.push_back(amount);
    builder_.Send(reverse_ ? to : from, reverse_ ? from : to, {&chunk, 1},
                  reverse_);
  }

 private:
  ScheduleBuilder& builder_;
  bool reverse_;
};

Schedule ByIsland(const GroupLayout& layout, const ExpertTraffic& traffic,
                  bool combine) {
  const int n = layout.ranks;
  const int g = layout.island_size;
  const int islands = n / g;
  const TokenAmounts amounts = AmountsByIsland(traffic, islands);
  const double k = traffic.experts_per_token;
  ScheduleBuilder builder(CommunicationKind::kAllToAll, n,
                          n * (islands - 1) + n * (g - 1));
  builder.schedule().chunk_share.clear();
  PhaseWriter phase(builder, combine);
  const auto across = [&](bool streams) {
    phase.Begin(streams);
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < islands; ++to) {
        if (to == from / g) continue;
        phase.Send(from, to * g + from % g,
                   amounts.island[static_cast<size_t>(to)] / k);
      }
    }
  };
  // A chip passes on what came to its place from all islands, its own included.
  const auto inside = [&](bool streams) {
    phase.Begin(streams);
    for (int entry = 0; entry < n; ++entry) {
      for (int to = entry / g * g; to < entry / g * g + g; ++to) {
        phase.Send(entry, to,
                   islands * amounts.rank[static_cast<size_t>(to)] / k);
      }
    }
  };
  if (combine) {
    inside(false);
    across(true);
  } else {
    across(false);
    inside(true);
  }
  return std::move(builder).Build();
}

}  // namespace

Schedule ExpertSchedule(const GroupLayout& layout, const ExpertTraffic& traffic,
                        CallShape shape) {
  CHECK(MovesTokens(shape));
  const bool combine = shape == CallShape::kTokensFromExperts;
  const int n = layout.ranks;
  CHECK_EQ(traffic.share.size(), static_cast<size_t>(n));
  const bool islands = layout.island_size > 0 && layout.island_size < n;
  if (traffic.by_island && islands && layout.island_size > 1) {
    return ByIsland(layout, traffic, combine);
  }
  const std::vector<double> to_rank =
      AmountsByRank(traffic, layout.island_size == 1 ? n : 1);
  std::vector<double> amounts;
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) {
      // What went to a rank comes back from it.
      amounts.push_back(to_rank[static_cast<size_t>(combine ? from : to)]);
    }
  }
  return TrafficSchedule(n, amounts);
}

}  // namespace orrery
