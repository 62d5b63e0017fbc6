#pragma once
// Runs pipeline orders with integer times and free communication: the reference
// that schedules are tested against.
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "workload/plan/schedule.h"

namespace orrery {

// Time of one pass of one piece; `pair` of an overlapped forward and backward.
struct UnitTimes {
  int forward = 1;
  int input_gradient = 1;
  int weight_gradient = 1;
  int pair = 3;
};

struct UnitRun {
  int makespan = 0;
  std::vector<int> busy;         // per rank
  std::vector<int> first_start;  // per rank
  std::vector<int> last_end;     // per rank
};

class UnitTimeRunner {
 public:
  UnitTimeRunner(const PipelineOrders& orders, UnitTimes times)
      : orders_(orders), times_(times) {}

  UnitRun Run() {
    const size_t ranks = orders_.of_rank.size();
    UnitRun run{0, std::vector<int>(ranks), std::vector<int>(ranks, -1),
                std::vector<int>(ranks)};
    std::vector<size_t> next(ranks);
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t rank = 0; rank < ranks; ++rank) {
        while (next[rank] < orders_.of_rank[rank].size() &&
               Advance(static_cast<int>(rank), next[rank], run)) {
          progress = true;
        }
      }
    }
    for (size_t rank = 0; rank < ranks; ++rank) {
      CHECK_EQ(next[rank], orders_.of_rank[rank].size()) << "deadlock";
      run.makespan = std::max(run.makespan, run.last_end[rank]);
    }
    return run;
  }

 private:
  using Key = std::tuple<PipelinePass, int, int>;  // pass, stage, micro-batch

  bool Advance(int rank, size_t& next, UnitRun& run) {
    const auto& order = orders_.of_rank[static_cast<size_t>(rank)];
    const PipelineAction& action = order[next];
    const std::optional<int> ready = Ready(rank, action);
    if (!ready) return false;
    int start = std::max(*ready, run.last_end[static_cast<size_t>(rank)]);
    int duration = TimeOf(action);
    if (action.with_next) {
      const std::optional<int> other = Ready(rank, order[next + 1]);
      if (!other) return false;
      start = std::max(start, *other);
      duration = times_.pair;
      Finish(rank, order[next + 1], start + duration);
      ++next;
    }
    Finish(rank, action, start + duration);
    ++next;
    const auto r = static_cast<size_t>(rank);
    if (run.first_start[r] < 0) run.first_start[r] = start;
    run.last_end[r] = start + duration;
    run.busy[r] += duration;
    return true;
  }

  int TimeOf(const PipelineAction& action) const {
    switch (action.pass) {
      case PipelinePass::kForward:
        return times_.forward;
      case PipelinePass::kBackward:
        return times_.input_gradient + times_.weight_gradient;
      case PipelinePass::kInputGradient:
        return times_.input_gradient;
      case PipelinePass::kWeightGradient:
        return times_.weight_gradient;
    }
    return 0;
  }

  // When the inputs are there; nothing if that is not known yet. Gradients of
  // all kinds count as input gradients: that is what the next stage waits for.
  std::optional<int> Ready(int rank, const PipelineAction& action) const {
    const int stage = orders_.layout.StageOf(rank, action.piece);
    const int last = orders_.layout.stages() - 1;
    const int micro = action.micro_batch;
    if (action.pass == PipelinePass::kForward) {
      if (stage == 0) return 0;
      return End(PipelinePass::kForward, stage - 1, micro);
    }
    if (action.pass == PipelinePass::kWeightGradient) {
      return End(PipelinePass::kInputGradient, stage, micro);
    }
    const auto own = End(PipelinePass::kForward, stage, micro);
    if (!own || stage == last) return own;
    const auto above = End(PipelinePass::kInputGradient, stage + 1, micro);
    if (!above) return above;
    return std::max(*own, *above);
  }
  std::optional<int> End(PipelinePass pass, int stage, int micro) const {
    const auto it = ends_.find({pass, stage, micro});
    if (it == ends_.end()) return std::nullopt;
    return it->second;
  }
  void Finish(int rank, const PipelineAction& action, int end) {
    const auto pass = action.pass == PipelinePass::kBackward
                          ? PipelinePass::kInputGradient
                          : action.pass;
    const int stage = orders_.layout.StageOf(rank, action.piece);
    const bool added =
        ends_.emplace(Key{pass, stage, action.micro_batch}, end).second;
    CHECK(added) << "an action twice";
  }

  const PipelineOrders& orders_;
  UnitTimes times_;
  std::map<Key, int> ends_;
};

inline UnitRun RunUnitTimes(const PipelineOrders& orders, UnitTimes times) {
  return UnitTimeRunner(orders, times).Run();
}

}  // namespace orrery
