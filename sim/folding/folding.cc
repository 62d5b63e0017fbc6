#include "sim/folding/folding.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "sim/folding/network_symmetry.h"
#include "sim/folding/symmetry.h"
#include "workload/plan/placement.h"

namespace orrery {
namespace {

// Leaves the replicas that share a node with their group.
void KeepNeighbours(int chips_per_node, PlacedGroup& group,
                    std::vector<bool>& own) {
  const auto at = [&](int chip) {
    return static_cast<size_t>(chip / chips_per_node);
  };
  for (const int chip : group.members) own[at(chip)] = true;
  std::erase_if(group.replicas, [&](const std::vector<int>& members) {
    return std::none_of(members.begin(), members.end(),
                        [&](int chip) { return own[at(chip)]; });
  });
  for (const int chip : group.members) own[at(chip)] = false;
}

}  // namespace

std::optional<std::string> WhyNotFold(const ParallelLayout& layout,
                                      const System& system) {
  std::optional<std::string> why =
      Asymmetry(layout, Placement(layout), system.chips_per_node());
  return why ? why : NetworkAsymmetry(system);
}

absl::StatusOr<FoldingVerdict> TrimReplicas(PlacedProgram& placed,
                                            const System& system,
                                            CallPlanner& planner) {
  CHECK(placed.folded);
  for (const Call& call : placed.program.calls()) {
    placed.stands_for.Add(
        static_cast<double>(placed.groups[call.group].replicas.size()));
  }
  ASSIGN_OR_RETURN(FoldingVerdict verdict,
                   CompareReplicas(placed, system, planner));
  if (!verdict.difference) placed.stands_for = verdict.stands_for;
  TrimReplicas(placed, system, verdict);
  return verdict;
}

void TrimReplicas(PlacedProgram& placed, const System& system,
                  const FoldingVerdict& verdict) {
  if (verdict.difference) return;
  std::vector<bool> own(static_cast<size_t>(system.nodes()));
  for (PlacedGroup& group : placed.groups) {
    switch (verdict.kept) {
      case KeptReplicas::kNone:
        group.replicas = {group.members};
        break;
      case KeptReplicas::kNeighbours:
        KeepNeighbours(system.chips_per_node(), group, own);
        break;
      case KeptReplicas::kAll:
        break;
    }
  }
}

bool RanApart(absl::Span<const ApartCall> calls, const Transfers& transfers,
              const TransferLog& log) {
  absl::flat_hash_set<std::pair<PlanId, PlanId>> apart;
  for (const ApartCall& one : calls) {
    const PlanId plan = transfers.plan_of_call[one.call];
    apart.insert({plan, plan});
    for (const CallId other : one.from) {
      apart.insert({plan, transfers.plan_of_call[other]});
      apart.insert({transfers.plan_of_call[other], plan});
    }
  }
  std::vector<TransferLog::Span> moves;  // in the order in which they begin
  for (const TransferLog::Span& span : log.spans) {
    if (span.moved < span.ended) moves.push_back(span);
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const TransferLog::Span& a, const TransferLog::Span& b) {
                     return a.moved < b.moved;
                   });
  std::vector<TransferLog::Span> running;
  for (const TransferLog::Span& next : moves) {
    std::erase_if(running, [&](const TransferLog::Span& span) {
      return span.ended <= next.moved;
    });
    for (const TransferLog::Span& span : running) {
      if (apart.contains({span.plan, next.plan})) return false;
    }
    running.push_back(next);
  }
  return true;
}

}  // namespace orrery
