#pragma once
// How full links were, from the log of a run: the rates that the engine granted
// over what the link can carry. Never above 1, since that is how rates are
// shared.
#include <absl/types/span.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"
#include "sim/sharing/transfer_log.h"
#include "sim/sharing/transfer_plan.h"

namespace orrery {

// From each time on, until the next, that share of the link's capacity is in
// use; nothing before the first.
using LoadSteps = std::vector<std::pair<Time, double>>;

// All that is on the wire, or of it the bytes of the calls alone.
enum class LoadOf : uint8_t { kWire, kPayload };

// One per link of `links`. Requires: `log` is of a run of these transfers;
// no link twice; for the payload, places and efficiencies of the transfers.
std::vector<LoadSteps> LinkLoads(const Transfers& transfers,
                                 const TransferLog& log,
                                 absl::Span<const ResourceId> links,
                                 LoadOf what = LoadOf::kWire);

}  // namespace orrery
