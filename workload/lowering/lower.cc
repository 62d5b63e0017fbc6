#include "workload/lowering/lower.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/format.h"
#include "base/status.h"
#include "workload/lowering/role_writer.h"
#include "workload/lowering/step_context.h"
#include "workload/lowering/step_templates.h"
#include "workload/plan/rank_classes.h"

namespace orrery {
namespace {

// Channels of all boundaries and directions are one family each way; the index
// tells them apart.
std::string ChannelFamily(bool forward) {
  return forward ? "pipeline forward" : "pipeline backward";
}

class StepLowering {
 public:
  StepLowering(const Model& model, const TrainingPlan& plan, OpTimer timer,
               const LowerOptions& options)
      : plan_(plan),
        placement_(plan),
        classes_(plan, placement_),
        orders_(MakeOrders(plan.schedule(), plan.degrees().pipeline,
                           plan.virtual_stages(), plan.micro_batches())),
        builder_(StepStreams(orders_.layout)),
        model_(model),
        timer_(timer),
        options_(options.pass),
        fold_(options.fold) {
    for (int of = 0; of < classes_.count(); ++of) {
      templates_.push_back(MakeStepTemplates(model, plan,
                                             classes_.ExpertPlaceOf(of), timer,
                                             options.pass, builder_.table()));
    }
  }

  absl::StatusOr<LoweredStep> Lower() && {
    std::vector<RoleWork> work;
    for (int rank = 0; rank < plan_.degrees().pipeline; ++rank) {
      for (int of = 0; of < classes_.count(); ++of) {
        work.push_back(AddRole(rank, of));
      }
    }
    ASSIGN_OR_RETURN(Program program, std::move(builder_).Build());
    IdVector<GroupId, PlacedGroup> groups;
    for (const GroupId id : program.groups().ids()) {
      const ProgramGroup& group = program.groups()[id];
      groups.Add(std::move(
          real_groups_.at({program.name(group.family), group.index})));
    }
    return LoweredStep{std::move(program), std::move(groups), std::move(work),
                       fold_, TrafficOf(model_, plan_)};
  }

 private:
  using GroupKey = std::pair<std::string, int64_t>;

  RoleWork AddRole(int rank, int of) {
    // Roles are known by their names, in order.
    const std::string name =
        classes_.count() == 1 ? fmt::format("stage {:04}", rank)
                              : fmt::format("stage {:04} load {:04}", rank, of);
    RoleBuilder& role = builder_.AddRole(name);
    const StepContext context{model_,
                              plan_,
                              placement_,
                              orders_,
                              templates_[static_cast<size_t>(of)],
                              timer_,
                              options_};
    RoleWriter writer(context, role, rank);
    writer.Write();
    const int64_t ranks = AddRanks(role, writer.slots(), of);
    return {rank, ranks, writer.work(), writer.optimizer_work()};
  }

  // The ranks of a role, or the first of them for all; how many they are.
  int64_t AddRanks(const RoleBuilder& role, const StepSlots& slots, int of) {
    const std::vector<int> stage = StageRanks(slots.pipeline_rank());
    const int64_t all =
        std::count_if(stage.begin(), stage.end(),
                      [&](int rank) { return classes_.ClassOf(rank) == of; });
    for (const int rank : stage) {
      if (classes_.ClassOf(rank) != of) continue;
      const RankRef ref = builder_.AddRank(rank, role, fold_ ? all : 1);
      for (const auto& slot : slots.groups()) {
        builder_.Bind(ref, slot.slot, CollectiveGroup(slot, rank, stage));
      }
      for (const auto& slot : slots.channels()) {
        builder_.Bind(ref, slot.slot, ChannelGroup(slot, rank, stage));
      }
      if (fold_) break;
    }
    return all;
  }

  std::vector<int> Chips(std::vector<int> ranks) const {
    for (int& rank : ranks) rank = placement_.ChipOf(rank);
    return ranks;
  }

  std::vector<int> StageRanks(int pipeline) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < placement_.ranks(); ++rank) {
      if (placement_.CoordinatesOf(rank).pipeline == pipeline) {
        ranks.push_back(rank);
      }
    }
    return ranks;
  }

