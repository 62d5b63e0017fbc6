#pragma once
// ChipCalibration: the few free constants of a chip.
//
// Each was measured by somebody, or fitted on rows, that the preset names; one
// set serves every suite.
#include <optional>

#include "base/units.h"
#include "topology/machine/field_reader.h"
#include "topology/machine/kernel_calibration.h"

namespace orrery {

struct ChipCalibration {
  // Attainable share of the peak in the main loop of a large matrix product.
  double matrix_efficiency;
  // Attainable share of the memory bandwidth of a long stream.
  double memory_efficiency;
  // What a kernel costs before its first instruction: launched by the host one
  // after the other, and replayed from a captured graph.
  Duration launch;
  Duration graph_launch;
  // What a running collective takes from kernels beside it.
  double communication_compute_share;
  double communication_memory_share;
  // Memory the run-time and the libraries keep for themselves.
  Bytes reserved_memory;
  // Not every chip has it; without it times of kernels are unknown.
  std::optional<KernelCalibration> kernels;
};

// From a pb::ChipCalibration; violations go to the reader's list.
ChipCalibration ReadChipCalibration(const FieldReader& fields);

}  // namespace orrery
