#pragma once
// The storm of training cases: any model on any machine under any plan
// (draw_training.h), held against these laws.
//
//   folded = whole          where ranks are folded, to the picosecond
//   looped = written out    with more micro-batches, kept once or as many:
//                           all that a run gives
//   within bounds           longest path, busiest resource <= step <= one after
//                           the other
//   critical path = step    and the breakdown sums to the step
//   bytes are conserved     every link carried what its calls put on it
//   closed form             without overlap and sharing: within 0.1 %; with a
//                           pipeline 1 %. Laws of their own: on machines that
//                           are not as in the catalogue, and where the formula
//                           of a schedule is an approximation
//   lower bound             of the closed form: no step is shorter
//   memory by formula       peak of the closed form, within 5 %
//   stepped alone           every call by itself, FLUID against STEPPED: 5 %
//   stepped step            the whole step, with contention: 15 %
//   a report adds up        report_laws.h, and what it costs: money_laws.h
//   executed = model + recomputed
//   the bill has every part once: bill_laws.h
//   comes to an end         no crash, no refusal of a legal case
#include "run/scenario.h"
#include "tests/storm/storm.h"

namespace orrery {

Storm TrainingStorm();

// One case that is already there.
void CheckTraining(const ResolvedScenario& scenario, StormSheet& sheet);

}  // namespace orrery
