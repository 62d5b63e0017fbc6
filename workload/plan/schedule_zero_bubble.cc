// The zero-bubble schedules, made from what passes take (Qi et al., arXiv
// 2401.10241 and 2405.15362). Their authors profile a step and search for the
// order; so do we: every rule of the list scheduler is tried, and the order
// with the shortest step is taken.
//
// A pipeline that is full repeats itself. The order of a long step is that of a
// step of kFilledRounds x ranks micro-batches in which one period is repeated:
// on each rank a stretch of its passes that holds every pass of every piece
// once, or twice where an order takes micro-batches in pairs. It takes no
// longer to make than a short one, and its bubble does not grow with the number
// of micro-batches.
#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// The order of a step, and the period that is repeated in longer ones: where it
// begins on each rank. No beginnings: nothing can be repeated.
struct Period {
  std::vector<size_t> beginnings = {};
  int micro_batches = 1;
};
struct Candidate {
  RankOrders orders;
  Period period = {};
  double time = std::numeric_limits<double>::infinity();
  // What one repetition takes.
  double repetition = std::numeric_limits<double>::infinity();
};

// Where the stretches of an order begin that hold every pass of every piece
// `micro_batches` times, first to last.
std::vector<size_t> PeriodsOf(const std::vector<PipelineAction>& order,
                              int pieces, int micro_batches) {
  const size_t length = 3 * static_cast<size_t>(micro_batches * pieces);
  const auto kind = [&](const PipelineAction& action) {
    const size_t pass = action.pass == PipelinePass::kForward         ? 0
                        : action.pass == PipelinePass::kInputGradient ? 1
                                                                      : 2;
    return 3 * static_cast<size_t>(action.piece) + pass;
  };
  std::vector<size_t> beginnings;
  std::vector<int> count(3 * static_cast<size_t>(pieces));
  for (size_t i = 0; i < order.size(); ++i) {
    ++count[kind(order[i])];
    if (i >= length) --count[kind(order[i - length])];
    if (i + 1 >= length &&
        std::ranges::count(count, micro_batches) == std::ssize(count)) {
      beginnings.push_back(i + 1 - length);
    }
  }
  return beginnings;
}

// The orders with `more` further micro-batches, in which a period is repeated.
// Requires: its micro-batches divide `more`.
RankOrders Lengthened(const RankOrders& orders, int pieces,
                      const Period& period, int more) {
  const auto length = 3 * static_cast<size_t>(period.micro_batches * pieces);
  RankOrders longer;
  for (size_t rank = 0; rank < orders.size(); ++rank) {
    const std::span<const PipelineAction> order = orders[rank];
    const auto repeated = order.subspan(period.beginnings[rank], length);
    const size_t end = period.beginnings[rank] + length;
    auto& out = longer.emplace_back(
        order.begin(), order.begin() + static_cast<ptrdiff_t>(end));
    const auto append = [&](std::span<const PipelineAction> actions, int by) {
      for (PipelineAction action : actions) {
        action.micro_batch += by;
        out.push_back(action);
      }
    };
    for (int by = period.micro_batches; by <= more;
         by += period.micro_batches) {
      append(repeated, by);
    }
    append(order.subspan(end), more);
  }
  return longer;
}

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

// What one micro-batch takes on each rank.
std::vector<int64_t> WorkOfRanks(const StageLayout& layout,
                                 const PassProfile& profile) {
  std::vector<int64_t> work(static_cast<size_t>(layout.ranks()),
                            profile.stages.empty() ? 3 * layout.pieces() : 0);
  for (int i = 0; i < std::ssize(profile.stages); ++i) {
    const PassProfile::Stage& stage = profile.stages[static_cast<size_t>(i)];
    work[static_cast<size_t>(layout.PlaceOf(i).rank)] +=
        int64_t{stage.forward} + stage.input_gradient + stage.weight_gradient;
  }
  return work;
}

int64_t MostOf(const std::vector<int64_t>& work) {
  return *std::ranges::max_element(work);
}

