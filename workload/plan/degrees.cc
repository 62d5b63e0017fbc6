#include "workload/plan/degrees.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/format.h"
#include "proto/training.pb.h"
#include "workload/plan/divisors.h"

namespace orrery {
namespace {

// More ranks than any machine will have; keeps products within int64_t.
constexpr int kLargestDegree = 1 << 20;

Dimension FromProto(pb::Parallel::Dimension dimension) {
  switch (dimension) {
    case pb::Parallel::CONTEXT:
      return Dimension::kContext;
    case pb::Parallel::EXPERT:
      return Dimension::kExpert;
    case pb::Parallel::DATA:
      return Dimension::kData;
    case pb::Parallel::PIPELINE:
      return Dimension::kPipeline;
    case pb::Parallel::TENSOR:
    case pb::Parallel::DIMENSION_UNSPECIFIED:
      break;
  }
  return Dimension::kTensor;
}

void ReadOrder(const pb::Parallel& proto, const FieldReader& fields,
               Degrees* degrees) {
  if (proto.order_size() == 0) return;
  std::array<bool, 5> seen{};
  bool each_once = proto.order_size() == 5;
  for (int i = 0; i < std::min(5, proto.order_size()); ++i) {
    const Dimension dimension = FromProto(proto.order(i));
    each_once &= proto.order(i) != pb::Parallel::DIMENSION_UNSPECIFIED;
    each_once &= !seen[static_cast<size_t>(dimension)];
    seen[static_cast<size_t>(dimension)] = true;
    degrees->order[static_cast<size_t>(i)] = dimension;
  }
  if (each_once) return;
  degrees->order = Degrees().order;
  fields.Refuse("order",
                "must name TENSOR, CONTEXT, EXPERT, DATA and PIPELINE once "
                "each");
}

// The rules of one plan, each in a function of its own.
class DegreeRules {
 public:
  DegreeRules(const Degrees& degrees, const Model& model,
              const FieldReader& fields)
      : degrees_(degrees), model_(model), fields_(fields) {}

  void CheckChips(int64_t chips) const {
    // The product means nothing with a dummy in it.
    for (const char* name : {"tensor", "context", "pipeline", "data"}) {
      if (fields_.IsRefused(name)) return;
    }
    const int64_t model_ranks =
        int64_t{degrees_.tensor} * degrees_.context * degrees_.pipeline;
    const double product = static_cast<double>(model_ranks) * degrees_.data;
    if (product == static_cast<double>(chips)) return;
    std::string given =
        fmt::format("tensor {} x context {} x pipeline {}", degrees_.tensor,
                    degrees_.context, degrees_.pipeline);
    if (chips % model_ranks == 0) {
      if (degrees_.data > 0) {
        given +=
            fmt::format(" x data {} = {:.0f} ranks", degrees_.data, product);
      }
      fields_.Refuse("data", fmt::format("{}, but the system has {} chips; "
                                         "data would be {}",
                                         given, chips, chips / model_ranks));
    } else {
      fields_.Refuse(
          "data",
          fmt::format("{} = {} does not divide the system's {} chips; the "
                      "product could be {}",
                      given, model_ranks, chips,
                      NearestDivisors(chips, model_ranks)));
    }
  }

  void CheckTensor(int64_t tokens) const {
    const Attention& attention = model_.attention();
    const bool splits_tokens =
        degrees_.sequence_parallel && tokens % degrees_.context == 0;
    // The degree must divide all of these: one that is near for one of them may
    // be illegal for another.
    int64_t all = std::gcd<int64_t>(attention.heads, model_.hidden());
    if (model_.mlp()) all = std::gcd<int64_t>(all, model_.mlp()->width);
    if (splits_tokens) all = std::gcd(all, tokens / degrees_.context);
    const auto suits_keys = [&](int64_t degree) {
      return attention.is_latent() || attention.kv_heads % degree == 0 ||
             degree % attention.kv_heads == 0;
    };
    const auto nearest = [&] {
      const int64_t top = std::min<int64_t>(all, degrees_.tensor);
      int64_t below = top;
      while (all % below != 0 || !suits_keys(below)) --below;
      int64_t above = top + 1;
      while (above <= all && (all % above != 0 || !suits_keys(above))) ++above;
      return above > all ? fmt::to_string(below)
                         : fmt::format("{} or {}", below, above);
    };
    const auto divides = [&](int64_t n, const char* what) {
      if (n % degrees_.tensor == 0) return;
      fields_.Refuse("tensor",
                     fmt::format("{} must divide {}, {}; nearest: {}",
                                 degrees_.tensor, n, what, nearest()));
    };
    divides(attention.heads, "the attention heads");
    if (!suits_keys(degrees_.tensor)) {
      fields_.Refuse(
          "tensor",
          fmt::format("{} must divide the {} key-value heads or be a multiple "
                      "of them, which copies them; nearest: {}",
                      degrees_.tensor, attention.kv_heads, nearest()));
    }
    divides(model_.hidden(), "the hidden size");
    if (model_.mlp()) divides(model_.mlp()->width, "the MLP width");
    if (splits_tokens) {
      divides(tokens / degrees_.context,
              "the tokens of a rank, because sequence_parallel splits them");
    }
  }

