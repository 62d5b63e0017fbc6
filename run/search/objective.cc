#include "run/search/objective.h"

#include <vector>

#include "base/format.h"
#include "catalog/nearest.h"

namespace orrery {

std::string_view Name(Objective objective) {
  switch (objective) {
    case Objective::kTime:
      return "time";
    case Objective::kTokens:
      return "tokens";
    case Objective::kCost:
      return "cost";
  }
  return "";
}

absl::StatusOr<Objective> ParseObjective(const std::string& name) {
  std::vector<std::string> known;
  for (const Objective each :
       {Objective::kTime, Objective::kTokens, Objective::kCost}) {
    if (Name(each) == name) return each;
    known.emplace_back(Name(each));
  }
  return absl::InvalidArgumentError(
      fmt::format("--objective: there is no '{}'{} (time, tokens, cost)",
                  name.substr(0, 40), DidYouMean(name, known)));
}

double ObjectiveOf(const pb::Report& report, Objective objective) {
  switch (objective) {
    case Objective::kTime:
      return report.has_inference() ? report.inference().end_to_end_s()
                                    : report.step_time_s();
    case Objective::kTokens:
      return report.tokens_per_s();
    case Objective::kCost:
      // In training this is report.cost().dollars_per_million_tokens(); an
      // output token of a request pays for its share of the prompt as well.
      return report.cost().dollars_per_chip_hour() / 3600 /
             report.tokens_per_s_per_chip() / report.cost().productive_share() *
             1e6;
  }
  return 0;
}

double RankOf(const pb::Report& report, Objective objective) {
  // On one machine a token costs what its share of the time does.
  return objective == Objective::kTime ? ObjectiveOf(report, objective)
                                       : -report.tokens_per_s();
}

}  // namespace orrery
