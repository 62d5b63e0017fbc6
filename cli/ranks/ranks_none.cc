#include "base/check.h"
#include "base/format.h"
#include "cli/ranks/ranks.h"

namespace orrery {

absl::StatusOr<std::optional<Ranks>> Ranks::Join() {
  const int processes = StartedTogether();
  if (processes == 1) return std::optional<Ranks>();
  return absl::InvalidArgumentError(fmt::format(
      "{} processes were started together, but this orrery was built without "
      "MPI (install libopenmpi-dev and build again); start one, which uses all "
      "processors of the machine",
      processes));
}

Ranks::Ranks(Ranks&&) noexcept = default;
Ranks::~Ranks() = default;

void Ranks::Send(int, const std::string&) { CHECK(false) << "no MPI"; }
std::optional<Letter> Ranks::Receive() { return std::nullopt; }

}  // namespace orrery
