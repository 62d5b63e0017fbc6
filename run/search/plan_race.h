#pragma once
// PlanRace: simulates plans in the order of their promise until no other can
// win.
//
//   PlanRace race(given, scenario, network, options);
//   race.Enter(found);                      // plans with closed form and bound
//   while (race.RunRound(kOpen)) { ... }    // a few at a time
//   race.limit_s()                          // the best so far
//
// A plan's promise is its closed form, times what simulation made of the closed
// forms of its family, and no less than its bound. What is simulated, and in
// which order, depends on the plans alone.
#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/types/span.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "proto/scenario.pb.h"
#include "run/scenario.h"
#include "run/search/plan_choice.h"
#include "run/search/plan_search.h"
#include "run/simulated_run.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"

namespace orrery {

// The scenario with another training plan, as if it had been typed.
absl::StatusOr<ResolvedScenario> WithPlan(const pb::Scenario& given,
                                          pb::Training plan);

struct RaceOptions {
  std::optional<int> simulate = std::nullopt;  // at most
  int64_t effort = 0;                          // events; where that is unset
  RunOptions run = {};
};

// A plan that was simulated and fits.
struct Finisher {
  FoundPlan found;
  double step_s = 0;
  // Ranks that are nearly alike were simulated as one.
  bool nearly = false;
};

class PlanRace {
 public:
  // All but the options must outlive the race.
  PlanRace(const pb::Scenario& given, const ResolvedScenario& scenario,
           const Network& network, const RaceOptions& options);

  void Enter(absl::Span<const FoundPlan> plans);
  // No plan that takes as long or longer is of interest.
  void LowerLimit(double step_s) { limit_s_ = std::min(limit_s_, step_s); }
  double limit_s() const { return limit_s_; }

  // Of the plans that were not simulated, those whose promise, or whose bound,
  // is below the limit.
  enum class Which : uint8_t { kPromising, kOpen };
  // Simulates a few of them, the most promising. False if there are none, or
  // the effort is used up.
  bool RunRound(Which which);

  // Fastest first.
  std::vector<Finisher> Finishers() const;
  // The least bound of the plans that were not simulated; the limit if none of
  // them could beat it.
  double open_bound_s() const;
  int64_t simulated() const { return simulated_; }
  // Plans that did not fit into memory when they were simulated.
  int64_t too_large() const { return too_large_; }
  // The share of the effort that is used up.
  double progress() const;
  // The place of a plan among all that entered, by closed form, from 1.
  int RankOf(const FoundPlan& plan) const;

 private:
  using Family = std::tuple<int, int, int, int, pb::Training::Schedule,
                            pb::Training::Sharding>;
  struct Runner {
    FoundPlan found;
    bool open = true;  // not simulated yet
  };
  struct Outcome {
    std::optional<Finisher> finisher;  // none: refused, or it does not fit
    bool too_large = false;
    int64_t events = 0;
  };

  static Family FamilyOf(const PlanChoice& choice);
  double PromiseOf(const Runner& runner) const;
  std::vector<size_t> Pick(Which which) const;
  Outcome Simulate(const FoundPlan& plan);
  // What is known of folding plans that differ in what they compute again only:
  // their groups make the same calls, some of them more often.
  std::optional<FoldingVerdict> VerdictOf(PlanChoice choice);
  void Remember(PlanChoice choice, const FoldingVerdict& verdict);
  // Planners keep the routes of calls from plan to plan; one for each thread. A
  // planner knows the traffic between experts of one plan only, so plans of a
  // mixture of experts get one of their own.
  std::unique_ptr<CallPlanner> TakePlanner();
  void ReturnPlanner(std::unique_ptr<CallPlanner> planner);
  bool HasEffort() const;

  const pb::Scenario& given_;
  const ResolvedScenario& scenario_;
  const Network& network_;
  RaceOptions options_;
  double limit_s_ = std::numeric_limits<double>::infinity();
  std::vector<Runner> runners_;
  std::vector<Finisher> finishers_;
  // The least that simulation made of a closed form, by family and of all.
  absl::flat_hash_map<Family, double> ratios_;
  double least_ratio_ = 1;
  int64_t simulated_ = 0;
  int64_t too_large_ = 0;
  int64_t events_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CallPlanner>> idle_;
  std::map<PlanChoice, FoldingVerdict> verdicts_;
};

}  // namespace orrery
