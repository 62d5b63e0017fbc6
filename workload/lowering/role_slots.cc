#include "workload/lowering/role_slots.h"

#include <string>

#include "base/format.h"

namespace orrery {

SlotRef RoleSlots::Group(GroupFamily family, bool gathers) {
  for (const GroupSlot& slot : groups_) {
    if (slot.family == family && slot.gathers == gathers) return slot.slot;
  }
  const std::string name =
      fmt::format("{}{}", Name(family), gathers ? " gather" : "");
  const SlotRef slot = role_.AddSlot(name, StreamOf(family, gathers));
  groups_.push_back({slot, family, gathers});
  return slot;
}

SlotRef RoleSlots::PipelineChannel(Channel channel, int boundary, bool mirrored,
                                   int arm, int peer) {
  const int64_t key = (int64_t{boundary} * 2 + (mirrored ? 1 : 0)) * kChannels +
                      static_cast<int64_t>(channel);
  const auto it = channel_slots_.find(key);
  if (it != channel_slots_.end()) return it->second;
  const std::string name =
      fmt::format("{} {} {}{}", IsForward(channel) ? "forward" : "backward",
                  IsSend(channel) ? "send" : "receive", boundary,
                  mirrored ? " reversed" : "");
  const SlotRef slot = role_.AddSlot(name, StreamOf(channel, arm));
  channels_.push_back({slot, IsForward(channel), boundary, mirrored, peer});
  channel_slots_.emplace(key, slot);
  return slot;
}

}  // namespace orrery
