#pragma once
// The streams that every rank of a training step has, and the slots of a role:
// which of its communication runs where, and with whom.
//
// Pipeline channels have a direction and a boundary between stages of their
// own, so that micro-batches meet in order whatever the schedule. A layout with
// two arms (ZB-V, DualPipe) has streams for each arm, because an arm must not
// wait behind the other.
#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

#include "workload/plan/placement.h"
#include "workload/plan/stage_layout.h"
#include "workload/program/program_builder.h"

namespace orrery {

inline constexpr StreamId kComputeStream{0};
inline constexpr StreamId kTensorStream{1};
inline constexpr StreamId kContextStream{2};
inline constexpr StreamId kExpertStream{3};
// Gradients on their way out, parameters on their way in.
inline constexpr StreamId kDataStream{4};
inline constexpr StreamId kGatherStream{5};
inline constexpr int kFirstPipelineStream = 6;

enum class Channel : uint8_t {
  kForwardSend,
  kForwardReceive,
  kBackwardSend,
  kBackwardReceive
};
StreamId PipelineStream(Channel channel, int arm);
// Streams for a layout, in the order of their ids.
std::vector<Stream> StepStreams(const StageLayout& layout);
// Arms of the layout that have pipeline streams of their own.
int PipelineArms(const StageLayout& layout);
// Whether a stream is one of the pipeline's.
constexpr bool IsPipelineStream(StreamId stream) {
  return static_cast<int>(stream) >= kFirstPipelineStream;
}

// The groups a role takes part in, made on first use.
class StepSlots {
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
    // boundary + 1; `direction` 1 for the second half of bidirectional layouts.
    bool forward;
    int boundary;
    int direction;
    int peer;  // pipeline rank at the other end
  };

  StepSlots(RoleBuilder& role, int rank) : role_(role), rank_(rank) {}

  SlotRef Group(GroupFamily family, bool gathers = false);
  SlotRef PipelineChannel(Channel channel, int boundary, int direction, int arm,
                          int peer);

  const std::vector<GroupSlot>& groups() const { return groups_; }
  const std::vector<ChannelSlot>& channels() const { return channels_; }
  int pipeline_rank() const { return rank_; }

 private:
  RoleBuilder& role_;
  int rank_;
  std::vector<GroupSlot> groups_;
  std::vector<ChannelSlot> channels_;
  absl::flat_hash_map<int64_t, SlotRef> channel_slots_;
};

}  // namespace orrery
