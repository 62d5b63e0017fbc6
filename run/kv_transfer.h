#pragma once
// The way of a prompt's cache from a prefill pool to a decode pool.
//
// Layer by layer: a layer's keys and values leave when the prefill has computed
// them, so that all but the last hide behind it as long as the network keeps
// up. Every distinct part is sent once, by the rank that has it, and goes to
// each decode rank that needs it: where the degrees differ, heads are laid out
// anew on the way. The slower side, senders or receivers, sets the pace; both
// hold a copy until the transfer is done.
#include <absl/status/statusor.h>

#include "base/units.h"
#include "run/scenario.h"

namespace orrery {

struct KvTransfer {
  Bytes bytes;         // of one prompt, as cached
  Duration time{};     // with the machine to itself
  Duration exposed{};  // that a prefill of `prefill` does not hide
};

// Requires: the plan has separate pools.
absl::StatusOr<KvTransfer> TransferCache(const ResolvedScenario& scenario,
                                         Duration prefill);

}  // namespace orrery
