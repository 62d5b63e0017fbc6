#include "topology/machine/kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "base/units_text.h"
#include "proto/kernels.pb.h"
#include "topology/machine/field_reader.h"

namespace orrery {

absl::StatusOr<Kernels> Kernels::FromProto(const pb::Kernels& proto,
                                           std::string_view path) {
  Violations violations;
  const FieldReader fields(proto, std::string(path), &violations);
  Kernels kernels;
  kernels.name_ = fields.Text("name");
  kernels.made_for_ = fields.Texts("made_for");
  if (kernels.made_for_.empty()) {
    fields.Refuse("made_for",
                  "not set; name the chips on which the constants were "
                  "measured, for example \"h100_sxm\"");
  }
  kernels.constants_ = ReadKernelConstants(fields);
  kernels.reserved_memory_ = fields.NonNegative<Bytes>("reserved_memory");
  RETURN_IF_ERROR(violations.ToStatus());
  return kernels;
}

bool Kernels::MadeFor(const Chip& chip) const {
  return std::find(made_for_.begin(), made_for_.end(), chip.name()) !=
         made_for_.end();
}

absl::Status Kernels::CheckRoomOn(const Chip& chip) const {
  if (reserved_memory_ < chip.memory()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "kernels.reserved_memory: {} leaves nothing of the {} that chip '{}' "
      "has; "
      "write less",
      ToText(reserved_memory_), ToText(chip.memory()), chip.name()));
}

}  // namespace orrery
