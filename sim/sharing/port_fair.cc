#include "sim/sharing/port_fair.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery {

void PortFairProblem::Clear() {
  capacities.clear();
  wanted.clear();
  uses_end.clear();
  uses.clear();
}

void PortFairSolver::Prepare(const PortFairProblem& problem) {
  const size_t uses = problem.uses.size();
  activity_.resize(uses);
  before_begin_.resize(uses);
  before_end_.resize(uses);
  int32_t begin = 0;
  for (size_t a = 0; a < problem.wanted.size(); ++a) {
    const int32_t end = problem.uses_end[a];
    const auto first = problem.uses.begin() + begin;
    const auto last = problem.uses.begin() + end;
    for (int32_t u = begin; u < end; ++u) {
      const auto place = static_cast<size_t>(u);
      activity_[place] = static_cast<int32_t>(a);
      const auto [from, to] = std::equal_range(
          first, last, PortFairProblem::Use{problem.uses[place].port, 0, 0},
          [](const PortFairProblem::Use& x, const PortFairProblem::Use& y) {
            return x.resource < y.resource;
          });
      before_begin_[place] = static_cast<int32_t>(from - problem.uses.begin());
      before_end_[place] = static_cast<int32_t>(to - problem.uses.begin());
    }
    begin = end;
  }
  by_port_.resize(uses);
  std::iota(by_port_.begin(), by_port_.end(), 0);
  std::stable_sort(by_port_.begin(), by_port_.end(), [&](int32_t x, int32_t y) {
    const PortFairProblem::Use& a = problem.uses[static_cast<size_t>(x)];
    const PortFairProblem::Use& b = problem.uses[static_cast<size_t>(y)];
    return a.resource != b.resource ? a.resource < b.resource : a.port < b.port;
  });
  ports_.clear();
  for (int32_t i = 0; i < static_cast<int32_t>(uses); ++i) {
    const auto& use =
        problem.uses[static_cast<size_t>(by_port_[static_cast<size_t>(i)])];
    if (i == 0 || ports_.back().resource != use.resource ||
        problem.uses[static_cast<size_t>(
                         by_port_[static_cast<size_t>(ports_.back().begin)])]
                .port != use.port) {
      ports_.push_back({.resource = use.resource, .begin = i, .end = i});
    }
    ports_.back().end = i + 1;
  }
  arriving_.assign(uses, 0);
  passing_.resize(uses);
  // Before the first sweep everything gets through.
  for (size_t u = 0; u < uses; ++u) {
    passing_[u] = problem.wanted[static_cast<size_t>(activity_[u])];
  }
}

void PortFairSolver::Divide(double capacity, size_t begin, size_t end) {
  order_.resize(end - begin);
  std::iota(order_.begin(), order_.end(), static_cast<int32_t>(begin));
  std::sort(order_.begin(), order_.end(), [&](int32_t x, int32_t y) {
    const Port& a = ports_[static_cast<size_t>(x)];
    const Port& b = ports_[static_cast<size_t>(y)];
    return a.wanted != b.wanted ? a.wanted < b.wanted : x < y;
  });
  for (size_t i = 0; i < order_.size(); ++i) {
    Port& port = ports_[static_cast<size_t>(order_[i])];
    port.granted = std::min(port.wanted,
                            capacity / static_cast<double>(order_.size() - i));
    capacity -= port.granted;
  }
}

double PortFairSolver::LevelOf(const PortFairProblem& problem,
                               const Port& port) {
  order_.assign(by_port_.begin() + port.begin, by_port_.begin() + port.end);
  std::sort(order_.begin(), order_.end(), [&](int32_t x, int32_t y) {
    const double a = arriving_[static_cast<size_t>(x)];
    const double b = arriving_[static_cast<size_t>(y)];
    return a != b ? a < b : x < y;
  });
  double weight = 0;
  for (int32_t u : order_)
    weight += problem.uses[static_cast<size_t>(u)].weight;
  double left = port.granted;
  for (int32_t u : order_) {
    const auto use = static_cast<size_t>(u);
    if (arriving_[use] * weight >= left) return left / weight;
    left -= arriving_[use] * problem.uses[use].weight;
    weight -= problem.uses[use].weight;
  }
  return arriving_[static_cast<size_t>(order_.back())];
}

absl::Span<const double> PortFairSolver::Solve(const PortFairProblem& problem) {
  constexpr double kSettled = 1e-12;
  Prepare(problem);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    for (size_t u = 0; u < arriving_.size(); ++u) {
      double slowest = problem.wanted[static_cast<size_t>(activity_[u])];
      for (int32_t b = before_begin_[u]; b < before_end_[u]; ++b) {
        slowest = std::min(slowest, passing_[static_cast<size_t>(b)]);
      }
      arriving_[u] = slowest;
    }
    double change = 0;
    for (size_t begin = 0; begin < ports_.size();) {
      size_t end = begin;
      for (; end < ports_.size() &&
             ports_[end].resource == ports_[begin].resource;
           ++end) {
        ports_[end].wanted = 0;
        for (int32_t i = ports_[end].begin; i < ports_[end].end; ++i) {
          const auto u = static_cast<size_t>(by_port_[static_cast<size_t>(i)]);
          ports_[end].wanted += problem.uses[u].weight * arriving_[u];
        }
      }
      Divide(problem.capacities[static_cast<size_t>(ports_[begin].resource)],
             begin, end);
      for (size_t p = begin; p < end; ++p) {
        const bool held_back = ports_[p].granted < ports_[p].wanted;
        const bool starts_here =
            problem
                .uses[static_cast<size_t>(
                    by_port_[static_cast<size_t>(ports_[p].begin)])]
                .port < 0;
        const double share = ports_[p].granted / ports_[p].wanted;
        const double level =
            starts_here && held_back ? LevelOf(problem, ports_[p]) : 0;
        for (int32_t i = ports_[p].begin; i < ports_[p].end; ++i) {
          const auto u = static_cast<size_t>(by_port_[static_cast<size_t>(i)]);
          double next = arriving_[u];
          if (held_back) {
            next = starts_here ? std::min(next, level) : next * share;
          }
          change = std::max(change, std::abs(next - passing_[u]) / next);
          passing_[u] = next;
        }
      }
      begin = end;
    }
    if (change < kSettled) break;
  }
  rates_ = problem.wanted;
  for (size_t u = 0; u < passing_.size(); ++u) {
    double& rate = rates_[static_cast<size_t>(activity_[u])];
    rate = std::min(rate, passing_[u]);
  }
  return rates_;
}

}  // namespace orrery
