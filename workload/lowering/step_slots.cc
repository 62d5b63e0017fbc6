#include "workload/lowering/step_slots.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/format.h"

namespace orrery {
namespace {

constexpr int kChannels = 4;

StreamId StreamOf(GroupFamily family, bool gathers) {
  if (gathers) return kGatherStream;
  switch (family) {
    case GroupFamily::kTensor:
    case GroupFamily::kExpertTensor:
      return kTensorStream;
    case GroupFamily::kContext:
      return kContextStream;
    case GroupFamily::kExpert:
      return kExpertStream;
    case GroupFamily::kData:
    case GroupFamily::kShard:
    case GroupFamily::kReplica:
    case GroupFamily::kExpertData:
    case GroupFamily::kExpertShard:
    case GroupFamily::kExpertReplica:
    case GroupFamily::kModel:
    case GroupFamily::kEmbedding:
      return kDataStream;
  }
  CHECK(false) << "no such family";
  return kDataStream;
}

}  // namespace

int PipelineArms(const StageLayout& layout) {
  const bool returns =
      layout.StageOf(0, layout.pieces() - 1) == layout.stages() - 1;
  return returns ? std::min(2, layout.pieces()) : 1;
}

StreamId PipelineStream(Channel channel, int arm) {
  return static_cast<StreamId>(kFirstPipelineStream + arm * kChannels +
                               static_cast<int>(channel));
}

std::vector<Stream> StepStreams(const StageLayout& layout) {
  std::vector<Stream> streams = {{"compute", StreamKind::kCompute}};
  for (const char* name :
       {"tensor", "context", "expert", "data", "parameters"}) {
    streams.push_back({name, StreamKind::kCommunication});
  }
  if (layout.ranks() == 1) return streams;
  for (int arm = 0; arm < PipelineArms(layout); ++arm) {
    const std::string suffix = arm == 0 ? "" : " 2";
    for (const char* name : {"forward send", "forward receive", "backward send",
                             "backward receive"}) {
      streams.push_back({name + suffix, StreamKind::kCommunication});
    }
  }
  return streams;
}

SlotRef StepSlots::Group(GroupFamily family, bool gathers) {
  for (const GroupSlot& slot : groups_) {
    if (slot.family == family && slot.gathers == gathers) return slot.slot;
  }
  const std::string name =
      fmt::format("{}{}", Name(family), gathers ? " gather" : "");
  const SlotRef slot = role_.AddSlot(name, StreamOf(family, gathers));
  groups_.push_back({slot, family, gathers});
  return slot;
}

SlotRef StepSlots::PipelineChannel(Channel channel, int boundary, int direction,
                                   int arm, int peer) {
  const int64_t key = (int64_t{boundary} * 2 + direction) * kChannels +
                      static_cast<int64_t>(channel);
  const auto it = channel_slots_.find(key);
  if (it != channel_slots_.end()) return it->second;
  const bool forward =
      channel == Channel::kForwardSend || channel == Channel::kForwardReceive;
  const bool sends =
      channel == Channel::kForwardSend || channel == Channel::kBackwardSend;
  const std::string name = fmt::format(
      "{} {} {}{}", forward ? "forward" : "backward",
      sends ? "send" : "receive", boundary, direction == 0 ? "" : " reversed");
  const SlotRef slot = role_.AddSlot(name, PipelineStream(channel, arm));
  channels_.push_back({slot, forward, boundary, direction, peer});
  channel_slots_.emplace(key, slot);
  return slot;
}

}  // namespace orrery
