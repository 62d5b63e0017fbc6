#pragma once
// Kernels: what the libraries of a time make of a chip.
//
// The constants from which `cost` tells the time of a kernel, who they were
// made for, and the memory that the libraries keep. Whoever holds Kernels holds
// the proof that every constant was given and is in range. They may be used on
// any chip; a report says if it is not one they were made for.
//
//   ASSIGN_OR_RETURN(const Kernels kernels, Kernels::FromProto(proto));
//   kernels.constants().launch;
//   kernels.MadeFor(chip);     // else times are extrapolated
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "topology/machine/chip.h"
#include "topology/machine/kernel_constants.h"

namespace orrery {

namespace pb {
class Kernels;
}  // namespace pb

class Kernels {
 public:
  // `path` is where the message stands, for the words of an error: every
  // violation is reported, one per line.
  static absl::StatusOr<Kernels> FromProto(const pb::Kernels& proto,
                                           std::string_view path = "kernels");

  const std::string& name() const { return name_; }
  const KernelConstants& constants() const { return constants_; }
  // Memory the run-time and the libraries keep for themselves.
  Bytes reserved_memory() const { return reserved_memory_; }

  // Names of the chips on which the constants were measured, or for which they
  // were estimated.
  const std::vector<std::string>& made_for() const { return made_for_; }
  bool MadeFor(const Chip& chip) const;
  // Not OK if they keep all memory of the chip.
  absl::Status CheckRoomOn(const Chip& chip) const;

 private:
  Kernels() = default;

  std::string name_;
  std::vector<std::string> made_for_;
  KernelConstants constants_{};
  Bytes reserved_memory_;
};

}  // namespace orrery
