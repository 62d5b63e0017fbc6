#pragma once
// How far measured steps of one kind were off in the training suite.
//
// A kind of run is a chip, a framework, and whether the model has experts. The
// errors of the suite are kept as a table, validation/training_errors.csv,
// which `orrery validate training --errors FILE` writes, so that an answer can
// say how far such answers were off without running the suite again. Times of
// the sweep over several nodes, whose fabric others used too, are not in it.
//
//   TrustText("h100_sxm", "megatron_core_2024", /*experts=*/false)
//     "12 measured steps of dense models on h100_sxm with megatron_core_2024
//      were 14 % off on the mean, 14 % too fast"
#include <string>
#include <string_view>

#include "accuracy/table/accuracy_table.h"

namespace orrery {

// Of the suite's rows that are most like the run: of its chip and framework,
// else of its chip, in either case with experts or without; "no measured step
// on ..." where there is none.
std::string TrustText(std::string_view chip, std::string_view framework,
                      bool experts);

// The table for `TrustText`, from a run of the suite.
std::string TrainingErrorsCsv(const AccuracyTable& table);

}  // namespace orrery
