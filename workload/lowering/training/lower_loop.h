#pragma once
// LowerLoop: a training step whose micro-batches are a loop.
//
// Once a pipeline is full, every further micro-batch (or round of them, where a
// schedule takes them in rounds) adds the same to what a rank does, at the same
// place. So the step is lowered twice with few micro-batches, one of them with
// one more than the other; if that is what distinguishes them
// (workload/program/lengthening.h), the step with all of them has it as often
// as need be. What it takes to make and to keep the program does not depend on
// how many there are. It runs as the one that LowerTraining writes out, to the
// picosecond.
#include <absl/status/statusor.h>

#include <optional>

#include "workload/lowering/training/lower_training.h"

namespace orrery {

// Nothing if there are too few micro-batches, or if the schedule grows in
// several places (GPIPE). `beside`, if given, times ops as `timer` does, and
// may be asked at the same time: the two short steps are lowered in parallel.
absl::StatusOr<std::optional<PlacedProgram>> LowerLoop(
    const Model& model, const TrainingPlan& plan, OpTimer timer,
    const LowerOptions& options,
    const std::optional<OpTimer>& beside = std::nullopt);

// Whether lowering it takes so long that another thread is worth its while.
bool IsLongLoop(const Model& model, const TrainingPlan& plan);

// From how many micro-batches on a loop is worth while; nothing if never.
std::optional<int> FewestInLoop(const TrainingPlan& plan);

}  // namespace orrery
