#include "cli/print/output.h"

#include <absl/strings/str_cat.h>

#include <cstdio>
#include <string>

#include "base/file.h"
#include "base/status.h"

namespace orrery {

absl::StatusOr<ExitCode> Print(absl::string_view text) {
  RETURN_IF_ERROR(WriteFile("-", text));
  return ExitCode::kDone;
}

void Say(absl::string_view line) {
  const std::string text = absl::StrCat("orrery: ", line, "\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace orrery
