#pragma once
// Money and energy as tables for people.
#include <string>

#include "proto/cost.pb.h"
#include "proto/report.pb.h"

namespace orrery {

// The whole bill: what is bought, what an hour is made of, what comes out.
std::string CostText(const pb::Report& report);
std::string PackageText(const pb::PackageResult& result);

// "1.41 USD", "23.5 kUSD", "40.7 MUSD".
std::string DollarsText(double dollars);
// One line for other reports: "3.21 USD/chip-hour ..."; empty without a cost.
std::string CostLine(const pb::Report& report);
std::string EnergyLine(const pb::Report& report);
// "goodput 0.9", "utilisation 0.6": what dollars and joules of tokens and runs
// are divided by. Requires: a cost.
std::string ProductiveShareText(const pb::Report::CostResult& cost);
// That and the PUE, where they come from, and how to change one.
std::string FactorsLine(const pb::Report& report);

}  // namespace orrery
