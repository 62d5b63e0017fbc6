#pragma once
// Perfetto's own reading of a trace, for tests: its trace processor (the pinned
// WebAssembly build that scripts/test fetches) loads the file in Node and
// answers SQL.
//
//   if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
//   const TraceAnswers answers = Ask(path, {"select count(*) from slice"});
//   EXPECT_THAT(answers.problems, IsEmpty());
//   EXPECT_EQ(answers.tables[0][0][0], "7");
#include <string>
#include <vector>

#include "base/units.h"

namespace orrery {

// A time as traces have it: whole nanoseconds.
inline int64_t Floor(Time at) { return at.time_since_epoch().count() / 1000; }

inline constexpr char kNoTraceProcessor[] =
    "Node or Perfetto's trace processor is missing; scripts/test fetches both";

// Cells as text: integers in full, null as "null".
using SqlTable = std::vector<std::vector<std::string>>;

struct TraceAnswers {
  std::vector<std::string> problems;  // what is wrong with the trace itself
  std::vector<SqlTable> tables;       // one per statement
};

bool HasTraceProcessor();

// Each statement is one line of SQL. A trace or a statement that the processor
// rejects fails the running test.
TraceAnswers Ask(const std::string& trace,
                 const std::vector<std::string>& statements);

}  // namespace orrery
