#include "analytic/step/pipeline_hops.h"

#include "workload/plan/stage.h"

namespace orrery {

HopTimes PipelineHops(const Model& model, const TrainingPlan& plan,
                      const Placement& placement, const GroupSpan& tensor,
                      PriceList& prices) {
  HopTimes hops;
  const int ranks = plan.degrees().pipeline;
  if (ranks == 1) return hops;
  const LayerShape shape = ShapeOf(plan);
  const bool shared = shape.sequence_parallel || plan.scatter_pipeline();
  const Bytes whole =
      StorageBytes(shape.activation, shape.tokens() * model.hidden());
  const Bytes sent = shared ? whole / shape.tensor : whole;
  hops.transfers.reserve(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const int ends[] = {
        placement.ChipOf(placement.PeerOf(0, rank)),
        placement.ChipOf(placement.PeerOf(0, (rank + 1) % ranks))};
    hops.transfers.push_back(
        prices.Call(CommunicationKind::kPointToPoint, sent, prices.Span(ends)));
  }
  if (plan.scatter_pipeline()) {
    hops.gather = prices.Call(CommunicationKind::kAllGather, whole, tensor);
  }
  return hops;
}

}  // namespace orrery
