#pragma once
// Files, read with a limit and written whole or not at all.
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>

namespace orrery {

// No input of ours comes near this; a larger file is the wrong file.
inline constexpr int64_t kMaxInputBytes = 16 << 20;

// The contents of a regular file of at most `limit` bytes. Pipes are read too,
// up to the limit. The error names the path and what is wrong with it.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t limit = kMaxInputBytes);

// Puts `contents` at `path`: written under a temporary name in the same folder,
// flushed to disk, then renamed. On any error the old file, if there was one,
// stays as it was and nothing else is left behind. "-" is standard output.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

}  // namespace orrery
