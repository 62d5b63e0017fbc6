#pragma once
// A small training step for timeline tests: two pipeline stages of two ranks
// each, three micro-batches, two layers a stage, a tensor all-reduce a layer,
// an optimizer at the end. Times are uneven on purpose.
#include "base/format.h"
#include "sim/sharing/transfer_plan.h"
#include "tests/sim/engine/programs_for_tests.h"
#include "workload/model/op.h"
#include "workload/program/program_builder.h"

namespace orrery {

inline constexpr int kStages = 2;
inline constexpr int kTensorRanks = 2;
inline constexpr int kMicroBatches = 3;
inline constexpr int kLayers = 2;  // of a stage
inline constexpr StreamId kBackward{3};

// What the kernels compute; "norm" and "adam" do not say.
inline constexpr OpId kMlpUp{0};
inline IdVector<OpId, Op> PipelineOps() {
  IdVector<OpId, Op> ops;
  ops.Add({OpName::kMlpUp, Pass::kForward,
           Gemm{.m = 1000, .n = 500, .k = 1000, .batch = 2}});
  return ops;
}

// One pass of one micro-batch through a stage; returns its last task.
inline TaskRef AddPass(RoleBuilder& role, SlotRef tensor, int stage,
                       int micro_batch, bool forward, TaskRef after) {
  using When = MemoryEffect::When;
  for (int i = 0; i < kLayers; ++i) {
    const int layer = stage * kLayers + (forward ? i : kLayers - 1 - i);
    const Mark mark = {
        .phase = forward ? WorkPhase::kForward : WorkPhase::kBackward,
        .layer = layer,
        .micro_batch = micro_batch};
    const TaskRef gemm = role.AddKernel(
        kCompute, "mlp_up",
        {.duration = Duration((forward ? 4'000'123 : 8'000'321) + layer * 777),
         .facts = {.launch = Duration(1'000'000),
                   .flops = Flops(1e9),
                   .memory_traffic = Bytes(1'000'000),
                   .op = kMlpUp}});
    const TaskRef norm =
        role.AddKernel(kCompute, "norm",
                       {.duration = Duration(900'000),
                        .facts = {.memory_bound = Duration(800'000),
                                  .memory_traffic = Bytes(2'000'000)}});
    const TaskRef sum =
        role.AddCollective(tensor, "tensor_sum", AllReduce(1'000'000));
    role.AddDependency(after, gemm);
    role.AddDependency(norm, sum);
    for (const TaskRef task : {gemm, norm, sum}) role.SetMark(task, mark);
    const Bytes activation(1'000'000 + layer);
    if (forward) {
      role.Allocate(gemm, When::kStart, MemoryKind::kActivations, activation);
    } else {
      role.Release(norm, When::kEnd, MemoryKind::kActivations, activation);
    }
    after = sum;
  }
  return after;
}

inline ProgramBuilder PipelineProgram() {
  ProgramBuilder builder({{"compute", StreamKind::kCompute},
                          {"tensor", StreamKind::kCommunication},
                          {"pipeline forward", StreamKind::kCommunication},
                          {"pipeline backward", StreamKind::kCommunication}});
  std::vector<GroupRef> forward, backward;
  for (int i = 0; i < kTensorRanks; ++i) {
    forward.push_back(builder.AddGroup("pipeline forward", i));
    backward.push_back(builder.AddGroup("pipeline backward", i));
  }
  const Communication message = {.bytes = Bytes(500'000)};
  for (int stage = 0; stage < kStages; ++stage) {
    RoleBuilder& role = builder.AddRole(fmt::format("stage {}", stage));
    const SlotRef tensor = role.AddSlot("tensor", kTensorStream);
    const SlotRef right = role.AddSlot("forward", kPipeline);
    const SlotRef left = role.AddSlot("backward", kBackward);
    role.SetInitialMemory(MemoryKind::kWeights, Bytes(10'000'000));
    const TaskRef start = role.AddMarker(kCompute, "start");
    for (int mb = 0; mb < kMicroBatches; ++mb) {
      const TaskRef in =
          stage == 0 ? start : role.AddReceive(right, "receive", message);
      const TaskRef out = AddPass(role, tensor, stage, mb, true, in);
      if (stage == 0) {
        role.AddDependency(out, role.AddSend(right, "send", message));
      }
    }
    TaskRef last{};
    for (int mb = 0; mb < kMicroBatches; ++mb) {
      const TaskRef in =
          stage == 1 ? start : role.AddReceive(left, "receive", message);
      last = AddPass(role, tensor, stage, mb, false, in);
      if (stage == 1) {
        role.AddDependency(last, role.AddSend(left, "send", message));
      }
    }
    const TaskRef update =
        role.AddKernel(kCompute, "adam", {.duration = Duration(3'000'000)});
    role.SetMark(update, {.phase = WorkPhase::kOptimizer});
    role.AddDependency(last, update);
    const GroupRef island = builder.AddGroup("tensor", stage);
    for (int i = 0; i < kTensorRanks; ++i) {
      // The second rank of each stage is slower: its partner waits for it.
      const RankRef rank = builder.AddRank(stage * kTensorRanks + i, role,
                                           /*multiplicity=*/1, 1 + 0.25 * i);
      builder.Bind(rank, tensor, island);
      builder.Bind(rank, right, forward[static_cast<size_t>(i)]);
      builder.Bind(rank, left, backward[static_cast<size_t>(i)]);
    }
  }
  return builder;
}

// Tensor groups have a link of 1 TB/s each; all channels share one of 100 GB/s.
inline Transfers PipelineNetwork(const Program& program) {
  Transfers transfers;
  const ResourceId island[] = {transfers.capacities.Add(1e12),
                               transfers.capacities.Add(1e12)};
  const ResourceId fabric = transfers.capacities.Add(1e11);
  for (const Call& call : program.calls()) {
    const bool is_sum = call.what.kind == CommunicationKind::kAllReduce;
    const ResourceId link =
        is_sum ? island[program.groups()[call.group].index] : fabric;
    transfers.plan_of_call.Add(transfers.plans.AddChain(
        {{.latency = Duration(2'000'000),
          .work = static_cast<double>(call.what.bytes.value()),
          .uses = {{link, 1.0}}}}));
  }
  return transfers;
}

}  // namespace orrery
