#pragma once
// Tells traces from other JSON files. A trace is an object whose member
// traceEvents is a list of events, or such a list by itself. Events are objects
// with a member "ph".
//
// It is read as far as the first event, whatever its size; what follows is left
// to the UI. A list without a first event is a trace only within an object.
#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace orrery {

// `read` gives the bytes at an offset, as many of `most` as there are.
bool IsJsonTrace(absl::FunctionRef<std::string(int64_t at, size_t most)> read);

}  // namespace orrery
