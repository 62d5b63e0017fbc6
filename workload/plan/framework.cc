#include "workload/plan/framework.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "proto/framework.pb.h"
#include "topology/machine/field_reader.h"

namespace orrery {
namespace {

constexpr double kMostFragmentation = 10;
constexpr double kMostSpread = 1;
// No chip has as much, and sums over groups and kinds stay far below what a
// count of bytes can hold.
constexpr Bytes kMostMemory{int64_t{1} << 50};
constexpr double kMostCopied = 100;  // bytes of a parameter
constexpr int kMostAhead = 1'000'000;
constexpr int kMostBuffers = 100;

// Fields of a plan that are the software's to choose.
constexpr std::string_view kChoices[] = {"gradient_precision",
                                         "attention_kernel",
                                         "bucket",
                                         "overlap_gradient_reduction",
                                         "overlap_parameter_gather",
                                         "overlap_backward_gather",
                                         "overlap_tensor",
                                         "context_method",
                                         "dispatch_precision",
                                         "moment_precision",
                                         "routing_weight",
                                         "accumulate_locally",
                                         "reshard_after_forward",
                                         "dispatch_method",
                                         "overlap_pipeline",
                                         "scatter_pipeline",
                                         "overlap_weight_gradient",
                                         "fuse_gradient_accumulation"};

void CheckChoices(const pb::Training& usual, const FieldReader& fields) {
  std::vector<const google::protobuf::FieldDescriptor*> set;
  usual.GetReflection()->ListFields(usual, &set);
  for (const auto* field : set) {
    const std::string name(field->name());
    if (std::find(std::begin(kChoices), std::end(kChoices), name) ==
        std::end(kChoices)) {
      fields.Refuse("training." + name,
                    "is a matter of the plan, not of the framework; set it in "
                    "training");
    }
  }
}

Fusion ToFusion(pb::Framework::Fusion fusion) {
  switch (fusion) {
    case pb::Framework::FUSION_NONE:
      return Fusion::kNone;
    case pb::Framework::FUSION_RESIDUAL_NORM:
      return Fusion::kResidualNorm;
    case pb::Framework::FUSION_POINTWISE:
    case pb::Framework::FUSION_UNSPECIFIED:
      break;
  }
  return Fusion::kPointwise;
}

// The quantile of the normal distribution, for probabilities above a half, by
// the rational approximation 26.2.23 of Abramowitz and Stegun: within 4.5e-4.
double UpperQuantile(double tail) {
  const double t = std::sqrt(-2 * std::log(tail));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

Bytes Memory(const FieldReader& fields, std::string_view name) {
  const Bytes bytes = fields.OptionalPositive<Bytes>(name).value_or(Bytes(0));
  if (bytes > kMostMemory) {
    fields.Refuse(name, "is more than 1 PiB, which no chip has");
    return Bytes(0);
  }
  return bytes;
}

}  // namespace

absl::StatusOr<Framework> Framework::FromProto(const pb::Framework& proto) {
  Violations violations;
  const FieldReader fields(proto, "framework", &violations);
  CheckChoices(proto.training(), fields);
  Framework framework;
  framework.name = proto.name();
  framework.fusion = ToFusion(proto.fusion());
  framework.loss_in_parts = proto.loss() == pb::Framework::LOSS_IN_PARTS;
  framework.separate_loss =
      framework.loss_in_parts || proto.loss() == pb::Framework::LOSS_SEPARATE;
  framework.separate_optimizer =
      proto.optimizer() == pb::Framework::OPTIMIZER_FOREACH;
  framework.keep_gathered = proto.keep_gathered();
  framework.dispatch = fields.OptionalPositive<Duration>("dispatch");
  framework.collective_check =
      fields.OptionalPositive<Duration>("collective_check")
          .value_or(Duration(0));
  // A host that starts kernels at once still has to compare.
  if (proto.has_collective_check() && !framework.dispatch) {
    framework.dispatch = Duration(1);
  }
  framework.host_waits_for_receive = proto.host_waits_for_receive();
  framework.blocking_launches = proto.blocking_launches();
  if (framework.blocking_launches && !proto.has_dispatch()) {
    fields.Refuse("blocking_launches",
                  "needs dispatch, which is what each launch takes");
  }
  framework.embeds_by_product = proto.embeds_by_product();
  framework.prunes_recomputation = proto.prunes_recomputation();
  framework.products_apart = proto.products_apart();
  framework.repeats_key_values = proto.repeats_key_values();
  framework.complex_rotation = proto.complex_rotation();
  framework.norms_in_parts = proto.norms_in_parts();
  framework.keeps_buckets = proto.keeps_buckets();
  framework.reduction_bytes =
      fields.OptionalReal("reduction_bytes", 0, kMostCopied).value_or(0);
  framework.widening_bytes =
      fields.OptionalReal("widening_bytes", 0, kMostCopied).value_or(0);
  framework.keeps_gradients = proto.keeps_gradients();
  framework.bucket_memory = Memory(fields, "bucket_memory");
  framework.launch_queue =
      fields.OptionalCount("launch_queue", 1, kMostAhead).value_or(0);
  framework.gather_buffers =
      fields.OptionalCount("gather_buffers", 1, kMostBuffers).value_or(0);
  framework.group_memory = Memory(fields, "group_memory");
  framework.fragmentation =
      fields.OptionalReal("fragmentation", 0, kMostFragmentation).value_or(0);
  RETURN_IF_ERROR(violations.ToStatus());
  return framework;
}

absl::StatusOr<Variation> Variation::FromProto(const pb::Variation& proto) {
  Violations violations;
  const FieldReader fields(proto, "variation", &violations);
  Variation variation;
  variation.device_spread =
      fields.OptionalReal("device_spread", 0, kMostSpread).value_or(0);
  variation.pass_jitter =
      fields.OptionalReal("pass_jitter", 0, kMostSpread).value_or(0);
  RETURN_IF_ERROR(violations.ToStatus());
  return variation;
}

double ExpectedMaximum(int64_t count) {
  CHECK(count >= 1) << "the largest of none";
  if (count == 1) return 0;
  const auto n = static_cast<double>(count);
  // Blom: the quantile at (n - 3/8) / (n + 1/4).
  return UpperQuantile((5.0 / 8) / (n + 1.0 / 4));
}

double SlowestOf(const Variation& variation, int64_t ranks, int64_t passes) {
  const double jitter =
      variation.pass_jitter /
      std::sqrt(static_cast<double>(std::max<int64_t>(1, passes)));
  return 1 +
         ExpectedMaximum(ranks) * std::hypot(variation.device_spread, jitter);
}

}  // namespace orrery
