#pragma once
// Requests of an inference run on a timeline: what each waits for and gets, and
// how full the cache is.
//
//   requests
//     steps                    prefill, decode, one after the other; between
//                              separate pools the cache on its way; at the end
//                              the steps that are not drawn, at their length
//     request 0                waits, prefill, token 2, token 3, ...; from
//                              token 1 where the prompt gives none
//     requests 8 to 15         sequences that do the same, as one
//     KV cache, KV cache used  bytes on the fullest chip, percent of its room
//
//     const RequestTimeline requests = RequestsOf(scenario, run, end_to_end);
//     WriteRequestTracks(requests, Time{}, Time::max(), writer);
//
// Of one replica; the others do the same.
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "traces/format/perfetto_writer.h"

namespace orrery {

// A step as the chips ran it, or something else that the request waits for.
struct RequestStep {
  enum class Kind : uint8_t {
    kOverhead,  // the engine's work before the first step
    kPrefill,
    kTransfer,  // the cache moves to the decode pool
    kDecode,
    kDrafts,    // drafts for the decode steps before it
    kNotDrawn,  // `steps` more decode steps
    kHost,      // the host's work after the last step
  };
  Kind kind = Kind::kPrefill;
  bool decodes() const { return kind == Kind::kDecode; }
  Time from{};
  Time to{};
  // Sequences whose prompts it took: [first, first + count); of decoding and of
  // a transfer all.
  int64_t first = 0;
  int64_t count = 0;
  // Tokens of each of them: new in this step, and cached before it.
  int64_t tokens = 0;
  int64_t cached = 0;
  // Decode steps that this stands for.
  int64_t steps = 1;
};

// Bytes in the cache of the fullest chip from an instant on.
struct CacheHeld {
  Time at{};
  Bytes held{};
};

struct RequestTimeline {
  int64_t sequences = 0;
  std::vector<RequestStep> steps;
  // In order of time, and the bytes that the chip has room for.
  std::vector<CacheHeld> cache = {};
  Bytes room{};
  // Decode steps that are drawn, of all.
  int64_t drawn_steps = 0;
  int64_t decode_steps = 0;
  // The token that the first decode step makes: the second, or the first where
  // the engine makes none with the prompt.
  int64_t first_decoded = 2;
  // Where the report says that the request ends. Steps that are drawn follow
  // each other as they ran; where they overlap, in a pipeline or with the host
  // of the next, that differs a little from the report's sum of steps.
  Time reported_end{};
};

// More requests than this are shown as groups that do the same.
inline constexpr int64_t kMostRequestLanes = 32;

// What lies in [from, to), and nothing outside of it.
void WriteRequestTracks(const RequestTimeline& requests, Time from, Time to,
                        PerfettoWriter& writer);

}  // namespace orrery
