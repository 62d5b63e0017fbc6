#pragma once
// InParallel: the same work for many items, on all processors.
//
//   std::vector<Answer> answers(questions.size());
//   InParallel(questions.size(),
//              [&](size_t i) { answers[i] = Ask(questions[i]); });
//
// Each item is taken once, by whichever thread is free; as long as an item only
// writes its own place, the result does not depend on how many threads there
// are. Returns when all are done.
//
// Work that calls it again shares the processors of its thread: there are never
// more busy threads than processors.
//
// `tell`, if given, hears after every item what share of them is done; one call
// at a time, on any thread.
#include <absl/functional/function_ref.h>

#include <cstddef>
#include <functional>

namespace orrery {

void InParallel(size_t count, absl::FunctionRef<void(size_t)> work,
                const std::function<void(double done)>& tell = {});

// How many processors InParallel may use when this thread calls it: all of the
// machine's unless LimitProcessors, or the InParallel it works for, said less.
size_t ProcessorsOfThread();

// For a thread that is one of several busy ones. Requires: count >= 1.
void LimitProcessors(size_t count);

}  // namespace orrery
