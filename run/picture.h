#pragma once
// A run as a picture: the passes of one rank of every pipeline rank, and the
// memory of the rank that needs most, over time.
//
// Small enough for a page: at most kMostLanes ranks, fewer if they have more
// than kMostSlices passes together, and the largest total of
// each of kMemorySamples stretches of the run, so that the peak is in it.
#include "proto/page.pb.h"
#include "run/simulated_run.h"

namespace orrery {

inline constexpr int kMostLanes = 32;
inline constexpr int kMostSlices = 20'000;
inline constexpr int kMemorySamples = 240;

// `always` is held beside the program's own (Kernels::reserved_memory).
// Requires: the run was recorded (RunOptions::record).
pb::Picture PictureOf(const SimulatedRun& run, Bytes always);

}  // namespace orrery
