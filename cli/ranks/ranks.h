#pragma once
// Ranks: the processes that mpirun started together, and letters between them.
//
//   ASSIGN_OR_RETURN(std::optional<Ranks> ranks, Ranks::Join());
//   if (ranks && ranks->rank() > 0) ...
//
// The only place that knows MPI. A program that was built without it has a Join
// that refuses to run beside others: each would do all of the work, into the
// same files. All calls come from the thread that joined.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "run/search/sweep_letters.h"

namespace orrery {

class Ranks {
 public:
  // Nothing if this process was started by itself. Once per process.
  static absl::StatusOr<std::optional<Ranks>> Join();
  Ranks(Ranks&& other) noexcept;
  Ranks& operator=(Ranks&&) = delete;
  // Waits for all ranks to leave.
  ~Ranks();

  int rank() const { return rank_; }
  int size() const { return size_; }
  // This rank's share of the processors it may run on.
  int processors() const { return processors_; }

  // Letters from one rank to another arrive in order. May wait until a long one
  // is being received.
  void Send(int to, const std::string& text);
  // One that has come; nothing if none is there.
  std::optional<Letter> Receive();

 private:
  Ranks() = default;

  bool joined_ = true;
  int rank_ = 0;
  int size_ = 1;
  int processors_ = 1;
};

// Of the environment that launchers make (Open MPI, MPICH, Slurm): how many
// processes were started together.
int StartedTogether();

}  // namespace orrery
