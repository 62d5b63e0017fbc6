#pragma once
// Whether the network treats groups that lie alike on the machine alike, so
// that one of them can stand for all.
#include <optional>
#include <string>

#include "sim/sharing/transfer_plan.h"
#include "topology/machine/system.h"
#include "workload/plan/degrees.h"

namespace orrery {

// Why not, or nothing. A link that is cut or slow tells its chips from others;
// a path picked by a hash, or the lowest of several, collides for some pairs
// and not for others; and a group that stands for many comes in by fewer ports
// than they do, which counts where switches arbitrate by port.
std::optional<std::string> NetworkAsymmetry(const System& system,
                                            Arbitration arbitration);

// The same of groups that lie alike but may meet different others on the links
// they share: in a torus that spans the nodes, or on NICs that chips share if
// ranks lie in another order than the usual one. To treat them alike is near,
// not exact.
std::optional<std::string> TrafficAsymmetry(const System& system,
                                            const Degrees& degrees);

}  // namespace orrery
