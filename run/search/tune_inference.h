#pragma once
// TuneServing: the best way to serve a model on a machine.
//
// Every candidate is estimated by closed form. The best are simulated, and as
// many more as could be better if their closed forms err as far as those of the
// candidates that were simulated; that is no proof. The plan as given is one of
// the candidates. Each comes with the settings to type; whoever types them gets
// the same numbers.
#include <absl/status/statusor.h>

#include <functional>
#include <string_view>
#include <vector>

#include "proto/scenario.pb.h"
#include "proto/search.pb.h"
#include "run/expression.h"
#include "run/search/inference_space.h"
#include "run/search/objective.h"
#include "run/simulated_run.h"

namespace orrery {

struct ServingOptions {
  Objective objective = Objective::kTime;
  ServingSpaceOptions space = {};
  // Expressions of the report that must not be 0:
  // "inference.time_per_output_token_s < 0.02".
  std::vector<Expression> limits = {};
  // How many plans to report, all of them simulated.
  int best = 5;
  // At most so many plans are simulated.
  int simulate = 64;
  RunOptions run = {};
  std::function<void(std::string_view stage, double done)> progress = {};
};

// `said` is a scenario with an inference block, before defaults were filled in.
// An error if no candidate is legal: why the first is not.
absl::StatusOr<pb::Tuning> TuneServing(const pb::Scenario& said,
                                       const ServingOptions& options);

}  // namespace orrery
