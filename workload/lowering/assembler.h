#pragma once
// Assembler: from roles, which writers fill, to a placed program.
//
// There is a role per pipeline rank and class of ranks that do the same (see
// RankClasses: one, unless experts get different loads). The assembler puts
// ranks into roles and binds their slots to groups; it knows nothing of what
// the roles do.
//
//   Assembler assembler(plan.layout(), /*fold=*/true);
//   for (const RoleKey& key : assembler.roles()) {
//     RoleBuilder& role = assembler.AddRole(key);
//     ... write the role, with slots for its communication ...
//     assembler.AddRanks(key, role, slots, /*passes=*/work);
//   }
//   ASSIGN_OR_RETURN(const PlacedProgram placed,
//                    std::move(assembler).Build(traffic));
//
// Folded, the first rank of a role stands for all of its ranks: they do the
// same at the same time as long as nothing tells them apart (sim/folding
// decides that). Ranks of a role that are marked otherwise are told apart, and
// so are those who communicate with them: one stands for each such part. A
// folded group has one simulated member of each part in it and stands for all
// groups like it in its stage.
#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topology/traffic/expert_traffic.h"
#include "workload/lowering/role_slots.h"
#include "workload/plan/parallel_layout.h"
#include "workload/plan/placement.h"
#include "workload/plan/rank_classes.h"
#include "workload/plan/slow_ranks.h"
#include "workload/program/placed_program.h"
#include "workload/program/program_builder.h"

namespace orrery {

// A pipeline rank and a class of its ranks.
struct RoleKey {
  int pipeline = 0;
  int rank_class = 0;
};

class Assembler {
 public:
  // The layout must outlive the assembler. With `host` every rank has a stream
  // for its host as well (HostStream). Marks count where ranks are folded; slow
  // ranks must have some then.
  Assembler(const ParallelLayout& layout, bool fold, bool host = false,
            absl::Span<const RankMark> marks = {},
            absl::Span<const SlowRank> slow = {});
  // Roles and placement are referred to.
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  const Placement& placement() const { return placement_; }
  const RankClasses& classes() const { return classes_; }
  // Where the names and kernels of all roles are kept.
  TaskTable& table() { return builder_.table(); }

  // Every role there is, by pipeline rank and then by class.
  std::vector<RoleKey> roles() const;
  // Requires: each key once, in the order of roles().
  RoleBuilder& AddRole(const RoleKey& key);
  // Gives the role its ranks, and says what it has to do.
  void AddRanks(const RoleKey& key, const RoleBuilder& role,
                const RoleSlots& slots, const WorkSplit& passes,
                const WorkSplit& optimizer = {}, Duration host = {});

  absl::StatusOr<PlacedProgram> Build(std::optional<ExpertTraffic> traffic) &&;

 private:
  using GroupKey = std::pair<std::string, int64_t>;

  std::vector<int> StageRanks(int pipeline) const;
  std::vector<int> Chips(std::vector<int> ranks) const;
  GroupRef CollectiveGroup(const RoleSlots::GroupSlot& slot, int rank,
                           const std::vector<int>& stage);
  GroupRef ChannelGroup(const RoleSlots::ChannelSlot& slot, int rank,
                        const std::vector<int>& stage);
  template <class Make>
  GroupRef GroupFor(GroupKey key, Make make);

  const ParallelLayout& layout_;
  bool fold_;
  Placement placement_;
  RankClasses classes_;  // of roles
  RankClasses parts_;    // of ranks that are simulated as one
  std::vector<SlowRank> slow_;
  ProgramBuilder builder_;
  IdVector<RoleId, RoleWork> work_;
  absl::flat_hash_map<GroupKey, GroupRef> refs_;
  absl::flat_hash_map<GroupKey, PlacedGroup> placed_;
};

}  // namespace orrery
