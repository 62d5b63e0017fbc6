#include "cli/flags/memory_budget.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/excerpt.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"

namespace orrery {
namespace {

constexpr Bytes kLeast{int64_t{64} << 20};

}  // namespace

Flag MemoryFlag() {
  return {.name = "memory",
          .value = "SIZE",
          .help =
              "memory the command may take, e.g. 8GiB (default: half of "
              "the machine's)"};
}

Bytes MachineMemory() {
  Bytes memory(int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE));
  int64_t limit = 0;
  const absl::StatusOr<std::string> group =
      ReadFile("/sys/fs/cgroup/memory.max");
  if (group.ok() &&
      absl::SimpleAtoi(absl::StripAsciiWhitespace(*group), &limit)) {
    memory = std::min(memory, Bytes(limit));
  }
  return memory;
}

absl::StatusOr<Bytes> ReadMemoryBudget(const Arguments& arguments) {
  const auto text = arguments.Get("memory");
  if (!text) return MachineMemory() / 2;
  absl::StatusOr<Bytes> budget = ParseBytes(*text);
  if (!budget.ok()) return Annotate(budget.status(), "--memory");
  if (*budget < kLeast) {
    return absl::InvalidArgumentError(
        fmt::format("--memory must be at least {}, got '{}'",
                    ToBinaryText(kLeast, 4), Excerpt(*text)));
  }
  return *budget;
}

void HoldMemory([[maybe_unused]] Bytes budget) {
  // Sanitizers reserve more address space than any machine has.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur =
      std::min<rlim_t>(static_cast<rlim_t>(budget.value()), limit.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace orrery
