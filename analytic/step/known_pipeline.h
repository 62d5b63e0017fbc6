#pragma once
// KnownPipeline: a schedule's orders, and when its ranks end with times that
// were asked for before. Plans that differ in their data dimension only ask for
// the same again and again.
//
//   KnownPipeline pipeline(MakeOrders(...));
//   pipeline.Ends({.kinds = kinds, .kind_of_stage = of, .hops = hops}).ends;
//
// The answers are those of PipelineClock, to the last bit.
#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analytic/step/pipeline_clock.h"
#include "workload/plan/schedule.h"

namespace orrery {

class KnownPipeline {
 public:
  explicit KnownPipeline(PipelineOrders orders);

  const PipelineOrders& orders() const { return orders_; }
  // Pieces of a rank in the order in which their last gradients come, and the
  // place of one in it.
  const std::vector<int>& Completion(int rank) const {
    return completion_[static_cast<size_t>(rank)];
  }
  int PlaceOf(int rank, int piece) const;
  // Pieces of a rank in the order of their first forward passes.
  const std::vector<int>& Beginning(int rank) const {
    return beginning_[static_cast<size_t>(rank)];
  }
  // See memory_walk.h.
  const std::vector<uint32_t>& Repeats(int rank) const {
    return repeats_[static_cast<size_t>(rank)];
  }
  // Valid until the next one is asked for.
  const PipelineEnds& Ends(const PipelineTimes& times);
  // Of every pass, by rank; not remembered.
  std::vector<std::vector<double>> PassEnds(const PipelineTimes& times);

 private:
  PipelineOrders orders_;
  std::vector<std::vector<int>> completion_;    // by rank
  std::vector<std::vector<int>> beginning_;     // by rank
  std::vector<std::vector<uint32_t>> repeats_;  // by rank
  std::optional<PipelineClock> clock_;          // when it is first needed
  // By the bytes of what was asked.
  absl::flat_hash_map<std::string, PipelineEnds> known_;
};

}  // namespace orrery
