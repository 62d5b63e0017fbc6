#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cli/ranks/ranks.h"

namespace orrery {
namespace {

constexpr int kTag = 1;

// The processors this process may run on, divided by the processes of this
// machine that may run on exactly those.
int ShareOfProcessors() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return 1;
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                      &machine);
  int processes = 1;
  MPI_Comm_size(machine, &processes);
  std::vector<cpu_set_t> all(static_cast<size_t>(processes));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE,
                machine);
  MPI_Comm_free(&machine);
  const auto alike = std::count_if(
      all.begin(), all.end(),
      [&](const cpu_set_t& other) { return CPU_EQUAL(&mine, &other); });
  return std::max(1, CPU_COUNT(&mine) / static_cast<int>(alike));
}

}  // namespace

absl::StatusOr<std::optional<Ranks>> Ranks::Join() {
  if (StartedTogether() == 1) return std::optional<Ranks>();
  int provided = MPI_THREAD_SINGLE;
  // Errors end all processes, as MPI does by default.
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) !=
          MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED) {
    return absl::UnavailableError("MPI does not go together with threads here");
  }
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size_);
  ranks.processors_ = ShareOfProcessors();
  return std::optional<Ranks>(std::move(ranks));
}

Ranks::Ranks(Ranks&& other) noexcept
    : joined_(std::exchange(other.joined_, false)),
      rank_(other.rank_),
      size_(other.size_),
      processors_(other.processors_) {}

Ranks::~Ranks() {
  if (joined_) MPI_Finalize();
}

void Ranks::Send(int to, const std::string& text) {
  CHECK(text.size() <= static_cast<size_t>(std::numeric_limits<int>::max()))
      << "a letter of " << text.size() << " bytes";
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, kTag,
           MPI_COMM_WORLD);
}

std::optional<Letter> Ranks::Receive() {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return std::nullopt;
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  Letter letter{.from = status.MPI_SOURCE,
                .text = std::string(static_cast<size_t>(size), '\0')};
  MPI_Recv(letter.text.data(), size, MPI_CHAR, letter.from, kTag,
           MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return letter;
}

}  // namespace orrery
