#include "analytic/step/pipeline_hops.h"

namespace orrery {

HopTimes PipelineHops(const Model& model, const TrainingPlan& plan,
                      const LayerShape& shape, GroupSpans& spans,
                      PriceList& prices) {
  HopTimes hops;
  const int ranks = plan.degrees().pipeline;
  if (ranks == 1) return hops;
  const bool shared = shape.sequence_parallel || plan.scatter_pipeline();
  const Bytes whole =
      StorageBytes(shape.activation, shape.tokens() * model.hidden());
  const Bytes sent = shared ? whole / shape.tensor : whole;
  hops.transfers.reserve(static_cast<size_t>(ranks));
  for (const GroupSpan& hop : spans.hops()) {
    hops.transfers.push_back(
        prices.Call(CommunicationKind::kPointToPoint, sent, hop));
  }
  if (plan.scatter_pipeline()) {
    hops.gather = prices.Call(CommunicationKind::kAllGather, whole,
                              spans.of(GroupFamily::kTensor));
  }
  return hops;
}

}  // namespace orrery
