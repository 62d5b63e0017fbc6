#pragma once
// PassWriter: writes the tasks of a pass step by step, and knows what each must
// wait for. Only pass_template.cc needs it.
#include <absl/types/span.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "workload/lowering/pass_template.h"

namespace orrery {

class PassWriter {
 public:
  PassWriter(OpTimer timer, const PassOptions& options, TaskTable& table)
      : timer_(timer), options_(options), table_(table) {}

  void SetPhase(WorkPhase phase) { phase_ = phase; }

  // Along the main chain, or beside it where a step says so.
  void AddSteps(absl::Span<const LayerStep> steps);
  // The input gradients of one module: as AddSteps, and remembers where the
  // weight gradients of the module may start.
  void AddInputGradients(absl::Span<const LayerStep> steps);
  // The weight gradients of one module: first their exchanges, then their ops.
  void AddWeightExchanges(absl::Span<const LayerStep> steps);
  void AddWeightOps(absl::Span<const LayerStep> steps);

  PassTemplate Finish() &&;

 private:
  using Tasks = std::vector<int32_t>;
  static constexpr int32_t kInput = -1;  // the pass' input, as a task

  Tasks NextInputs(const LayerStep& step);
  void Advance(const LayerStep& step, int32_t task);
  void AddOp(const LayerStep& step, const Tasks& after);
  void AddSplitOp(const LayerStep& step, const Exchange& exchange,
                  const Tasks& after);
  void AddExchange(const LayerStep& step);
  int32_t EmitExchange(const Exchange& exchange, const Tasks& after,
                       int64_t pieces = 1);
  int32_t EmitKernel(const Op& op, const KernelWork& timed, const Tasks& after);
  int32_t NewKernel(const Op& op, const KernelWork& timed, const Tasks& after);
  bool IsChunked(const Exchange& exchange) const;
  bool IsDone(int32_t task) const;
  bool IsWaitedFor(const PassTask& task) const;
  void Await(PassTask& task, const Tasks& after);
  int32_t Append(PassTask task, std::string name, const KernelWork& kernel);

  OpTimer timer_;
  PassOptions options_;
  TaskTable& table_;
  WorkPhase phase_ = WorkPhase::kForward;
  PassTemplate pass_;
  // Of the tasks so far; they go to the table when nothing grows any more.
  std::vector<std::string> names_;
  std::vector<KernelWork> kernels_;
  // What the next step of the main chain waits for, and what it was before the
  // last exchange.
  Tasks main_ = {kInput};
  Tasks before_exchange_ = {kInput};
  // The branch beside the main chain, and whether an exchange of the main chain
  // came after it.
  std::optional<Tasks> side_;
  bool side_is_due_ = false;
  // Blocks of a ring or pieces of a chunked exchange that are still to be met.
  std::deque<int32_t> blocks_;
  bool split_next_ = false;
  Tasks weight_exchanges_;
  Tasks gradient_;  // what the module's weight gradients wait for
  // The kernel that may still grow.
  int32_t open_kernel_ = kInput;
  // Tasks that a kernel of this pass has waited for already.
  std::vector<bool> awaited_;
  bool input_awaited_ = false;
};

}  // namespace orrery
