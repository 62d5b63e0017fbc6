#include "workload/plan/engine_profile.h"

#include "proto/engine.pb.h"
#include "workload/plan/plan_limits.h"

namespace orrery {
namespace {

// Enumerations of the schema begin with what is not legal.
template <class E>
E Ordinal(int number) {
  return static_cast<E>(number > 0 ? number - 1 : 0);
}

}  // namespace

EngineProfile ReadEngineProfile(const FieldReader& fields) {
  EngineProfile engine;
  engine.name = fields.Text("name");
  engine.decode_launch =
      Ordinal<EngineLaunch>(fields.Enum<pb::Engine::Launch>("decode_launch"));
  engine.host_launch = fields.NonNegative<Duration>("host_launch");
  engine.graph_start = fields.NonNegative<Duration>("graph_start");
  engine.collective_launch = fields.NonNegative<Duration>("collective_launch");
  engine.wait_for_collectives = fields.Flag("wait_for_collectives");
  engine.group_launch = fields.Flag("group_launch");
  engine.first_token_by_decode = fields.Flag("first_token_by_decode");
  engine.request_overhead = fields.NonNegative<Duration>("request_overhead");
  engine.prefill_dispatch_by_node = fields.Flag("prefill_dispatch_by_node");
  engine.mixed_steps = fields.Flag("mixed_steps");
  engine.free_decode_dispatch = fields.Flag("free_decode_dispatch");
  engine.ungrouped_attention = fields.Flag("ungrouped_attention");
  engine.step_overhead = fields.NonNegative<Duration>("step_overhead");
  engine.sequence_overhead = fields.NonNegative<Duration>("sequence_overhead");
  engine.overlap_steps = fields.Flag("overlap_steps");
  engine.fuse_residual_norm = fields.Flag("fuse_residual_norm");
  engine.fuse_rotary = fields.Flag("fuse_rotary");
  engine.fuse_casts = fields.Flag("fuse_casts");
  engine.unfused_prefill = fields.Flag("unfused_prefill");
  engine.custom_all_reduce = fields.Flag("custom_all_reduce");
  // Becomes part of the machine's library (run/scenario.cc).
  fields.NonNegative<Duration>("all_reduce_overhead");
  engine.python = fields.Flag("python");
  engine.whole_ends = fields.Flag("whole_ends");
  engine.narrow_head = fields.Flag("narrow_head");
  if (fields.Has("library_weights")) {
    const auto format = fields.Enum<pb::DType>("library_weights");
    if (format != pb::DTYPE_UNSPECIFIED) {
      engine.library_weights = FromProto(format);
    }
  }
  engine.memory_policy = Ordinal<MemoryPolicy>(
      fields.Enum<pb::Engine::MemoryPolicy>("memory_policy"));
  if (engine.memory_policy == MemoryPolicy::kAsNeeded) {
    if (fields.Has("memory_fraction")) {
      fields.Refuse("memory_fraction",
                    "a cache that is as large as needed has no share; leave it "
                    "unset, or choose another memory_policy");
    }
  } else {
    engine.memory_fraction = fields.Efficiency("memory_fraction");
  }
  engine.graph_memory = fields.NonNegative<Bytes>("graph_memory");
  engine.kv_block = fields.Count("kv_block", 1, kLargestBlock);
  engine.max_batch = fields.Count("max_batch", 1, kLargestBatch);
  engine.max_step_tokens = fields.Count("max_step_tokens", 1, kLargestBatch);
  return engine;
}

}  // namespace orrery
