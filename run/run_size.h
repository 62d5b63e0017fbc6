#pragma once
// RunSize: what a run will take of this computer, known before it takes it.
//
//   ASSIGN_OR_RETURN(const RunSize size, forecast(fold));
//   RETURN_IF_ERROR(CheckRunSize(size, options.memory));
//
// A step whose micro-batches are a loop is small, however many there are. One
// that is written out task by task is linear in them, so it is measured on two
// short siblings of the plan, which are lowered in no time, and continued to
// the real one. Constants per task are measured (tests/run/run_size_test.cc
// holds them against the peak of real runs); time is that of one core of 2020
// and good for the order of magnitude.
#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "workload/plan/training_plan.h"
#include "workload/program/program.h"

namespace orrery {

struct RunSize {
  int64_t role_tasks = 0;   // of all roles: what a program stores, loops once
  int64_t rank_places = 0;  // of ranks that are not alike: see path_classes.h
  int64_t rank_tasks = 0;   // of all simulated ranks: what is run
  bool recorded = false;    // every span is kept
  bool folded_too = false;  // bounds have a folded program beside the whole one
  Bytes transfers{};        // plans, routes and what is under way, if known

  Bytes program() const;  // and what it takes to build it
  Bytes path() const;     // the longest path, for the bounds
  Bytes spans() const;    // recorded, with their index
  Bytes total() const { return program() + path() + spans() + transfers; }
  double seconds() const;  // to build and run it
};

RunSize SizeOf(const Program& program, bool recorded);
// What its ranks take once their transfers are planned, beside the plans.
Bytes BytesOfRanks(const Program& program);

// OK if it fits into the budget; otherwise the numbers, and what would help.
absl::Status CheckRunSize(const RunSize& size, Bytes budget);

// The size of a plan's run from siblings with fewer micro-batches. `lower`
// makes the program of a plan. Plans that are short anyway are not measured:
// nothing is returned for them.
absl::StatusOr<std::optional<RunSize>> ForecastSize(
    const TrainingPlan& plan, bool recorded,
    absl::FunctionRef<absl::StatusOr<RunSize>(const TrainingPlan&)> measure);

}  // namespace orrery
