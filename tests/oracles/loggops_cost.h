#pragma once
// Messages by the LogGOPS model: end points that are busy with every message,
// and a network that is never full.
//
// A send of s bytes occupies the processor for o + (s-1) O and the NIC for
// g + (s-1) G; its first byte arrives o + L after it began; a receive takes
// o + max((s-1) O, (s-1) G) from there (Hoefler, Schneider and Lumsdaine,
// "LogGOPSim", 2010). Rendezvous of large messages is left out.
#include <vector>

#include "analytic/collective/alpha_beta.h"

namespace orrery {

struct LogGops {
  Seconds latency;                 // L
  Seconds overhead;                // o
  Seconds gap;                     // g
  Seconds gap_per_byte;            // G
  Seconds overhead_per_byte = {};  // O
};

// When each of p hosts is done with a reduce of m bytes to host 0 by a binomial
// tree: the upper half sends to the lower half, and so on. Requires: m >= 1.
std::vector<Seconds> LogGopsBinomialReduce(int p, Bytes m,
                                           const LogGops& model);

}  // namespace orrery
