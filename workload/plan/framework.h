#pragma once
// Framework: what the training software does beyond what a plan says.
//
// A plan says what is split and what overlaps; the framework which kernels a
// layer becomes, what the host needs to start them, and what the allocator
// holds. A default one adds nothing: kernels are fused as Megatron-LM does, the
// host never holds the chip up, and nothing is held beside a plan's tensors.
//
//   ASSIGN_OR_RETURN(const Framework framework, Framework::FromProto(proto));
//
// Variation: how far chips of a job differ from one another, and passes on a
// chip. All wait for the slowest:
//
//   SlowestOf(variation, 1024, 32)   // 1.025: kernels as of the slowest chip
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "workload/model/layer_shape.h"

namespace orrery {

namespace pb {
class Framework;
class Variation;
}  // namespace pb

struct Framework {
  static absl::StatusOr<Framework> FromProto(const pb::Framework& proto);

  std::string name = {};
  Fusion fusion = Fusion::kPointwise;
  bool separate_loss = false;
  bool loss_in_parts = false;
  bool separate_optimizer = false;
  // Of what sequence parallelism gathers for a product.
  bool keep_gathered = false;
  // Of the host, per kernel or collective; nothing if it is always ahead.
  std::optional<Duration> dispatch = std::nullopt;
  // Before a collective, for each rank of its group: hosts compare their calls.
  Duration collective_check{};
  // It starts nothing before the last thing it started has ended.
  bool blocking_launches = false;
  // The host waits for what comes from another stage before it goes on.
  bool host_waits_for_receive = false;
  // Tokens are found in the embedding by a product.
  bool embeds_by_product = false;
  // What only makes a layer's output is not computed again.
  bool prunes_recomputation = false;
  // Layers that read the same tokens are products of their own.
  bool products_apart = false;
  // Shared keys and values are copied for each query head.
  bool repeats_key_values = false;
  // Rotations are complex products in FP32.
  bool complex_rotation = false;
  // Norms are the operators of their formula.
  bool norms_in_parts = false;
  // Reduced gradients of unsharded state have buffers of their own.
  bool keeps_buckets = false;
  // Copies of gradients for a moment: in a reduction of sums that are wider
  // than the weights, per parameter; in a step that widens them, per parameter
  // of the shard.
  double reduction_bytes = 0;
  double widening_bytes = 0;
  // Gradients of a pass stay beside wider sums.
  bool keeps_gradients = false;
  Bytes bucket_memory{};
  // Launches that the host may be ahead; 0: freed tensors come back at once.
  int launch_queue = 0;
  // Of gathered tokens, which stay.
  int gather_buffers = 0;
  // For each group of ranks that a rank communicates in.
  Bytes group_memory{};
  // Of the activations at the peak.
  double fragmentation = 0;
};

struct Variation {
  static absl::StatusOr<Variation> FromProto(const pb::Variation& proto);

  double device_spread = 0;
  double pass_jitter = 0;
};

// The expected maximum of `count` independent normal deviates, in standard
// deviations: 0 for one, 0.56 for two, 3.2 for a thousand (Blom's
// approximation of the quantile, within 1 % from 8 on). Requires: count >= 1.
double ExpectedMaximum(int64_t count);

// The factor on the kernels of a chip that is as slow as the slowest of `ranks`
// that wait for one another over a step of so many passes each.
double SlowestOf(const Variation& variation, int64_t ranks, int64_t passes);

}  // namespace orrery
