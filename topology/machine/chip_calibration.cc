#include "topology/machine/chip_calibration.h"

namespace orrery {

ChipCalibration ReadChipCalibration(const FieldReader& fields) {
  const std::optional<FieldReader> kernels = fields.Optional("kernels");
  return {
      .matrix_efficiency = fields.Efficiency("matrix_efficiency"),
      .memory_efficiency = fields.Efficiency("memory_efficiency"),
      .launch = fields.NonNegative<Duration>("launch"),
      .graph_launch = fields.NonNegative<Duration>("graph_launch"),
      .communication_compute_share =
          fields.Share("communication_compute_share"),
      .communication_memory_share = fields.Share("communication_memory_share"),
      .reserved_memory = fields.NonNegative<Bytes>("reserved_memory"),
      .kernels = kernels.has_value()
                     ? std::optional(ReadKernelCalibration(*kernels))
                     : std::nullopt,
  };
}

}  // namespace orrery
