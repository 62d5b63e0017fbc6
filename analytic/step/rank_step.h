#pragma once
// A step in which nothing hides, rank by rank, where passes do not tell all.
//
// PipelineClock takes one group for all of its family, and passes for whole.
// That is the step where groups lie alike; where they do not, which of them is
// waited for when depends on who meets whom. Nor does it tell how far a host is
// ahead of its chip, or how long ranks with few tokens wait for others, or all
// for a slow chip. Classes are to tell slow ranks from others.
#include <optional>

#include "analytic/step/price_list.h"
#include "analytic/step/rank_tape.h"
#include "analytic/step/tape_writer.h"
#include "topology/traffic/expert_traffic.h"
#include "workload/plan/slow_ranks.h"

namespace orrery {

// Seconds of tapes; nothing where passes tell all (`passes_tell`) and groups
// are alike, or where there is too much to do rank by rank. `placed_alike`:
// groups of a family lie alike on the machine, as far as its nodes tell; of
// very many ranks one is taken for all then.
struct TapeRun {
  const RankTapes& tapes;
  const Placement& placement;
  const RankClasses& classes;
  const std::optional<ExpertTraffic>& traffic;
  absl::Span<const SlowRank> slow = {};
  bool passes_tell = true;
  bool placed_alike = false;
};
std::optional<double> RunRankByRank(const TapeRun& run, PriceList& prices);

// Of a training step; nothing where one pipeline rank tells of all its ranks,
// or where there is too much to do rank by rank.
std::optional<double> StepRankByRank(
    const TapeQuestion& question, const std::optional<ExpertTraffic>& traffic,
    absl::Span<const SlowRank> slow, bool placed_alike);

}  // namespace orrery
