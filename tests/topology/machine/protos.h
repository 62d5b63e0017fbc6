#pragma once
// Messages for the tests of this folder: a made-up chip and machine with round
// numbers, and a way to write a variation of them as text.
#include <absl/status/status.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/chip.pb.h"
#include "proto/kernels.pb.h"
#include "proto/system.pb.h"

namespace orrery {

inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// `text` merged over `base`.
template <class Message>
Message With(Message base, const std::string& text) {
  Message change;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &change))
      << text;
  base.MergeFrom(change);
  return base;
}

inline pb::Chip TestChip() {
  return With(pb::Chip(), R"pb(
    name: "round"
    peak { dtype: BF16 rate: "100 TFLOP/s" }
    peak { dtype: FP8 rate: "200 TFLOP/s" }
    vector_rate: "10 TFLOP/s"
    sfu_rate: "2 Top/s"
    compute_units: 100
    clock: "1 GHz"
    memory: "80 GB"
    memory_bandwidth: "2 TB/s"
    memory_latency: "500 ns"
    memory_kind: "HBM2e"
    cache { name: "L1" size: "256 KiB" per_unit: true bandwidth: "20 TB/s" }
    cache { name: "L2" size: "40 MiB" bandwidth: "6 TB/s" }
    port { name: "NVLink" count: 12 bandwidth: "25 GB/s" }
  )pb");
}

inline pb::Kernels TestKernels() {
  return With(pb::Kernels(), R"pb(
    name: "round"
    made_for: "round"
    matrix_efficiency: 0.9
    memory_efficiency: 0.85
    launch: "4 us"
    graph_launch: "1 us"
    reserved_memory: "1 GiB"
    tile { rows: 128 columns: 64 step_bytes: 64 resident: 2 }
    tile_overhead_cycles: 500
    step_cycles: 100
    overlap_exponent: 4
    cache_efficiency: 0.9
    multicast: 1
    raster_rows: 8
    cache_reach: 1
    flash_attention {
      name: "flash"
      rows: 128
      columns: 64
      min_rows: 16
      efficiency: 0.9
      backward_efficiency: 0.8
      softmax_operations: 6
      softmax_exposed: 0.5
      backward_exposed: 1
      combine: "5 us"
    }
    attention: "flash"
    grouped_launch: "5 us"
    grouped_efficiency: 0.9
    norm_row_limit: 8192
    softmax_row_limit: 1024
    quantize_efficiency: 0.8
    quantize_launch: "5 us"
  )pb");
}

// Four nodes of eight chips, a switch inside, rails between.
inline pb::System TestSystem() {
  pb::System system = With(pb::System(), R"pb(
    name: "round"
    nodes: 4
    chips_per_node: 8
    scale_up {
      fabric {
        link { name: "NVLink" bandwidth: "25 GB/s" latency: "500 ns" }
        switch { planes: 6 links_per_endpoint: 12 }
        routing: SPRAY
      }
    }
    scale_out {
      nics_per_node: 8
      nic_bandwidth: "200 Gb/s"
      nic_latency: "1 us"
      fabric {
        link { name: "HDR" bandwidth: "200 Gb/s" latency: "600 ns" }
        rail_optimized { radix: 40 taper: 1 }
        routing: SPRAY
      }
    }
    collectives {
      library: "test"
      compute_share: 0.1
      memory_share: 0.1
      base_latency: "5 us"
      protocol {
        name: "Simple"
        tier: SCALE_UP
        step_latency: "3 us"
        efficiency: 0.9
      }
      protocol {
        name: "Simple"
        tier: SCALE_OUT
        step_latency: "14 us"
        efficiency: 0.9
      }
    }
  )pb");
  *system.mutable_chip() = TestChip();
  return system;
}

}  // namespace orrery
