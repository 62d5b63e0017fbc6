#pragma once
// RoleSlots: which communication of a role runs where, and with whom.
//
// Writers ask for a slot when they first need it; the assembler then binds each
// to the groups of the ranks that play the role. Pipeline channels have a
// direction and a boundary between stages of their own, so that micro-batches
// meet in order whatever the schedule.
#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

#include "workload/lowering/rank_streams.h"
#include "workload/model/layer.h"
#include "workload/plan/exchange_family.h"
#include "workload/plan/placement.h"
#include "workload/program/program_builder.h"

namespace orrery {

class RoleSlots {
 public:
  struct GroupSlot {
    SlotRef slot;
    GroupFamily family;
    // Parameters are gathered by the ranks that share them, on another stream
    // than gradients: another group of the same members.
    bool gathers;
  };
  struct ChannelSlot {
    SlotRef slot;
    // "pipeline forward" or "pipeline backward", between stages boundary and
    // boundary + 1; `mirrored` for the second half of bidirectional layouts.
    bool forward;
    int boundary;
    bool mirrored;
    int peer;  // pipeline rank at the other end
  };

  RoleSlots(RoleBuilder& role, int pipeline_rank)
      : role_(role), pipeline_rank_(pipeline_rank) {}

  SlotRef Group(GroupFamily family, bool gathers = false);
  SlotRef PipelineChannel(Channel channel, int boundary, bool mirrored, int arm,
                          int peer);

  const std::vector<GroupSlot>& groups() const { return groups_; }
  const std::vector<ChannelSlot>& channels() const { return channels_; }
  int pipeline_rank() const { return pipeline_rank_; }

 private:
  RoleBuilder& role_;
  int pipeline_rank_;
  std::vector<GroupSlot> groups_;
  std::vector<ChannelSlot> channels_;
  absl::flat_hash_map<int64_t, SlotRef> channel_slots_;
};

}  // namespace orrery
