#include <algorithm>
#include <utility>

#include "base/status.h"
#include "topology/collectives/collective_schedules.h"
#include "topology/collectives/ring_orders.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

int32_t PowerAtLeast(int32_t p) {
  int32_t power = 1;
  while (power < p) power *= 2;
  return power;
}

// Writes a broadcast, or the same backwards in time: a reduce. Ranks are
// counted from the root on.
class RootedWriter {
 public:
  RootedWriter(const ScheduleRequest& request, int32_t chunks,
               int32_t segments = 1)
      : reduces_(request.kind == Kind::kReduce),
        root_(request.layout.root),
        ranks_(request.layout.ranks),
        builder_(request.kind, ranks_, chunks, segments) {}

  ScheduleBuilder& builder() { return builder_; }
  // Calls step(0) .. step(count - 1), or the last one first.
  template <class Step>
  void InOrder(int32_t count, Step step) {
    for (int32_t i = 0; i < count; ++i) step(reduces_ ? count - 1 - i : i);
  }
  void BeginStep() {
    builder_.BeginPhase();
    builder_.BeginRound();
  }
  // `adds`: in a reduce, the message carries a part of the sum.
  void Send(int32_t from, int32_t to, const ChunkRange& range, bool adds) {
    const int32_t a = (from + root_) % ranks_;
    const int32_t b = (to + root_) % ranks_;
    builder_.Send(reduces_ ? b : a, reduces_ ? a : b, {&range, 1},
                  reduces_ && adds);
  }
  bool reduces() const { return reduces_; }
  int32_t root() const { return root_; }
  Schedule Build() && { return std::move(builder_).Build(); }

 private:
  bool reduces_;
  int32_t root_;
  int32_t ranks_;
  ScheduleBuilder builder_;
};

int32_t Log2(int32_t power) {
  int32_t log = 0;
  while (power > 1) {
    power /= 2;
    ++log;
  }
  return log;
}

}  // namespace

absl::StatusOr<Schedule> BinomialSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kBinomial, request));
  const int32_t p = request.layout.ranks;
  RootedWriter writer(request, 1);
  // Those that have the data, 0 .. d-1, hand it d further on.
  writer.InOrder(Log2(PowerAtLeast(p)), [&](int32_t step) {
    const int32_t d = 1 << step;
    writer.BeginStep();
    for (int32_t rank = 0; rank < d && rank + d < p; ++rank) {
      writer.Send(rank, rank + d, {}, /*adds=*/true);
    }
  });
  return std::move(writer).Build();
}

absl::StatusOr<Schedule> ScatterAllGatherSchedule(
    const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kScatterAllGather, request));
  const int32_t p = request.layout.ranks;
  RootedWriter writer(request, p);
  const int32_t halvings = Log2(PowerAtLeast(p));
  // Binomial scatter: whoever holds blocks r .. r+2d-1 gives away the upper d.
  const auto scatter = [&](int32_t step) {
    const int32_t d = 1 << (halvings - 1 - step);
    writer.BeginStep();
    for (int32_t rank = 0; rank + d < p; rank += 2 * d) {
      writer.Send(rank, rank + d,
                  {.begin = rank + d, .count = std::min(d, p - rank - d)},
                  /*adds=*/false);
    }
  };
  // Around the ring; backwards, block r + 1 leaves rank r + 1 first.
  const auto around = [&] {
    writer.builder().BeginPhase();
    writer.builder().BeginRound(p - 1, writer.reduces() ? 1 : -1);
    for (int32_t rank = 0; rank < p; ++rank) {
      writer.Send(rank, (rank + 1) % p,
                  {.begin = writer.reduces() ? (rank + 2) % p : rank},
                  /*adds=*/true);
    }
  };
  if (writer.reduces()) around();
  writer.InOrder(halvings, scatter);
  if (!writer.reduces()) around();
  return std::move(writer).Build();
}

absl::StatusOr<Schedule> ChainSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kChain, request));
  const int32_t p = request.layout.ranks;
  const std::vector<RingOrder> orders = RingOrders(request.layout);
  const auto lanes = static_cast<int32_t>(orders.size());
  const bool reduces = request.kind == Kind::kReduce;
  ScheduleBuilder builder(request.kind, p, lanes, request.segments);
  builder.schedule().threads = true;
  // Where each ring meets the root.
  std::vector<int32_t> begin;
  for (const RingOrder& order : orders) {
    begin.push_back(static_cast<int32_t>(
        std::find(order.begin(), order.end(), request.layout.root) -
        order.begin()));
  }
  for (int32_t i = 0; i + 1 < p; ++i) {
    const int32_t hop = reduces ? p - 2 - i : i;
    builder.BeginPhase();
    for (int32_t lane = 0; lane < lanes; ++lane) {
      builder.BeginRound();
      const RingOrder& order = orders[static_cast<size_t>(lane)];
      const auto at = [&](int32_t place) {
        return order[static_cast<size_t>(
            (begin[static_cast<size_t>(lane)] + place) % p)];
      };
      const ChunkRange part = {.begin = lane};
      builder.Send(at(reduces ? hop + 1 : hop), at(reduces ? hop : hop + 1),
                   {&part, 1}, reduces);
    }
  }
  return std::move(builder).Build();
}

}  // namespace orrery
