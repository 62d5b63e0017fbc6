// The zero-bubble schedules, made from what passes take (Qi et al., arXiv
// 2401.10241 and 2405.15362). Their authors profile a step and search for the
// order; so do we: every rule of the list scheduler is tried, and the order
// with the shortest step is taken.
//
// A pipeline that is full repeats itself. The order of a long step is that of a
// step of kFilledRounds x ranks micro-batches in which one period, the passes
// between two forward passes of the first piece, is repeated. It takes no
// longer to make than a short one, and its bubble does not grow with the number
// of micro-batches.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "workload/plan/list_scheduler.h"
#include "workload/plan/schedule.h"

namespace orrery {
namespace {

// The passes from the k-th forward pass of the first piece to the next one, if
// every pass of every piece is among them once.
std::optional<std::span<const PipelineAction>> PeriodAt(
    const std::vector<PipelineAction>& order, int k, int pieces) {
  const auto first = [&](int micro_batch) {
    return std::ranges::find(
        order, PipelineAction{PipelinePass::kForward, 0, micro_batch});
  };
  const std::span<const PipelineAction> period(first(k), first(k + 1));
  if (std::ssize(period) != 3 * pieces) return std::nullopt;
  for (auto one = period.begin(); one != period.end(); ++one) {
    for (auto other = one + 1; other != period.end(); ++other) {
      if (one->pass == other->pass && one->piece == other->piece) {
        return std::nullopt;
      }
    }
  }
  return period;
}

// The orders with `more` further micro-batches, repeating the k-th period;
// nothing if some rank has no such period.
std::optional<RankOrders> Lengthened(const RankOrders& orders, int pieces,
                                     int k, int more) {
  RankOrders longer;
  for (const std::vector<PipelineAction>& order : orders) {
    const auto period = PeriodAt(order, k, pieces);
    if (!period) return std::nullopt;
    const auto end = (period->data() - order.data()) + std::ssize(*period);
    auto& out = longer.emplace_back(order.begin(), order.begin() + end);
    out.reserve(order.size() + period->size() * static_cast<size_t>(more));
    const auto append = [&](std::span<const PipelineAction> actions, int by) {
      for (PipelineAction action : actions) {
        action.micro_batch += by;
        out.push_back(action);
      }
    };
    for (int i = 1; i <= more; ++i) append(*period, i);
    append(std::span(order).subspan(static_cast<size_t>(end)), more);
  }
  return longer;
}

// One order of a short step and how it goes on.
struct Candidate {
  RankOrders orders;
  int period = -1;  // which is repeated in longer steps
  double cost = std::numeric_limits<double>::infinity();
};

class Choosing {
 public:
  Choosing(const StageLayout& layout, const PassProfile& profile,
           int micro_batches)
      : layout_(layout),
        profile_(profile),
        micro_batches_(micro_batches),
        short_(std::min(micro_batches, kFilledRounds * layout.ranks())) {}

  int short_step() const { return short_; }

  void Try(RankOrders orders) {
    Candidate candidate{.orders = std::move(orders)};
    const double time = Cost(short_, candidate.orders);
    if (micro_batches_ == short_) {
      candidate.cost = time;
    } else {
      ChoosePeriod(time, candidate);
    }
    if (candidate.cost < best_.cost && Ends(candidate)) {
      best_ = std::move(candidate);
    }
  }

  RankOrders Best() && {
    CHECK(!best_.orders.empty());
    return WholeOf(best_);
  }

 private:
  double Cost(int micro_batches, const RankOrders& orders) const {
    const std::optional<int64_t> time =
        Makespan(layout_, profile_, micro_batches, orders);
    return time ? static_cast<double>(*time)
                : std::numeric_limits<double>::infinity();
  }

