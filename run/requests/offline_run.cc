#include "run/requests/offline_run.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "run/requests/batch_steps.h"

namespace orrery {
namespace {

// Steps of one replica by the sequences that decode in them.
class StepCosts {
 public:
  static absl::StatusOr<StepCosts> Make(const ResolvedScenario& scenario,
                                        int64_t batch) {
    const InferencePlan& plan = *scenario.inference();
    const int64_t data = plan.prefill().degrees.data;
    StepCosts costs;
    for (const int64_t part : {0, 1, 2, 4, 8}) {
      const int64_t decoding = batch * part / 8;
      if (!costs.points_.empty() && costs.points_.back().decoding == decoding) {
        continue;
      }
      Point point{.decoding = decoding};
      // The weights are read for one sequence as for none.
      ASSIGN_OR_RETURN(
          const BatchStep step,
          DecodeStep(scenario, std::max<int64_t>(1, decoding) * data));
      point.decode_s = step.seconds;
      const int64_t beside = plan.engine().mixed_steps ? decoding : 0;
      const int64_t most = PromptsBeside(plan, beside, batch);
      ASSIGN_OR_RETURN(const BatchStep one,
                       PromptStep(scenario, data, beside * data));
      point.one_s = one.seconds;
      costs.passes_ = one.passes;
      if (most > 1) {
        ASSIGN_OR_RETURN(const BatchStep full,
                         PromptStep(scenario, most * data, beside * data));
        point.more_s =
            (full.seconds - one.seconds) / static_cast<double>(most - 1);
      }
      costs.points_.push_back(point);
    }
    return costs;
  }

  // A step of decoding alone, and with so many prompts.
  double Decode(int64_t decoding) const {
    return Between(decoding, &Point::decode_s);
  }
  double Prompts(int64_t prompts, int64_t decoding) const {
    return Between(decoding, &Point::one_s) +
           static_cast<double>(prompts - 1) * Between(decoding, &Point::more_s);
  }
  // That a prompt takes.
  int64_t passes() const { return passes_; }

 private:
  struct Point {
    int64_t decoding = 0;
    double decode_s = 0;
    double one_s = 0;   // with one prompt
    double more_s = 0;  // for each further one
  };

  double Between(int64_t decoding, double Point::*value) const {
    const auto above = std::lower_bound(
        points_.begin(), points_.end(), decoding,
        [](const Point& point, int64_t d) { return point.decoding < d; });
    CHECK(above != points_.end()) << "more sequences than the batch holds";
    if (above->decoding == decoding) return (*above).*value;
    const Point& below = *(above - 1);
    const double share = static_cast<double>(decoding - below.decoding) /
                         static_cast<double>(above->decoding - below.decoding);
    return below.*value + share * ((*above).*value - below.*value);
  }

  std::vector<Point> points_;
  int64_t passes_ = 1;
};

}  // namespace

absl::StatusOr<OfflineRun> RunOffline(const ResolvedScenario& scenario,
                                      int64_t requests) {
  CHECK(requests > 0) << "a run needs a request";
  const InferencePlan& plan = *scenario.inference();
  const EngineProfile& engine = plan.engine();
  OfflineRun run;
  ASSIGN_OR_RETURN(const int64_t fits, FullBatch(scenario));
  const int64_t data = plan.prefill().degrees.data;
  const int64_t share = (requests + data - 1) / data;
  const int64_t batch = std::min(fits / data, share);
  run.batch = batch * data;
  ASSIGN_OR_RETURN(const StepCosts costs, StepCosts::Make(scenario, batch));

  // Requests that came in together, and the step after which they end. The
  // first token comes with the prompt.
  struct Wave {
    int64_t requests = 0;
    int64_t ends = 0;
  };
  std::deque<Wave> waves;
  const int64_t later = plan.output() - (engine.first_token_by_decode ? 0 : 1);
  int64_t waiting = share;
  int64_t decoding = 0;
  int64_t step = 0;
  while (waiting > 0 || decoding > 0) {
    const int64_t taken = std::min(
        {waiting, batch - decoding,
         PromptsBeside(plan, engine.mixed_steps ? decoding : 0, batch)});
    int64_t steps = 1;
    if (taken > 0) {
      run.seconds += costs.Prompts(taken, decoding);
      steps = engine.mixed_steps ? costs.passes() : 0;
      waiting -= taken;
    } else {
      // Nothing changes before the oldest end.
      steps = waves.front().ends - step;
      run.seconds += static_cast<double>(steps) * costs.Decode(decoding);
    }
    step += steps;
    while (!waves.empty() && waves.front().ends <= step) {
      decoding -= waves.front().requests;
      waves.pop_front();
    }
    if (taken > 0 && later > 0) {
      waves.push_back({taken, step + later});
      decoding += taken;
    }
  }
  run.output_tokens_per_s =
      static_cast<double>(requests) * plan.output() / run.seconds;
  return run;
}

}  // namespace orrery
