#pragma once
// Degrees: how many ranks share the work, along each dimension.
//
// The dense part of the model is split over tensor x context x pipeline x data
// ranks; these multiply to the number of chips. Experts use a second
// factorisation of the same ranks: inside one pipeline stage,
// expert_tensor x expert x expert_data = tensor x context x data.
#include <array>
#include <cstdint>

#include "topology/machine/field_reader.h"
#include "topology/traffic/dimension.h"
#include "workload/model/model.h"

namespace orrery {

namespace pb {
class Parallel;
}  // namespace pb

struct Degrees {
  int tensor = 1;
  int context = 1;
  int pipeline = 1;
  int data = 1;
  int expert = 1;
  int expert_tensor = 1;
  bool sequence_parallel = false;
  // Order of ranks over chips, fastest varying first.
  std::array<Dimension, 5> order = {Dimension::kTensor, Dimension::kContext,
                                    Dimension::kExpert, Dimension::kData,
                                    Dimension::kPipeline};

  int64_t ranks() const { return int64_t{tensor} * context * pipeline * data; }
  // Ranks of one pipeline stage.
  int64_t stage_ranks() const { return int64_t{tensor} * context * data; }
  // Copies of one expert.
  int64_t expert_data() const {
    return stage_ranks() / (int64_t{expert} * expert_tensor);
  }
  bool operator==(const Degrees&) const = default;
};

// Reads degrees. Violations are added for those that are missing, not positive
// or absurdly large; they come back as 1, so that further checks make sense
// (an unset data degree comes back as 0, and CheckDegrees says what it could
// be).
Degrees ReadDegrees(const pb::Parallel& proto, const FieldReader& fields);

// Adds a violation for each rule that `degrees` breaks on `chips` chips with
// `model`, in the words of `fields`. `tokens` are those of one sequence,
// `redundant_experts` copies of experts beyond one of each.
void CheckDegrees(const Degrees& degrees, const Model& model, int64_t chips,
                  int64_t tokens, const FieldReader& fields,
                  int redundant_experts = 0);

}  // namespace orrery
