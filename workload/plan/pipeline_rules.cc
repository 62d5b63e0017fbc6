#include "workload/plan/pipeline_rules.h"

#include <numeric>

#include "base/format.h"
#include "workload/plan/divisors.h"

namespace orrery {

void CheckSchedule(const ScheduleChoice& choice, const FieldReader& fields) {
  const int pipeline = choice.pipeline;
  const int virtual_stages = choice.virtual_stages;
  const int micro_batches = choice.micro_batches;
  const auto pieces = [&](int wanted, const char* schedule) {
    if (virtual_stages == wanted) return;
    fields.Refuse("virtual_stages",
                  fmt::format("{}, but {} has {} per rank", virtual_stages,
                              schedule, wanted));
  };
  switch (choice.schedule) {
    case PipelineSchedule::kGPipe:
      return pieces(1, "GPIPE");
    case PipelineSchedule::kOneForwardOneBackward:
      if (virtual_stages != 1) {
        fields.Refuse("virtual_stages",
                      fmt::format("{}, but ONE_F_ONE_B has 1 per rank; for "
                                  "more use INTERLEAVED_1F1B",
                                  virtual_stages));
      }
      return;
    case PipelineSchedule::kZeroBubbleH1:
      return pieces(1, "ZB_H1");
    case PipelineSchedule::kZeroBubbleV:
      return pieces(2, "ZB_V");
    case PipelineSchedule::kInterleaved:
      if (virtual_stages < 2) {
        fields.Refuse("virtual_stages",
                      "1, but INTERLEAVED_1F1B needs 2 or more; for 1 use "
                      "ONE_F_ONE_B");
      }
      if (pipeline < 2) {
        fields.Refuse("schedule",
                      "INTERLEAVED_1F1B needs a pipeline degree of 2 or "
                      "more; for 1 use ONE_F_ONE_B");
      }
      if (micro_batches % pipeline != 0) {
        fields.Refuse(
            "schedule",
            fmt::format("INTERLEAVED_1F1B needs micro-batches in multiples "
                        "of the {} stages, and a replica has {}; nearest: {}",
                        pipeline, micro_batches,
                        NearestMultiples(pipeline, micro_batches)));
      }
      return;
    case PipelineSchedule::kDualPipe:
      pieces(1, "DUAL_PIPE");
      if (pipeline % 2 != 0) {
        fields.Refuse("schedule",
                      fmt::format("DUAL_PIPE needs an even pipeline degree, "
                                  "not {}",
                                  pipeline));
      }
      if (micro_batches % 2 != 0 || micro_batches < 2 * pipeline) {
        fields.Refuse(
            "schedule",
            fmt::format("DUAL_PIPE needs an even number of micro-batches, at "
                        "least twice the {} stages; a replica has {}",
                        pipeline, micro_batches));
      }
      return;
  }
}

std::vector<int> ReadLayersPerStage(const pb::Training& proto, int layers,
                                    int pipeline, int virtual_stages,
                                    const FieldReader& fields) {
  const int64_t pieces = int64_t{pipeline} * virtual_stages;
  if (proto.layers_per_stage_size() == 0) {
    if (layers % pieces != 0) {
      fields.Refuse(
          "parallel.pipeline",
          fmt::format("pipeline {} x virtual_stages {} must divide the {} "
                      "layers, or layers_per_stage must say how they are "
                      "spread; the product could be {}",
                      pipeline, virtual_stages, layers,
                      NearestDivisors(layers, pieces)));
      return {};
    }
    return std::vector<int>(static_cast<size_t>(pieces),
                            static_cast<int>(layers / pieces));
  }
  std::vector<int> per_stage = fields.Counts("layers_per_stage", 0, layers);
  if (proto.layers_per_stage_size() != pieces) {
    fields.Refuse(
        "layers_per_stage",
        fmt::format("has {} entries; write pipeline x virtual_stages = "
                    "{}",
                    proto.layers_per_stage_size(), pieces));
    return per_stage;
  }
  const int64_t sum =
      std::accumulate(per_stage.begin(), per_stage.end(), int64_t{0});
  if (sum != layers) {
    fields.Refuse("layers_per_stage",
                  fmt::format("sums to {}; must sum to the model's {} layers",
                              sum, layers));
  }
  // The embedding or the head may have a piece to themselves.
  for (size_t i = 1; i + 1 < per_stage.size(); ++i) {
    if (per_stage[i] > 0) continue;
    fields.Refuse(
        fmt::format("layers_per_stage[{}]", i),
        "0: only the first piece, which has the embedding, and the last, "
        "which has the head, may be without layers");
  }
  return per_stage;
}

}  // namespace orrery