  GroupRef CollectiveGroup(const StepSlots::GroupSlot& slot, int rank,
                           const std::vector<int>& stage) {
    const std::string family =
        fmt::format("{}{}", Name(slot.family), slot.gathers ? " gather" : "");
    // Folded, groups alike are one: that of the lowest class among them.
    const int lowest = fold_ ? classes_.LowestIn(slot.family, rank) : 0;
    const int first = fold_
                          ? classes_.Representative(
                                lowest, placement_.CoordinatesOf(rank).pipeline)
                          : rank;
    const int leader = placement_.Leader(slot.family, first);
    return GroupFor({family, leader}, [&] {
      PlacedGroup group{
          .members = Chips(placement_.Members(slot.family, first)),
          .replicas = {}};
      group.replicas.push_back(group.members);
      if (!fold_) return group;
      for (const int other : stage) {
        if (placement_.Leader(slot.family, other) == leader ||
            classes_.LowestIn(slot.family, other) != lowest) {
          continue;
        }
        std::vector<int> members = placement_.Members(slot.family, other);
        // Each group once: when its first member in this stage comes by.
        if (FirstInStage(members, other)) {
          group.replicas.push_back(Chips(std::move(members)));
        }
      }
      return group;
    });
  }

  // Whether `rank` is the first of `members` in its own stage.
  bool FirstInStage(const std::vector<int>& members, int rank) const {
    const int pipeline = placement_.CoordinatesOf(rank).pipeline;
    for (const int member : members) {
      if (placement_.CoordinatesOf(member).pipeline == pipeline &&
          member < rank) {
        return false;
      }
    }
    return true;
  }

  GroupRef ChannelGroup(const StepSlots::ChannelSlot& slot, int rank,
                        const std::vector<int>& stage) {
    const int own = placement_.CoordinatesOf(rank).pipeline;
    // The sender of a forward channel holds the earlier stage.
    const int sender_stage = slot.forward ? slot.boundary : slot.boundary + 1;
    const int sender =
        orders_.layout.PlaceOf(sender_stage, slot.direction == 1).rank;
    const auto ends = [&](int of) {
      const int peer = placement_.PeerOf(of, slot.peer);
      return own == sender ? std::vector<int>{of, peer}
                           : std::vector<int>{peer, of};
    };
    const std::vector<int> members = ends(rank);
    const int64_t index =
        (int64_t{slot.boundary} * 2 + slot.direction) * placement_.ranks() +
        members.front();
    return GroupFor({ChannelFamily(slot.forward), index}, [&] {
      PlacedGroup group{.members = Chips(members),
                        .replicas = {Chips(members)}};
      if (!fold_) return group;
      for (const int other : stage) {
        if (other != rank &&
            classes_.ClassOf(other) == classes_.ClassOf(rank)) {
          group.replicas.push_back(Chips(ends(other)));
        }
      }
      return group;
    });
  }

  template <class Make>
  GroupRef GroupFor(GroupKey key, Make make) {
    const auto it = refs_.find(key);
    if (it != refs_.end()) return it->second;
    const GroupRef ref = builder_.AddGroup(key.first, key.second);
    refs_.emplace(key, ref);
    real_groups_.emplace(std::move(key), make());
    return ref;
  }

  const TrainingPlan& plan_;
  Placement placement_;
  RankClasses classes_;
  PipelineOrders orders_;
  ProgramBuilder builder_;
  const Model& model_;
  OpTimer timer_;
  PassOptions options_;
  bool fold_;
  std::vector<StepTemplates> templates_;  // by class
  absl::flat_hash_map<GroupKey, GroupRef> refs_;
  absl::flat_hash_map<GroupKey, PlacedGroup> real_groups_;
};

}  // namespace

absl::StatusOr<LoweredStep> LowerStep(const Model& model,
                                      const TrainingPlan& plan, OpTimer timer,
                                      const LowerOptions& options) {
  return StepLowering(model, plan, timer, options).Lower();
}

}  // namespace orrery
