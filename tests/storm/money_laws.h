#pragma once
// Laws of the `cost` and `energy` blocks of a report: every number in them
// follows from the others and from the factors that are printed beside them,
// by the arithmetic of docs/cost.md, which is written out here once more.
//
//   bill             count x price = total, and the totals sum to the capital
//   chip-hour        capital recovery, colocation by the power limit, energy by
//                    what is drawn; or the rent
//   step, run        chip-hour x chips x time; steps x step / productive share
//   tokens           chip-hour x chips / (tokens per second x productive share)
//   energy           the same of joules, with the PUE; carbon by the grid
//   intervals        low <= nominal <= high
//   draw             hosts, switches and optics are in what a machine draws
#include "proto/report.pb.h"
#include "tests/storm/storm.h"

namespace orrery {

// Holds all of them, where the report has a cost.
void HoldMoney(const pb::Report& report, StormSheet& sheet);

}  // namespace orrery