// Every rank takes what the busiest takes; its passes are longer in proportion.
PassProfile LevelledOf(const StageLayout& layout, PassProfile profile) {
  const std::vector<int64_t> work = WorkOfRanks(layout, profile);
  const int64_t most = MostOf(work);
  for (int i = 0; i < std::ssize(profile.stages); ++i) {
    const int64_t own = work[static_cast<size_t>(layout.PlaceOf(i).rank)];
    const auto longer = [&](int32_t time) {
      return static_cast<int32_t>(time * most / own);
    };
    PassProfile::Stage& stage = profile.stages[static_cast<size_t>(i)];
    stage = {longer(stage.forward), longer(stage.input_gradient),
             longer(stage.weight_gradient)};
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

class Choosing {
 public:
  Choosing(const StageLayout& layout, const PassProfile& profile)
      : layout_(layout),
        profile_(profile),
        busiest_(static_cast<double>(MostOf(WorkOfRanks(layout, profile)))) {}

  RankOrders Choose(int micro_batches) const {
    const int filled = kFilledRounds * layout_.ranks();
    const int few = micro_batches <= filled
                        ? micro_batches
                        : filled + (micro_batches - filled) % kZeroBubblePeriod;
    std::vector<Candidate> candidates = Made(few);
    // Shorter steps that go on may be better than any order of this one.
    for (int rounds = 1; rounds <= kFilledRounds; ++rounds) {
      const int shorter = rounds * layout_.ranks();
      if (shorter >= few) break;
      Candidate best = Best(Made(shorter), shorter);
      FindPeriod(shorter, best);
      if (best.period.beginnings.empty() ||
          (few - shorter) % best.period.micro_batches != 0) {
        continue;
      }
      candidates.push_back({.orders = Lengthened(best.orders, layout_.pieces(),
                                                 best.period, few - shorter)});
    }
    if (few == micro_batches) return Best(std::move(candidates), few).orders;
    return Repeated(std::move(candidates), few, micro_batches - few);
  }

 private:
  // One order for each rule. Where stages differ a full pipeline may not repeat
  // itself: orders made for equal ranks or equal stages do, whatever the times
  // are.
  std::vector<Candidate> Made(int micro_batches) const {
    std::vector<Candidate> all;
    const auto add = [&](RankOrders orders) {
      all.push_back({.orders = std::move(orders)});
    };
    if (layout_.pieces() == 1) {
      add(HandmadeH1(layout_.ranks(), micro_batches));
    }
    add(ListSchedule(layout_, {}, micro_batches, kSchedulingRules[0]));
    for (const SchedulingRule rule : kSchedulingRules) {
      add(ListSchedule(layout_, profile_, micro_batches, rule));
    }
    if (profile_.stages.empty()) return all;
    constexpr int kOfEqualRanks = 5;
    const PassProfile levelled = LevelledOf(layout_, profile_);
    const PassProfile mean = MeanOf(profile_);
    for (int rule = 0; rule < kOfEqualRanks; ++rule) {
      add(ListSchedule(layout_, levelled, micro_batches,
                       kSchedulingRules[rule]));
      add(ListSchedule(layout_, mean, micro_batches, kSchedulingRules[rule]));
    }
    return all;
  }

  // The one that takes least.
  Candidate Best(std::vector<Candidate> candidates, int micro_batches) const {
    for (Candidate& candidate : candidates) {
      candidate.time = Time(micro_batches, candidate.orders);
    }
    return std::move(
        *std::ranges::min_element(candidates, {}, &Candidate::time));
  }

  double Time(int micro_batches, const RankOrders& orders) const {
    const std::optional<int64_t> time =
        Makespan(layout_, profile_, micro_batches, orders);
    return time ? static_cast<double>(*time)
                : std::numeric_limits<double>::infinity();
  }

  // The period that takes least to repeat. The ranks cut their orders at one
  // time; some times in the middle of the step are tried.
  void FindPeriod(int micro_batches, Candidate& candidate) const {
    constexpr size_t kCuts = 6;
    PassStarts starts;
    if (!Makespan(layout_, profile_, micro_batches, candidate.orders,
                  &starts)) {
      return;
    }
    const int more = kZeroBubblePeriod * layout_.ranks();
    for (int each = 1; each <= kZeroBubblePeriod; ++each) {
      std::vector<std::vector<size_t>> periods;
      bool repeats = true;
      for (const std::vector<PipelineAction>& order : candidate.orders) {
        periods.push_back(PeriodsOf(order, layout_.pieces(), each));
        repeats = repeats && !periods.back().empty();
      }
      if (!repeats) continue;
      for (size_t i = 0; i < kCuts; ++i) {
        const int64_t cut =
            starts[0][periods[0][periods[0].size() * (kCuts + 2 * i) /
                                 (4 * kCuts)]];
        Period period{.micro_batches = each};
        for (size_t rank = 0; rank < periods.size(); ++rank) {
          const auto next = std::ranges::lower_bound(
              periods[rank], cut, {},
              [&](size_t beginning) { return starts[rank][beginning]; });
          period.beginnings.push_back(
              next == periods[rank].end() ? periods[rank].back() : *next);
        }
        const double time =
            Time(micro_batches + more,
                 Lengthened(candidate.orders, layout_.pieces(), period, more));
        const double repetition = (time - candidate.time) / more;
        if (repetition < candidate.repetition) {
          candidate.repetition = repetition;
          candidate.period = std::move(period);
        }
        if (repetition <= busiest_) return;  // no rank stands still
      }
    }
  }

  // The candidate that is best in a long step, with its period repeated to
  // `more` further micro-batches. Which one wins must not depend on how long
  // the step is, so that steps of different length are alike: the most
  // promising are compared in a step of kTimes the short one. A candidate by
  // which the share of the bubble would grow right away loses against any
  // other.
  RankOrders Repeated(std::vector<Candidate> candidates, int few,
                      int more) const {
    constexpr int kTimes = 2 * kZeroBubblePeriod;
    constexpr int kPromising = 4;
    double least = std::numeric_limits<double>::infinity();
    for (Candidate& candidate : candidates) {
      candidate.time = Time(few, candidate.orders);
      least = std::min(least, candidate.time);
      FindPeriod(few, candidate);
    }
    const auto promise = [&](const Candidate& candidate) {
      return std::pair(
          candidate.time + candidate.repetition > least / few * (few + 1),
          candidate.time + kTimes * few * candidate.repetition);
    };
    std::ranges::stable_sort(candidates, {}, promise);
    RankOrders best;
    double shortest = std::numeric_limits<double>::infinity();
    int compared = 0;
    for (const Candidate& candidate : candidates) {
      if (candidate.period.beginnings.empty()) continue;
      const auto lengthened = [&](int by) {
        return Lengthened(candidate.orders, layout_.pieces(), candidate.period,
                          by);
      };
      const double time = Time((1 + kTimes) * few, lengthened(kTimes * few));
      if (time >= shortest) continue;
      // An order that was made for other times of its passes may wait for
      // itself where it is repeated.
      RankOrders orders = lengthened(more);
      if (!Makespan(layout_, profile_, few + more, orders)) continue;
      best = std::move(orders);
      shortest = time;
      if (++compared == kPromising) break;
    }
    CHECK(!best.empty()) << "orders of equal passes repeat themselves";
    return best;
  }

  const StageLayout& layout_;
  const PassProfile& profile_;
  double busiest_;  // the work of a micro-batch on the busiest rank
};

}  // namespace

RankOrders ZeroBubbleOrders(const StageLayout& layout, int micro_batches,
                            const PassProfile& profile) {
  CHECK(profile.stages.empty() ||
        std::ssize(profile.stages) == layout.stages());
  return Choosing(layout, profile).Choose(micro_batches);
}

}  // namespace orrery
