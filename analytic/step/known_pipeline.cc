#include "analytic/step/known_pipeline.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "analytic/step/memory_walk.h"

namespace orrery {
namespace {

// What is remembered is no more than this, but for a single answer.
constexpr size_t kMostBytes = size_t{1} << 18;

// Numbers without gaps between them.
template <class T>
void AddBytes(absl::Span<const T> values, std::string* key) {
  static_assert(std::is_arithmetic_v<T> || sizeof(T) % sizeof(double) == 0);
  key->append(reinterpret_cast<const char*>(values.data()),
              values.size() * sizeof(T));
}

}  // namespace

KnownPipeline::KnownPipeline(PipelineOrders orders)
    : orders_(std::move(orders)) {
  const auto pieces = static_cast<size_t>(orders_.layout.pieces());
  for (const std::vector<PipelineAction>& order : orders_.of_rank) {
    repeats_.push_back(RepeatsInPairs(order));
    std::vector<size_t> last(pieces, 0);
    std::vector<int>& beginning = beginning_.emplace_back();
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i].pass == PipelinePass::kForward &&
          std::find(beginning.begin(), beginning.end(), order[i].piece) ==
              beginning.end()) {
        beginning.push_back(order[i].piece);
      }
      if (order[i].pass == PipelinePass::kBackward ||
          order[i].pass == PipelinePass::kWeightGradient) {
        last[static_cast<size_t>(order[i].piece)] = i;
      }
    }
    std::vector<int>& of_rank = completion_.emplace_back(pieces);
    std::iota(of_rank.begin(), of_rank.end(), 0);
    std::sort(of_rank.begin(), of_rank.end(), [&](int a, int b) {
      return last[static_cast<size_t>(a)] < last[static_cast<size_t>(b)];
    });
  }
}

int KnownPipeline::PlaceOf(int rank, int piece) const {
  const std::vector<int>& order = Completion(rank);
  return static_cast<int>(std::find(order.begin(), order.end(), piece) -
                          order.begin());
}

const PipelineEnds& KnownPipeline::Ends(const PipelineTimes& times) {
  std::string key;
  key.reserve(sizeof(double) * (1 + times.hops.size()) +
              sizeof(StageTimes) * times.kinds.size() +
              sizeof(uint16_t) * times.kind_of_stage.size() +
              sizeof(PairDelays) * times.pairs.size() + 4);
  for (const bool flag :
       {times.sends_are_waited_for, times.results_are_waited_for,
        times.reductions_are_waited_for, times.host_waits_for_receive}) {
    key.push_back(flag ? '1' : '0');
  }
  AddBytes(absl::MakeConstSpan(&times.gather, 1), &key);
  AddBytes(times.kinds, &key);
  AddBytes(times.kind_of_stage, &key);
  AddBytes(times.pairs, &key);
  AddBytes(times.hops, &key);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  if ((known_.size() + 1) * key.size() > kMostBytes) known_.clear();
  if (!clock_) clock_.emplace(orders_);
  return known_[std::move(key)] = clock_->RunBoth(times);
}

std::vector<std::vector<double>> KnownPipeline::PassEnds(
    const PipelineTimes& times) {
  if (!clock_) clock_.emplace(orders_);
  std::vector<std::vector<double>> ends;
  clock_->Run(times, &ends);
  return ends;
}

}  // namespace orrery