  // An order that was made for other times of its passes may wait for itself
  // where it is repeated.
  bool Ends(const Candidate& candidate) const {
    return Makespan(layout_, profile_, micro_batches_, WholeOf(candidate))
        .has_value();
  }
  RankOrders WholeOf(const Candidate& candidate) const {
    if (micro_batches_ == short_) return candidate.orders;
    return *Lengthened(candidate.orders, layout_.pieces(), candidate.period,
                       micro_batches_ - short_);
  }

  // That of least time per period. Which candidate wins must not depend on how
  // long the step is, so that steps of different length are alike: it is
  // compared at so many times the short one.
  void ChoosePeriod(double time, Candidate& candidate) const {
    constexpr double kTimes = 4;
    const int more = layout_.ranks();
    double least = std::numeric_limits<double>::infinity();
    for (int k = 0; k + 1 < short_; ++k) {
      const auto longer =
          Lengthened(candidate.orders, layout_.pieces(), k, more);
      if (!longer) continue;
      const double rate = (Cost(short_ + more, *longer) - time) / more;
      if (!std::isfinite(rate)) continue;
      if (rate >= least) break;  // the pipeline is full and runs steadily
      least = rate;
      candidate.period = k;
    }
    candidate.cost = time + kTimes * short_ * least;
  }

  const StageLayout& layout_;
  const PassProfile& profile_;
  int micro_batches_;
  int short_;
  Candidate best_;
};

// Every stage takes what the mean of all takes.
PassProfile MeanOf(PassProfile profile) {
  int64_t forward = 0, input_gradient = 0, weight_gradient = 0;
  for (const PassProfile::Stage& stage : profile.stages) {
    forward += stage.forward;
    input_gradient += stage.input_gradient;
    weight_gradient += stage.weight_gradient;
  }
  const auto mean = [&](int64_t sum) {
    return static_cast<int32_t>(sum / std::ssize(profile.stages));
  };
  for (PassProfile::Stage& stage : profile.stages) {
    stage = {mean(forward), mean(input_gradient), mean(weight_gradient)};
  }
  return profile;
}

// 1F1B with the backward split in two: the input gradient goes on at once, the
// weight gradient follows when more than `rank` of them are outstanding, so
// that later ranks keep work for the time in which they would wait.
RankOrders HandmadeH1(int ranks, int micro_batches) {
  using enum PipelinePass;
  RankOrders orders(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    auto& order = orders[static_cast<size_t>(rank)];
    const int warm_up = std::min(ranks - 1 - rank, micro_batches);
    int weights_done = 0;
    for (int i = 0; i < warm_up; ++i) order.push_back({kForward, 0, i});
    for (int i = 0; i < micro_batches; ++i) {
      if (i + warm_up < micro_batches) {
        order.push_back({kForward, 0, i + warm_up});
      }
      order.push_back({kInputGradient, 0, i});
      if (i + 1 - weights_done > rank) {
        order.push_back({kWeightGradient, 0, weights_done++});
      }
    }
    while (weights_done < micro_batches) {
      order.push_back({kWeightGradient, 0, weights_done++});
    }
  }
  return orders;
}

}  // namespace

RankOrders ZeroBubbleOrders(const StageLayout& layout, int micro_batches,
                            const PassProfile& profile) {
  CHECK(profile.stages.empty() ||
        std::ssize(profile.stages) == layout.stages());
  Choosing choosing(layout, profile, micro_batches);
  const int few = choosing.short_step();
  if (layout.pieces() == 1) choosing.Try(HandmadeH1(layout.ranks(), few));
  for (int rule = 0; rule < kSchedulingRules; ++rule) {
    choosing.Try(ListSchedule(layout, profile, few, rule));
  }
  // Where stages differ a full pipeline may not repeat itself: orders made for
  // equal stages do, whatever the times are.
  for (const PassProfile& alike : {PassProfile(), MeanOf(profile)}) {
    for (int rule = 0; rule < kSchedulingRules; ++rule) {
      choosing.Try(ListSchedule(layout, alike, few, rule));
    }
  }
  return std::move(choosing).Best();
}

}  // namespace orrery
