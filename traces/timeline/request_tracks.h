#pragma once
// Requests of an inference run on a timeline: what each waits for and gets, and
// how full the cache is.
//
//   requests
//     steps                    prefill, decode, one after the other; between
//                              separate pools the cache on its way
//     request 0                waits, prefill, token 2, token 3, ...
//     requests 8 to 15         sequences that do the same, as one
//     KV cache, KV cache used  bytes on the fullest chip, percent of its room
//
//   ASSIGN_OR_RETURN(const RequestTimeline requests, RequestsOf(scenario,
//   run)); WriteRequestTracks(requests, writer);
//
// Of one replica; the others do the same.
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "traces/format/perfetto_writer.h"

namespace orrery {

// A step as the chips ran it.
struct RequestStep {
  enum class Kind : uint8_t { kPrefill, kTransfer, kDecode };
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
};

struct RequestTimeline {
  int64_t sequences = 0;
  std::vector<RequestStep> steps;
  // Bytes in the cache of the fullest chip after each step, and what it has
  // room for.
  std::vector<Bytes> cached_after = {};
  Bytes room{};
};

// More requests than this are shown as groups that do the same.
inline constexpr int64_t kMostRequestLanes = 32;

// What lies in [from, to), and nothing outside of it.
void WriteRequestTracks(const RequestTimeline& requests, Time from, Time to,
                        PerfettoWriter& writer);

}  // namespace orrery
