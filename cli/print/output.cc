#include "cli/print/output.h"

#include "base/file.h"
#include "base/status.h"

namespace orrery {

absl::StatusOr<ExitCode> Print(absl::string_view text) {
  RETURN_IF_ERROR(WriteFile("-", text));
  return ExitCode::kDone;
}

}  // namespace orrery
