#pragma once
// Random programs that cannot deadlock, for property and determinism tests.
//
// A RandomProgram is a list of operations in one global order: kernels of a
// rank and calls of a group. Every stream follows that order and dependencies
// point back in it, so a run always ends. The description is plain data,
// independent of the builder; Assemble turns it into a program and transfers,
// and may shuffle everything whose order must not matter.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/random.h"
#include "sim/sharing/transfer_plan.h"
#include "tests/sim/engine/programs_for_tests.h"

namespace orrery {

struct RandomOperation {
  std::optional<size_t> group;  // a call of this group, or a kernel
  std::vector<size_t> ranks;
  StreamId stream{};
  KernelWork kernel{};
  Communication what{};
  size_t plan = 0;
  // Per rank in `ranks`: earlier operations of that rank that it waits for.
  std::vector<std::vector<size_t>> after{};
};

struct RandomProgram {
  size_t ranks = 0;
  std::vector<double> slowness;
  std::vector<std::vector<size_t>> groups;  // members
  std::vector<StreamId> group_streams;
  std::vector<RandomOperation> operations;
  std::vector<double> capacities;
  struct Plan {
    std::vector<TransferStep> steps;
    std::vector<StepOrder> orders;
    bool is_chain = true;
  };
  std::vector<Plan> plans;
};

struct AssembledProgram {
  Program program;
  Transfers transfers;
};

inline RandomProgram::Plan RandomPlan(Rng& rng, size_t resources) {
  RandomProgram::Plan plan;
  plan.is_chain = rng.Below(3) != 0;
  const int64_t steps = rng.Between(1, 4);
  for (int64_t i = 0; i < steps; ++i) {
    TransferStep step{.latency = Duration(rng.Between(0, 2) * 1'000'003)};
    if (rng.Below(4) != 0) {
      step.work = 1e3 * (1 + 999 * rng.Uniform());
      if (rng.Below(3) == 0) step.rate_cap = 1e9 * (1 + 50 * rng.Uniform());
      for (size_t r = 0; r < resources; ++r) {
        if (rng.Below(3) == 0) {
          step.uses.push_back({static_cast<ResourceId>(r),
                               0.25 * static_cast<double>(rng.Between(1, 8))});
        }
      }
      if (step.uses.empty()) step.uses.push_back({ResourceId(0), 1.0});
    }
    plan.steps.push_back(step);
    for (int64_t before = 0; before < i; ++before) {
      if (rng.Below(2) == 0) {
        plan.orders.push_back(
            {static_cast<int32_t>(before), static_cast<int32_t>(i)});
      }
    }
  }
  return plan;
}

inline RandomProgram MakeRandomProgram(uint64_t seed) {
  Rng rng(seed, "random program");
  RandomProgram p;
  p.ranks = static_cast<size_t>(rng.Between(1, 6));
  for (size_t i = 0; i < p.ranks; ++i) {
    p.slowness.push_back(rng.Below(2) == 0 ? 1.0 : 1 + rng.Uniform());
  }
  const int64_t groups = rng.Between(1, 5);
  for (int64_t g = 0; g < groups; ++g) {
    std::vector<size_t> members;
    for (size_t rank = 0; rank < p.ranks; ++rank) {
      if (rng.Below(2) == 0) members.push_back(rank);
    }
    if (members.empty()) members.push_back(rng.Below(p.ranks));
    p.groups.push_back(members);
    p.group_streams.push_back(rng.Below(2) == 0 ? kTensorStream : kPipeline);
  }
  const int64_t resources = rng.Between(1, 6);
  for (int64_t r = 0; r < resources; ++r) {
    p.capacities.push_back(1e9 * static_cast<double>(rng.Between(1, 40)));
  }
  const int64_t operations = rng.Between(1, 60);
  for (int64_t i = 0; i < operations; ++i) {
    RandomOperation op;
    if (rng.Below(2) == 0) {
      op.ranks = {rng.Below(p.ranks)};
      op.stream = rng.Below(4) == 0 ? kTensorStream : kCompute;
      op.kernel = {.duration = Duration(rng.Between(0, 30) * 1'000'007),
                   .demand = {0.1 * static_cast<double>(rng.Between(0, 10)),
                              0.1 * static_cast<double>(rng.Between(0, 10))}};
      op.kernel.facts.launch = op.kernel.duration * rng.Between(0, 3) / 4;
    } else {
      op.group = rng.Below(p.groups.size());
      op.ranks = p.groups[*op.group];
      op.stream = p.group_streams[*op.group];
      // The place in the list tells calls of a group apart.
      op.what = {.bytes = Bytes(1000 + i),
                 .share = {0.1 * static_cast<double>(rng.Between(0, 4)),
                           0.1 * static_cast<double>(rng.Between(0, 4))}};
      op.plan = p.plans.size();
      p.plans.push_back(RandomPlan(rng, p.capacities.size()));
    }
    for (const size_t rank : op.ranks) {
      std::vector<size_t>& after = op.after.emplace_back();
      for (size_t before = 0; before < p.operations.size(); ++before) {
        const std::vector<size_t>& others = p.operations[before].ranks;
        if (std::find(others.begin(), others.end(), rank) != others.end() &&
            rng.Below(6) == 0) {
          after.push_back(before);
        }
      }
    }
    p.operations.push_back(std::move(op));
  }
  return p;
}

// With a `shuffle`, everything is added in another order: roles, ranks, groups,
// bindings, dependencies, plans, uses, and tasks of different streams.
inline AssembledProgram Assemble(const RandomProgram& p,
                                 Rng* shuffle = nullptr) {
  const auto order_of = [&](size_t count) {
    std::vector<size_t> order(count);
    for (size_t i = 0; i < count; ++i) order[i] = i;
    if (shuffle != nullptr) shuffle->Shuffle(order);
    return order;
  };
  ProgramBuilder builder = TestBuilder();
  std::vector<GroupRef> groups(p.groups.size());
  for (const size_t g : order_of(p.groups.size())) {
    groups[g] = builder.AddGroup("group", static_cast<int64_t>(g));
  }
  for (const size_t rank : order_of(p.ranks)) {
    RoleBuilder& role = builder.AddRole(fmt::format("role {}", rank));
    std::vector<std::optional<SlotRef>> slots(p.groups.size());
    for (const size_t g : order_of(p.groups.size())) {
      const std::vector<size_t>& members = p.groups[g];
      if (std::find(members.begin(), members.end(), rank) == members.end()) {
        continue;
      }
      slots[g] = role.AddSlot(fmt::format("slot {}", g), p.group_streams[g]);
    }
    // Streams in any order, each in its own.
    std::vector<TaskRef> refs(p.operations.size());
    for (const size_t stream : order_of(3)) {
      for (size_t i = 0; i < p.operations.size(); ++i) {
        const RandomOperation& op = p.operations[i];
        if (op.stream != static_cast<StreamId>(stream) ||
            std::find(op.ranks.begin(), op.ranks.end(), rank) ==
                op.ranks.end()) {
          continue;
        }
        const std::string name = fmt::format("op {}", i);
        refs[i] = op.group.has_value()
                      ? role.AddCollective(*slots[*op.group], name, op.what)
                      : role.AddKernel(op.stream, name, op.kernel);
      }
    }
    for (const size_t i : order_of(p.operations.size())) {
      const RandomOperation& op = p.operations[i];
      for (size_t k = 0; k < op.ranks.size(); ++k) {
        if (op.ranks[k] != rank) continue;
        for (const size_t a : order_of(op.after[k].size())) {
          role.AddDependency(refs[op.after[k][a]], refs[i]);
        }
      }
    }
    const RankRef ref = builder.AddRank(static_cast<int32_t>(rank), role,
                                        /*multiplicity=*/1, p.slowness[rank]);
    for (const size_t g : order_of(p.groups.size())) {
      if (slots[g].has_value()) builder.Bind(ref, *slots[g], groups[g]);
    }
  }
  AssembledProgram result{BuildOrDie(std::move(builder)), {}};
  for (const double capacity : p.capacities) {
    result.transfers.capacities.Add(capacity);
  }
  std::vector<PlanId> plans(p.plans.size());
  for (const size_t i : order_of(p.plans.size())) {
    const RandomProgram::Plan& plan = p.plans[i];
    std::vector<TransferStep> steps = plan.steps;
    for (TransferStep& step : steps) {
      if (shuffle != nullptr) shuffle->Shuffle(step.uses);
    }
    plans[i] = plan.is_chain
                   ? result.transfers.plans.AddChain(steps)
                   : result.transfers.plans.AddGraph(steps, plan.orders);
  }
  for (const Call& call : result.program.calls()) {
    const auto i = static_cast<size_t>(call.what.bytes.value() - 1000);
    result.transfers.plan_of_call.Add(plans[p.operations[i].plan]);
  }
  return result;
}

}  // namespace orrery
