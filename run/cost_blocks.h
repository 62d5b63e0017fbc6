#pragma once
// What the `cost` and `energy` blocks of all reports have in common: terms, the
// bill, a chip-hour and its parts, the energy of a step, and the numbers of the
// price list that stand between these.
//
//   Intervals over draws of HourValues(hour) --> FillChipHour(values, cost)
#include <absl/types/span.h>

#include <string>
#include <vector>

#include "cost/ownership/machine_cost.h"
#include "proto/report.pb.h"
#include "proto/scenario.pb.h"

namespace orrery {

inline constexpr double kJoulesPerKwh = 3.6e6;

void SetInterval(const Interval& from, pb::Report::Interval* to);

// Says which prices of the scenario price nothing.
void WarnOfUnusedPrices(const MachineCost& machine, pb::Report& report);

// Owned or rented, at which prices, of which dates.
void FillTerms(const MachineCost& machine, const pb::CostOptions& options,
               pb::Report::CostResult& cost);
// What is bought; `of` stands before every name. Requires: FillTerms.
void FillItems(const MachineCost& machine, const std::string& of,
               pb::Report::CostResult& cost);
// The rates that act: those of an owned machine, those of energy where the
// report tells it, and the share of the paid time that makes tokens. Requires:
// FillTerms.
void FillFactors(const MachineCost& machine, bool serves, bool has_energy,
                 pb::Report::CostResult& cost);

// A chip-hour and its parts, of one draw; the intervals of these values in the
// same order are what FillChipHour takes.
inline constexpr size_t kHourValues = 5;
std::vector<double> HourValues(const ChipHourCost& hour);
void FillChipHour(absl::Span<const Interval> values,
                  pb::Report::CostResult& cost);
// What of the machine's power limit, and of what it draws, is one chip's. The
// rent of a chip has both in it.
void FillHourPower(const MachineCost& machine, Watts drawn,
                   pb::Report::CostResult& cost);
// The same of a chip that prefills.
void FillPrefillChipHour(absl::Span<const Interval> values,
                         const MachineCost& machine, Watts drawn,
                         pb::Report::CostResult& cost);

// A step of so many chips, at nominal rates.
struct StepOfChips {
  double chips = 0;
  double seconds = 0;
  // 0: not known.
  double tokens = 0;
  // Of the paid time, what makes these tokens.
  double productive_share = 1;
};
void FillStepEnergy(const MachineCost& machine, const StepEnergy& energy,
                    const StepOfChips& step, pb::Report::EnergyResult& to);

}  // namespace orrery
