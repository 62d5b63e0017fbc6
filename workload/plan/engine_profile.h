#pragma once
// EngineProfile: what an inference engine makes of a step.
//
// How it starts kernels, what it fuses, what its host does between steps, and
// how it shares out the memory of a chip; see proto/engine.proto. One profile
// serves all models and machines.
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "topology/machine/dtype.h"
#include "topology/machine/field_reader.h"
#include "workload/model/layer.h"

namespace orrery {

// In the order of pb::Engine::Launch.
enum class EngineLaunch : uint8_t {
  kEach,     // one by one, ahead of the chip
  kGraph,    // captured, as a whole
  kWaiting,  // one by one, each when the one before it is done
};

// In the order of pb::Engine::MemoryPolicy.
enum class MemoryPolicy : uint8_t {
  kShareOfDevice,            // vLLM
  kShareForWeightsAndCache,  // SGLang
  kShareOfFree,              // TensorRT-LLM
  kAsNeeded,
};

// Host time to start a collective, by the group it is of.
using CollectiveLaunches = std::array<Duration, kExchangeGroups>;

struct EngineProfile {
  std::string name;
  EngineLaunch decode_launch = EngineLaunch::kEach;
  Duration host_launch{};
  Duration graph_start{};
  Duration collective_launch{};
  bool wait_for_collectives = false;
  bool group_launch = false;
  bool first_token_by_decode = false;
  Duration request_overhead{};
  bool ungrouped_attention = false;
  bool prefill_dispatch_by_node = false;
  bool mixed_steps = false;
  bool free_decode_dispatch = false;
  Duration step_overhead{};
  Duration sequence_overhead{};
  bool overlap_steps = false;
  bool fuse_residual_norm = false;
  bool fuse_rotary = false;
  bool fuse_casts = false;
  bool unfused_prefill = false;
  bool custom_all_reduce = false;
  bool whole_ends = false;
  bool narrow_head = false;
  std::optional<DType> library_weights = std::nullopt;
  bool python = false;
  MemoryPolicy memory_policy = MemoryPolicy::kAsNeeded;
  double memory_fraction = 1;
  Bytes graph_memory{};
  int kv_block = 1;
  // Of one step: sequences, and tokens.
  int max_batch = 1;
  int max_step_tokens = 1;

  // A prefill is never captured.
  EngineLaunch prefill_launch() const {
    return decode_launch == EngineLaunch::kWaiting ? EngineLaunch::kWaiting
                                                   : EngineLaunch::kEach;
  }
  // Host time to start a collective of so many ranks on a node.
  Duration CollectiveLaunch(int on_node) const {
    return collective_launch + host_launch * (group_launch ? on_node : 0);
  }
  // Host time between steps with so many sequences.
  Duration Between(int64_t sequences) const {
    return step_overhead + sequence_overhead * sequences;
  }
  // On a host that takes so much longer for Python.
  void SlowDown(double python) {
    if (!this->python) return;
    for (Duration* time :
         {&host_launch, &graph_start, &collective_launch, &request_overhead,
          &step_overhead, &sequence_overhead}) {
      *time = FromSeconds(ToSeconds(*time) * python);
    }
  }
  friend bool operator==(const EngineProfile&, const EngineProfile&) = default;
};

// Violations go to the reader's list.
EngineProfile ReadEngineProfile(const FieldReader& fields);

}  // namespace orrery
