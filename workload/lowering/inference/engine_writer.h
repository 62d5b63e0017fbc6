#pragma once
// EngineWriter: everything one pipeline rank does in the steps of an inference
// engine.
//
// For every pass: the host prepares it and starts its kernels, one by one or as
// a graph; the parts of the batch go through the rank's units, received from
// the stage before and sent to the one after; the host takes the tokens out.
// The last stage sends them to the first, which waits for them before it
// decodes on.
// Two halves that take turns are written in turn, from one exchange to the
// next, so that one computes while the other communicates.
#include <cstdint>
#include <optional>
#include <vector>

#include "workload/lowering/inference/pass_units.h"
#include "workload/lowering/role_slots.h"
#include "workload/plan/inference_pass.h"
#include "workload/plan/inference_plan.h"
#include "workload/program/program_builder.h"

namespace orrery {

class EngineWriter {
 public:
  // Without `hosted` nothing waits for a host, and nothing is written for one.
  EngineWriter(const InferencePlan& plan, const ParallelLayout& layout,
               const PassOptions& options, RoleBuilder& role, int rank,
               bool hosted);

  // `grows` is what the cache gains in it; `decode_follows` says whether the
  // next pass needs its tokens. For people, the passes of either kind are
  // counted from 0.
  void Write(const InferencePass& pass, const PassUnits& units, Bytes grows,
             bool decode_follows);

  const RoleSlots& slots() const { return slots_; }
  const WorkSplit& work() const { return work_; }

 private:
  // One part of the batch on its way into the program.
  struct Run {
    int part = 0;
    size_t unit = 0;
    size_t task = 0;
    std::vector<TaskRef> inputs;
    std::vector<TaskRef> written;
  };

  Run Begin(const PassUnits& units, int part);
  // The next task; whether it was a kernel.
  bool WriteNext(const PassUnits& units, Run& run);
  void WriteTogether(const PassUnits& units, Run& a, Run& b);
  void End(const PassUnits& units, const Run& run);
  void SkipEmpty(const PassUnits& units, Run& run);
  // The new tokens of a part: the last stage sends them to the first.
  void SendTokens(const InferencePass& pass, const Run& run);
  void ReceiveTokens(const InferencePass& pass);
  const std::vector<PassUnits::Unit>& UnitsOf(const PassUnits& units) const {
    return units.of_stage[static_cast<size_t>(rank_)];
  }
  // The host's part in starting `task`.
  TaskRef HostTask(const char* name, Duration time);
  void Launch(TaskRef task, std::optional<ExchangeGroup> collective);
  Mark MarkOf(const Run& run, int layer) const;

  const InferencePlan& plan_;
  const ParallelLayout& layout_;
  PassOptions options_;
  RoleBuilder& role_;
  int rank_;
  bool hosted_;
  StreamId host_stream_;
  RoleSlots slots_;
  WorkSplit work_;
  // Of the pass being written.
  EngineLaunch launch_ = EngineLaunch::kEach;
  WorkPhase phase_ = WorkPhase::kDecode;
  int step_ = 0;
  int parts_ = 0;
  int passes_ = 0;  // of all parts before it
  int prefill_steps_ = 0;
  int decode_steps_ = 0;
  std::optional<TaskRef> graph_;
  std::optional<TaskRef> first_;
  std::optional<TaskRef> last_;
  // What the next pass waits for.
  std::vector<TaskRef> before_;
  // The tokens that the first stage waits for, by part of the pass before.
  std::vector<TaskRef> tokens_;
};

}  // namespace orrery
