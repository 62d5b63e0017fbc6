#pragma once
// A step in which nothing hides, rank by rank, where groups lie unlike.
//
// PipelineClock takes one group for all of its family. That is the step where
// groups lie alike; where they do not, which of them is waited for when depends
// on who meets whom.
#include <optional>

#include "analytic/step/price_list.h"
#include "analytic/step/rank_tape.h"
#include "analytic/step/tape_writer.h"
#include "topology/traffic/expert_traffic.h"

namespace orrery {

// Seconds of tapes; nothing where groups are alike and do not `meet` across
// pipeline ranks, or where there is too much to do rank by rank.
std::optional<double> RunRankByRank(const RankTapes& tapes,
                                    const Placement& placement, bool meet,
                                    const std::optional<ExpertTraffic>& traffic,
                                    PriceList& prices);

// Of a training step; nothing where one pipeline rank tells of all its ranks,
// or where there is too much to do rank by rank.
std::optional<double> StepRankByRank(
    const TapeQuestion& question, const std::optional<ExpertTraffic>& traffic);

}  // namespace orrery
