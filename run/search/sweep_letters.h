#pragma once
// What processes that share a sweep write to each other, as text.
//
//   0 <- rank   ready THREADS TITLE       or: failed REASON
//   0 -> rank   work BEGIN END FIRST METHOD     the points FIRST, FIRST + 1,
//   ... 0 <- rank   rows BEGIN END \n RECORD \n RECORD ... 0 -> rank   stop 0
//   <- rank   bye
//
// BEGIN and END are those of a block of the sender's queue; they come back with
// its rows.
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "proto/study.pb.h"
#include "run/search/block_queue.h"
#include "run/search/study.h"
#include "run/search/sweep_row.h"

namespace orrery {

struct Letter {
  int from = 0;
  std::string text;
};

struct ReadyLetter {
  int threads = 1;
  std::string title;  // of what the rank has read
};
struct FailedLetter {
  std::string reason;
};
struct WorkLetter {
  PointBlock block;
  int64_t first = 0;
  pb::Study::Method method = pb::Study::ESTIMATE;
};
struct RowsLetter {
  PointBlock block;
  std::vector<SweepRow> rows;
};
struct StopLetter {};
struct ByeLetter {};
using SweepLetter = std::variant<ReadyLetter, FailedLetter, WorkLetter,
                                 RowsLetter, StopLetter, ByeLetter>;

std::string WriteLetter(const SweepLetter& letter);
// Nothing if it is none of these, or its rows are of another study.
std::optional<SweepLetter> ReadLetter(const Study& study,
                                      absl::string_view text);

}  // namespace orrery
