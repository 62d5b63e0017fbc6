#pragma once
// RoleWriter: everything one pipeline rank does in a training step.
//
// Goes through the schedule's order and stamps out the templates of the units:
// receive, passes unit by unit, send; memory from the forward pass of a unit to
// the end of its backward pass; gradients as they become ready; the optimizer.
// Two actions that the schedule overlaps are written task by task in turn, so
// that each one's kernels run while the other communicates.
#include <absl/container/flat_hash_map.h>

#include <memory>
#include <optional>
#include <vector>

#include "workload/lowering/role_slots.h"
#include "workload/lowering/training/gradient_writer.h"
#include "workload/lowering/training/step_context.h"
#include "workload/program/program_builder.h"

namespace orrery {

class RoleWriter {
 public:
  RoleWriter(const StepContext& context, RoleBuilder& role, int rank);

  void Write();

  const RoleSlots& slots() const { return slots_; }
  // Kernels of the step with the chip to themselves, and the optimizer's.
  const WorkSplit& work() const { return work_; }
  // What the host needs to start the passes.
  Duration host_work() const { return host_work_ + gradients_.check_work(); }
  const WorkSplit& optimizer_work() const {
    return gradients_.optimizer_work();
  }

 private:
  // One action on its way into the program.
  struct Run {
    PipelineAction action;
    int pass = 0;  // its place among the rank's
    int stage = 0;
    std::vector<StageUnit> units;
    size_t unit = 0;               // the one being written
    size_t task = 0;               // of its pass, the next
    std::vector<TaskRef> inputs;   // what the pass waits for
    std::vector<TaskRef> written;  // tasks of the pass so far
    size_t total = 0;              // tasks in all
    size_t done = 0;
    std::optional<TaskRef> received = std::nullopt;  // from another stage
    bool finished() const { return unit == units.size(); }
  };

  const PassTemplate& PassOf(const Run& run, const StageUnit& unit) const;
  Run Begin(size_t place);
  // Of a task of the pass.
  Mark MarkOf(const PipelineAction& action, int pass, WorkPhase phase) const;
  void WriteNext(Run& run);
  void EndPass(Run& run);
  void EndAction(Run& run);
  void KeepResult(const Run& run, bool forward);
  // Requires: that pass was written before.
  const std::vector<TaskRef>& ResultOf(bool forward, int stage,
                                       int micro_batch) const;
  bool TakesItsGradientFromAbove(const Run& run, const StageUnit& unit) const;
  void SkipEmpty(Run& run);
  void WriteAll(Run& run);
  void WriteTogether(Run& a, Run& b);

  bool IsSecondHalf(int micro_batch) const {
    return context_.orders.IsSecondHalf(micro_batch);
  }
  // An exchange is waited for by all that follows, also in the next pass.
  bool WaitsForExchanges() const;
  // The pipeline rank that runs `stage` of the micro-batch.
  int RankOfStage(int stage, int micro_batch) const;
  int ArmOf(const PipelineAction& action) const;
  // What the pass starts with.
  std::vector<TaskRef> Receive(Run& run, bool forward);
  void Send(const Run& run, bool forward);
  RankParameters Held() const;
  // The host starts the pass of the unit that was just written.
  Duration LaunchTime(const Run& run) const;
  std::optional<TaskRef> StandStill(const Run& run);
  void StartByHost(const Run& run, TaskRef last_kernel);

  const StepContext& context_;
  RoleBuilder& role_;
  int rank_;
  RoleSlots slots_;
  GradientWriter gradients_;
  int arms_;
  WorkSplit work_;
  Duration host_work_{};
  // What a later action on this rank waits for, by pass, stage and micro-batch.
  absl::flat_hash_map<int64_t, std::vector<TaskRef>> results_;
  std::vector<int> backwards_left_;    // by piece
  std::vector<bool> has_run_forward_;  // by piece
  std::optional<TaskRef> last_kernel_;
  // Sends that the next action waits for.
  std::vector<TaskRef> sent_;
  // What the host has not waited for, since the pass had no kernel.
  std::optional<TaskRef> received_;
  // What the pass before ended with.
  std::vector<TaskRef> last_exits_;
};

}  // namespace orrery
