#pragma once
// Whether a file is a trace, and all of it.
#include <absl/status/status.h>

#include <cstdint>
#include <string>

namespace orrery {

// Looks at the beginning, and for Perfetto's own format at the frame of every
// packet: the last one must end where the file does. `descriptor` is open for
// reading, `file` for messages.
absl::Status CheckTraceFile(int descriptor, int64_t size,
                            const std::string& file);

}  // namespace orrery
