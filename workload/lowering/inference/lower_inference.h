#pragma once
// Lowering: steps of an inference engine as a placed program.
//
//   ASSIGN_OR_RETURN(const PlacedProgram placed,
//                    LowerInference(model, plan, {DecodePass(plan, 4096)},
//                                   timer, {}));
//
// Passes follow one another as an engine runs them; all belong to one phase, or
// to a plan without separate pools. Writes what every pipeline rank does
// (EngineWriter) and leaves ranks, groups and folding to the Assembler.
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <vector>

#include "workload/lowering/pass_template.h"
#include "workload/model/model.h"
#include "workload/plan/inference_pass.h"
#include "workload/plan/inference_plan.h"
#include "workload/plan/rank_classes.h"
#include "workload/plan/slow_ranks.h"
#include "workload/program/placed_program.h"

namespace orrery {

struct LowerInferenceOptions {
  PassOptions pass = {};
  bool fold = true;
  // Ranks that are told apart where others are folded: slow ones, for example.
  std::vector<RankMark> marks = {};
  std::vector<SlowRank> slow = {};
  // With the engine's host.
  bool hosted = true;
  // What libraries keep of the memory.
  Bytes reserved{};
};

absl::StatusOr<PlacedProgram> LowerInference(
    const Model& model, const InferencePlan& plan,
    absl::Span<const InferencePass> passes, OpTimer timer,
    const LowerInferenceOptions& options);

}  // namespace orrery
