#pragma once
// Whether the network treats groups that lie alike on the machine alike, so
// that one of them can stand for all.
#include <optional>
#include <string>

#include "topology/machine/system.h"

namespace orrery {

// Why not, or nothing, as far as it follows from the rules of the network alone
// (what its links carry is compared in replica_loads.h, and who is at links
// that are cut or slow is told in marks.h). A path picked by a hash, or the
// lowest of several, collides for some pairs and not for others.
std::optional<std::string> NetworkAsymmetry(const System& system);

}  // namespace orrery
