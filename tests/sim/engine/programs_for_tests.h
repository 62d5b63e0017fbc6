#pragma once
// Small programs and networks for the engine's tests.
#include "base/check.h"
#include "sim/sharing/transfer_plan.h"
#include "workload/program/program_builder.h"

namespace orrery {

inline constexpr StreamId kCompute{0};
inline constexpr StreamId kTensorStream{1};
inline constexpr StreamId kPipeline{2};

inline ProgramBuilder TestBuilder() {
  return ProgramBuilder({{"compute", StreamKind::kCompute},
                         {"tensor", StreamKind::kCommunication},
                         {"pipeline", StreamKind::kCommunication}});
}

inline Program BuildOrDie(ProgramBuilder builder) {
  absl::StatusOr<Program> program = std::move(builder).Build();
  CHECK(program.ok()) << program.status().ToString();
  return *std::move(program);
}

inline Communication AllReduce(int64_t bytes) {
  return {.kind = CommunicationKind::kAllReduce, .bytes = Bytes(bytes)};
}

// Every call takes `duration`, whatever it is.
inline Transfers ClosedForm(const Program& program, Duration duration) {
  Transfers transfers;
  const PlanId plan = transfers.plans.AddChain({{.latency = duration}});
  transfers.plan_of_call.resize(program.calls().size(), plan);
  return transfers;
}

}  // namespace orrery
