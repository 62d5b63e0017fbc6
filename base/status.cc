#include "base/status.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

namespace orrery {

absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok() || context.empty()) return status;
  return absl::Status(status.code(),
                      fmt::format("{}: {}", std::string(context),
                                  std::string(status.message())));
}

void Violations::Add(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return;
  messages_.emplace_back(Annotate(status, context).message());
}

absl::Status Violations::ToStatus() const {
  if (messages_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(messages_, "\n"));
}

}  // namespace orrery
