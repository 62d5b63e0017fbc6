#include "sim/sharing/transfer_plan.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "sim/sharing/keyed_sum.h"

namespace orrery {
namespace {

void CheckStep(const TransferStep& step) {
  CHECK(step.latency >= Duration(0)) << step.latency.count();
  CHECK(step.work >= 0 && std::isfinite(step.work)) << step.work;
  CHECK(step.rate_cap > 0) << step.rate_cap;
  CHECK(step.penalty > 0 && std::isfinite(step.penalty)) << step.penalty;
  CHECK(step.work == 0 || !step.uses.empty() || std::isfinite(step.rate_cap))
      << "work without a resource or a rate cap would take no time";
  for (const ResourceUse& use : step.uses) {
    CHECK(use.resource >= ResourceId(0));
    CHECK(use.weight > 0 && std::isfinite(use.weight)) << use.weight;
  }
}

}  // namespace

int32_t PlaceOf(absl::Span<const StepLoop> loops, StepTime step) {
  int32_t place = step.listed;
  for (const StepLoop& loop : loops) {
    if (step.listed < loop.begin) break;
    place +=
        loop.width() * (step.listed < loop.end ? step.time : loop.times - 1);
  }
  return place;
}

StepTime StepAt(absl::Span<const StepLoop> loops, int32_t place) {
  int32_t listed = place;  // if all loops before it ran once
  for (const StepLoop& loop : loops) {
    if (listed < loop.begin) break;
    const int32_t past = listed - loop.begin;
    if (past < loop.width() * loop.times) {
      return {loop.begin + past % loop.width(), past / loop.width()};
    }
    listed -= loop.width() * (loop.times - 1);
  }
  return {listed, 0};
}

PlanId TransferPlans::AddChain(absl::Span<const TransferStep> steps) {
  std::vector<StepOrder> orders;
  for (size_t i = 1; i < steps.size(); ++i) {
    orders.push_back({static_cast<int32_t>(i - 1), static_cast<int32_t>(i)});
  }
  return Add(steps, orders, {}, /*is_chain=*/true);
}

PlanId TransferPlans::AddGraph(absl::Span<const TransferStep> steps,
                               absl::Span<const StepOrder> orders,
                               absl::Span<const StepLoop> loops) {
  const PlanId plan = Add(steps, orders, loops, /*is_chain=*/false);
  CheckAcyclic(plan);
  if (!loops.empty()) CheckLoops(plan);
  return plan;
}

PlanId TransferPlans::Add(absl::Span<const TransferStep> steps,
                          absl::Span<const StepOrder> orders,
                          absl::Span<const StepLoop> loops, bool is_chain) {
  CHECK(!steps.empty());
  int64_t all = static_cast<int64_t>(steps.size());
  for (const StepLoop& loop : loops) {
    CHECK(loop.times > 0) << loop.times;
    all += int64_t{loop.width()} * (loop.times - 1);
  }
  CHECK(all < int64_t{1} << 31) << all << " steps";
  const auto count = static_cast<int32_t>(steps.size());
  std::vector<StepOrder> sorted(orders.begin(), orders.end());
  std::sort(
      sorted.begin(), sorted.end(), [](const StepOrder& a, const StepOrder& b) {
        return a.before != b.before ? a.before < b.before : a.after < b.after;
      });
  const size_t first = steps_.size();
  for (const TransferStep& step : steps) {
    CheckStep(step);
    const std::vector<ResourceUse> uses = Canonical(step.uses);
    steps_.push_back({.latency = step.latency,
                      .work = step.work,
                      .rate_cap = step.rate_cap,
                      .penalty = step.penalty,
                      .uses_begin = static_cast<int64_t>(uses_.size()),
                      .successors_begin = 0,
                      .uses_count = static_cast<int32_t>(uses.size()),
                      .successors_count = 0,
                      .predecessors = 0,
                      .loop = -1});
    uses_.insert(uses_.end(), uses.begin(), uses.end());
    if (!uses.empty()) {
      resource_bound_ = std::max(
          resource_bound_, static_cast<int32_t>(uses.back().resource) + 1);
    }
  }
  size_t next = 0;
  for (int32_t place = 0; place < count; ++place) {
    StoredStep& step = steps_[first + static_cast<size_t>(place)];
    step.successors_begin = static_cast<int64_t>(successors_.size());
    for (; next < sorted.size() && sorted[next].before == place; ++next) {
      const int32_t after = sorted[next].after;
      CHECK(after >= 0 && after < count) << after;
      successors_.push_back(after);
      ++step.successors_count;
      ++steps_[first + static_cast<size_t>(after)].predecessors;
    }
  }
  CHECK_EQ(next, sorted.size()) << "orders name steps that do not exist";
  const auto first_loop = static_cast<int32_t>(loops_.size());
  for (const StepLoop& loop : loops) {
    const auto number = static_cast<int32_t>(loops_.size()) - first_loop;
    for (int32_t i = loop.begin; i < loop.end; ++i) {
      steps_[first + static_cast<size_t>(i)].loop = number;
    }
    loops_.push_back(loop);
  }
  return plans_.Add({static_cast<int64_t>(first), count,
                     static_cast<int32_t>(all), first_loop,
                     static_cast<int32_t>(loops.size()), is_chain});
}

TransferPlans::Step TransferPlans::listed(PlanId plan, int32_t place) const {
  DCHECK(place >= 0 && place < plans_[plan].listed_count);
  const StoredStep& stored =
      steps_[static_cast<size_t>(plans_[plan].steps_begin + place)];
  return {.latency = stored.latency,
          .work = stored.work,
          .rate_cap = stored.rate_cap,
          .penalty = stored.penalty,
          .uses = absl::MakeConstSpan(uses_.data() + stored.uses_begin,
                                      static_cast<size_t>(stored.uses_count)),
          .successors =
              absl::MakeConstSpan(successors_.data() + stored.successors_begin,
                                  static_cast<size_t>(stored.successors_count)),
          .predecessors = stored.predecessors,
          .loop = stored.loop};
}

void TransferPlans::CheckLoops(PlanId plan) const {
  const auto leads = [&](int32_t from, int32_t to) {
    const absl::Span<const int32_t> next = listed(plan, from).successors;
    return std::binary_search(next.begin(), next.end(), to);
  };
  for (int32_t i = 0; i < listed_count(plan); ++i) {
    for (const int32_t next : listed(plan, i).successors) CHECK(next > i);
  }
  int32_t free = 0;  // of other loops, from here on
  for (const StepLoop& loop : loops(plan)) {
    const int32_t width = loop.width();
    CHECK(width > 0 && loop.begin - width >= free &&
          loop.end + width <= listed_count(plan));
    free = loop.end;
    std::vector<int32_t> known(static_cast<size_t>(width), 0);
    for (int32_t i = loop.begin - width; i < loop.end; ++i) {
      for (const int32_t next : listed(plan, i).successors) {
        if (next < loop.begin || next >= loop.end) continue;
        if (i < loop.begin) {
          CHECK(leads(i + width, next + width)) << "only into the loop";
        }
        ++known[static_cast<size_t>(next - loop.begin)];
      }
    }
    for (int32_t i = loop.begin; i < loop.end; ++i) {
      const Step step = listed(plan, i);
      CHECK_EQ(known[static_cast<size_t>(i - loop.begin)], step.predecessors)
          << "from elsewhere into the loop";
      CHECK(step.predecessors > 0) << "waits for nothing";
      CHECK(step.work == 0 || leads(i, i + width)) << "overtakes itself";
      for (const int32_t next : step.successors) {
        CHECK(next < loop.end + width) << "out of the loop";
        CHECK(next < loop.end || leads(i - width, next - width))
            << "only out of the loop";
      }
    }
  }
}

void TransferPlans::CheckAcyclic(PlanId plan) const {
  const int32_t count = listed_count(plan);
  std::vector<int32_t> missing(static_cast<size_t>(count));
  std::vector<int32_t> ready;
  for (int32_t place = 0; place < count; ++place) {
    missing[static_cast<size_t>(place)] = listed(plan, place).predecessors;
    if (listed(plan, place).predecessors == 0) ready.push_back(place);
  }
  int32_t done = 0;
  while (!ready.empty()) {
    const int32_t place = ready.back();
    ready.pop_back();
    ++done;
    for (const int32_t after : listed(plan, place).successors) {
      if (--missing[static_cast<size_t>(after)] == 0) ready.push_back(after);
    }
  }
  CHECK_EQ(done, count) << "the steps of a transfer plan form a cycle";
}

std::vector<ResourceUse> TransferPlans::TotalLoad(PlanId plan) const {
  std::vector<ResourceUse> loads;
  for (int32_t place = 0; place < listed_count(plan); ++place) {
    const Step s = listed(plan, place);
    const double work = s.work * times(plan, s);
    for (const ResourceUse& use : s.uses) {
      loads.push_back({use.resource, use.weight * work});
    }
  }
  return Canonical(std::move(loads));
}

}  // namespace orrery
