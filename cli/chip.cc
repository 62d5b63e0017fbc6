#include "cli/chip.h"

#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/override.h"
#include "proto/chip.pb.h"

namespace orrery {

absl::StatusOr<Chip> LoadChip(absl::string_view name,
                              absl::Span<const std::string> sets) {
  ASSIGN_OR_RETURN(pb::Chip proto, Catalog().Chip(name));
  for (const std::string& set : sets) {
    ASSIGN_OR_RETURN(const Override change, ParseOverride(set));
    RETURN_IF_ERROR(ApplyOverride(change, &proto));
  }
  return Chip::FromProto(proto);
}

Flag SetChipFlag() {
  return {.name = "set",
          .value = "PATH=VALUE",
          .help =
              "override a field of the chip: memory_bandwidth='4 TB/s', "
              "peak[BF16].rate='1 PFLOP/s'",
          .repeated = true};
}

}  // namespace orrery