  void CheckContext(int64_t tokens) const {
    // Causal balance gives each rank two chunks of the sequence.
    const int64_t chunks = int64_t{2} * degrees_.context;
    if (degrees_.context == 1 || tokens % chunks == 0) return;
    const std::string remedy =
        tokens % 2 == 0 ? NearestDivisors(tokens / 2, degrees_.context) : "1";
    fields_.Refuse("context",
                   fmt::format("{} ranks cut a sequence into {} chunks, which "
                               "must divide its {} tokens; nearest: {}",
                               degrees_.context, chunks, tokens, remedy));
  }

  void CheckExperts(int redundant) const {
    if (!model_.moe()) {
      for (const auto& [name, degree] :
           {std::pair{"expert", degrees_.expert},
            std::pair{"expert_tensor", degrees_.expert_tensor}}) {
        if (degree > 1) {
          fields_.Refuse(name, fmt::format("{}, but {} has no experts; set it "
                                           "to 1",
                                           degree, model_.name()));
        }
      }
      return;
    }
    Divides("expert", degrees_.expert, model_.moe()->experts + redundant,
            "the number of experts");
    Divides("expert_tensor", degrees_.expert_tensor, model_.moe()->expert_width,
            "the width of an expert");
    if (!degrees_.sequence_parallel &&
        degrees_.expert_tensor != degrees_.tensor) {
      fields_.Refuse(
          "expert_tensor",
          fmt::format("{}, but tensor is {}: without sequence_parallel tensor "
                      "ranks have the same tokens, so experts must be split as "
                      "the rest; set it to {} or set sequence_parallel",
                      degrees_.expert_tensor, degrees_.tensor,
                      degrees_.tensor));
    }
    const int64_t ranks = int64_t{degrees_.expert} * degrees_.expert_tensor;
    if (degrees_.data > 0 && degrees_.stage_ranks() % ranks != 0) {
      fields_.Refuse(
          "expert",
          fmt::format("expert {} x expert_tensor {} must divide the {} ranks "
                      "of a stage (tensor x context x data); the product could "
                      "be {}",
                      degrees_.expert, degrees_.expert_tensor,
                      degrees_.stage_ranks(),
                      NearestDivisors(degrees_.stage_ranks(), ranks)));
    }
  }

 private:
  void Divides(const char* name, int64_t divisor, int64_t n,
               const char* what) const {
    if (n % divisor == 0) return;
    fields_.Refuse(name,
                   fmt::format("{} must divide {}, {}; nearest: {}", divisor, n,
                               what, NearestDivisors(n, divisor)));
  }

  const Degrees& degrees_;
  const Model& model_;
  const FieldReader& fields_;
};

}  // namespace

Degrees ReadDegrees(const pb::Parallel& proto, const FieldReader& fields) {
  Degrees degrees;
  degrees.tensor = fields.Count("tensor", 1, kLargestDegree);
  degrees.context = fields.Count("context", 1, kLargestDegree);
  degrees.pipeline = fields.Count("pipeline", 1, kLargestDegree);
  degrees.data = proto.has_data() ? fields.Count("data", 1, kLargestDegree) : 0;
  degrees.expert = fields.Count("expert", 1, kLargestDegree);
  degrees.expert_tensor = fields.Count("expert_tensor", 1, kLargestDegree);
  degrees.sequence_parallel = proto.sequence_parallel();
  ReadOrder(proto, fields, &degrees);
  return degrees;
}

void CheckDegrees(const Degrees& degrees, const Model& model, int64_t chips,
                  int64_t tokens, const FieldReader& fields,
                  int redundant_experts) {
  const DegreeRules rules(degrees, model, fields);
  rules.CheckChips(chips);
  rules.CheckTensor(tokens);
  rules.CheckContext(tokens);
  rules.CheckExperts(redundant_experts);
}

}  // namespace orrery
