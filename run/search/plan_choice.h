#pragma once
// PlanChoice: what a search decides about a training plan, and how one would
// type it.
//
//   const pb::Training plan = WithChoice(said.training(), choice);
//   SettingsOf(said, plan);   // {"training.parallel.tensor=4", ...}
//
// Whoever types these settings gets this plan, field by field: defaults are
// filled in after them, as they would be for any scenario.
#include <absl/types/span.h>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "proto/scenario.pb.h"

namespace orrery {

// What the kernels of a layer depend on: plans that share it differ only in
// what surrounds them.
struct KernelChoice {
  int tensor = 1;
  int context = 1;
  int expert = 1;
  int expert_tensor = 1;
  bool sequence_parallel = false;
  int micro_batch = 1;
  auto operator<=>(const KernelChoice&) const = default;
};

enum class RecomputeChoice : uint8_t {
  kNone,
  kSelective,
  kCheapModules,  // norms and activations: cheap to compute, large to keep
  kPerOp,         // cheap operators, as torchtitan chooses them
  kFull,
  kAsSaid,  // the modules that the scenario names
};

// Which of data and pipeline varies faster over the chips.
enum class OrderChoice : uint8_t { kAsSaid, kPipelineFirst };

struct PlanChoice {
  KernelChoice kernels;
  int pipeline = 1;
  int data = 1;
  pb::Training::Schedule schedule = pb::Training::ONE_F_ONE_B;
  int virtual_stages = 1;
  pb::Training::Sharding sharding = pb::Training::ZERO_0;
  RecomputeChoice recompute = RecomputeChoice::kNone;
  pb::Training::ContextMethod context_method =
      pb::Training::CONTEXT_UNSPECIFIED;
  pb::Training::DispatchMethod dispatch = pb::Training::DISPATCH_UNSPECIFIED;
  OrderChoice order = OrderChoice::kAsSaid;
  auto operator<=>(const PlanChoice&) const = default;
};

// The plan that was said with the choice made: what it decides is set, what
// then has no meaning is cleared. Defaults are not filled in.
pb::Training WithChoice(const pb::Training& said, const PlanChoice& choice);

// PATH=VALUE of the fields that give the scenario this plan. Fields that a
// default would fill in anyway are left out. Requires: a scenario before its
// defaults are filled in.
std::vector<std::string> SettingsOf(const pb::Scenario& said,
                                    const pb::Training& plan);

// "TP 8 PP 4 x2 DP 16, micro-batch 1, INTERLEAVED_1F1B, ZERO_1".
std::string Describe(const PlanChoice& choice);

}  // namespace orrery
