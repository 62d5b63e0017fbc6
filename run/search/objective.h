#pragma once
// What a search for plans looks for.
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/report.pb.h"

namespace orrery {

enum class Objective : uint8_t {
  kTime,    // of a step, or of a batch of requests from end to end
  kTokens,  // per second: trained, or generated
  // Dollars per million of these tokens: all chips for all of the time, so that
  // prompts are paid for by what is generated from them.
  kCost,
};
// "time", "tokens", "cost".
std::string_view Name(Objective objective);
absl::StatusOr<Objective> ParseObjective(const std::string& name);

// The quantity itself, in its own unit.
double ObjectiveOf(const pb::Report& report, Objective objective);
// The same, turned so that less is better.
double RankOf(const pb::Report& report, Objective objective);

}  // namespace orrery
