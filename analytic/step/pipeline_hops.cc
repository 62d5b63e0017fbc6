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
  hops.least_transfers.reserve(static_cast<size_t>(ranks));
  for (const GroupSpan& hop : spans.hops()) {
    const PriceList::CallPrice price =
        prices.PriceOf(CommunicationKind::kPointToPoint, sent, hop);
    hops.transfers.push_back(price.seconds);
    hops.least_transfers.push_back(price.least);
  }
  if (plan.scatter_pipeline()) {
    const PriceList::CallPrice price = prices.PriceOf(
        CommunicationKind::kAllGather, whole, spans.of(GroupFamily::kTensor));
    hops.gather = price.seconds;
    hops.least_gather = price.least;
  }
  return hops;
}

}  // namespace orrery
