#include "workload/plan/list_scheduler.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "base/check.h"

namespace orrery {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// When passes end, as far as they are known.
class PassEnds {
 public:
  PassEnds(const StageLayout& layout, const PassProfile& profile,
           int micro_batches)
      : layout_(layout),
        profile_(profile),
        micro_batches_(static_cast<size_t>(micro_batches)),
        ends_(2 * static_cast<size_t>(layout.stages()) * micro_batches_,
              kNever) {}

  int64_t Duration(PipelinePass pass, int stage) const {
    if (profile_.stages.empty()) return 1;
    const PassProfile::Stage& times =
        profile_.stages[static_cast<size_t>(stage)];
    return pass == PipelinePass::kForward         ? times.forward
           : pass == PipelinePass::kInputGradient ? times.input_gradient
                                                  : times.weight_gradient;
  }

  // When the pass can start, kNever while what it waits for has not started.
  int64_t Ready(PipelinePass pass, int stage, int micro_batch) const {
    switch (pass) {
      case PipelinePass::kForward:
        return stage == 0 ? 0 : Arrival(pass, stage - 1, stage, micro_batch);
      case PipelinePass::kInputGradient: {
        const int64_t own = At(PipelinePass::kForward, stage, micro_batch);
        return stage == layout_.stages() - 1
                   ? own
                   : std::max(own,
                              Arrival(pass, stage + 1, stage, micro_batch));
      }
      default:
        return At(PipelinePass::kInputGradient, stage, micro_batch);
    }
  }

  void Set(PipelinePass pass, int stage, int micro_batch, int64_t end) {
    if (pass != PipelinePass::kWeightGradient) {
      ends_[Place(pass, stage, micro_batch)] = end;
    }
  }

 private:
  size_t Place(PipelinePass pass, int stage, int micro_batch) const {
    const size_t row = 2 * static_cast<size_t>(stage) +
                       (pass == PipelinePass::kInputGradient ? 1 : 0);
    return row * micro_batches_ + static_cast<size_t>(micro_batch);
  }
  int64_t At(PipelinePass pass, int stage, int micro_batch) const {
    return ends_[Place(pass, stage, micro_batch)];
  }
  int64_t Arrival(PipelinePass pass, int from, int to, int micro_batch) const {
    const int64_t end = At(pass, from, micro_batch);
    const bool hops = layout_.PlaceOf(from).rank != layout_.PlaceOf(to).rank;
    return end == kNever ? kNever : end + (hops ? profile_.hop : 0);
  }

  const StageLayout& layout_;
  const PassProfile& profile_;
  size_t micro_batches_;
  std::vector<int64_t> ends_;
};

struct Choice {
  PipelinePass pass;
  int16_t piece;
};
constexpr Choice kF0{PipelinePass::kForward, 0};
constexpr Choice kF1{PipelinePass::kForward, 1};
constexpr Choice kB0{PipelinePass::kInputGradient, 0};
constexpr Choice kB1{PipelinePass::kInputGradient, 1};
constexpr Choice kW0{PipelinePass::kWeightGradient, 0};
constexpr Choice kW1{PipelinePass::kWeightGradient, 1};

using Preferences = std::array<Choice, 6>;

// The preferences of a rank in the four parts of a step, and how long it waits
// for a preferred pass, in quarters of a forward pass.
struct Preferred {
  Preferences before_gradients;
  Preferences steady;
  Preferences first_piece_done;  // all its forward passes
  Preferences drain;             // all forward passes are done
  int patience;
};

// The first three were found by a search over random preferences; each is the
// best for some ratio of forward, input gradient, weight gradient and hop.
constexpr Preferred kPreferred[] = {
    {{kB0, kB1, kF1, kF0, kW1, kW0},
     {kF1, kB0, kW0, kF0, kW1, kB1},
     {kW0, kB0, kF1, kF0, kW1, kB1},
     {kB0, kB1, kF1, kW0, kF0, kW1},
     1},
    {{kF1, kF0, kW0, kB0, kW1, kB1},
     {kF1, kB0, kF0, kW1, kW0, kB1},
     {kW0, kW1, kF1, kB0, kF0, kB1},
     {kW0, kB1, kF0, kB0, kW1, kF1},
     1},
    {{kF1, kW1, kB1, kW0, kB0, kF0},
     {kW0, kF1, kF0, kW1, kB0, kB1},
     {kF1, kB1, kW1, kB0, kF0, kW0},
     {kW0, kB1, kB0, kF1, kF0, kW1},
     4},
    // Forward passes first, for steps too short to fill the pipeline.
    {{kF1, kF0, kB0, kB1, kW0, kW1},
     {kF1, kF0, kB0, kB1, kW0, kW1},
     {kF1, kF0, kB0, kB1, kW0, kW1},
     {kF1, kF0, kB0, kB1, kW0, kW1},
     0},
    // Gradients first.
    {{kB1, kB0, kF1, kF0, kW0, kW1},
     {kB1, kB0, kF1, kF0, kW0, kW1},
     {kB1, kB0, kF1, kF0, kW0, kW1},
     {kB1, kB0, kF1, kF0, kW0, kW1},
     0}};

class ListScheduler {
 public:
  ListScheduler(const StageLayout& layout, const PassProfile& profile,
                int micro_batches, SchedulingRule rule)
      : layout_(layout),
        before_gradients_(kPreferred[rule.before_gradients].before_gradients),
        steady_(kPreferred[rule.steady].steady),
        first_piece_done_(kPreferred[rule.drain].first_piece_done),
        drain_(kPreferred[rule.drain].drain),
        patience_(kPreferred[rule.steady].patience),
        micro_batches_(micro_batches),
        ends_(layout, profile, micro_batches),
        ranks_(static_cast<size_t>(layout.ranks())) {}

  RankOrders Run() {
    RankOrders orders(ranks_.size());
    for (int rank = 0; rank < layout_.ranks(); ++rank) Look(rank);
    for (;;) {
      const auto next = std::ranges::min_element(
          ranks_, {}, [](const Rank& of) { return of.free; });
      if (next->free == kNever) break;
      const int rank = static_cast<int>(next - ranks_.begin());
      orders[static_cast<size_t>(rank)].push_back(Take(rank));
      for (int near = std::max(0, rank - 1);
           near <= std::min(rank + 1, layout_.ranks() - 1); ++near) {
        Look(near);
      }
    }
    return orders;
  }

 private:
  struct Rank {
    int64_t now = 0;   // its last pass ends
    int64_t free = 0;  // when it can start another, kNever if not yet known
    std::array<std::array<int, 2>, 3> done{};  // by pass and piece
    int Done(Choice of) const {
      return done[Row(of.pass)][static_cast<size_t>(of.piece)];
    }
    int Held(int16_t piece) const {
      return Done({PipelinePass::kForward, piece}) -
             Done({PipelinePass::kWeightGradient, piece});
    }
    static size_t Row(PipelinePass pass) {
      return pass == PipelinePass::kForward         ? 0
             : pass == PipelinePass::kInputGradient ? 1
                                                    : 2;
    }
  };

  bool two_pieces() const { return layout_.pieces() == 2; }

  bool HasRoom(int rank, int16_t piece) const {
    const Rank& of = ranks_[static_cast<size_t>(rank)];
    if (of.Held(0) + of.Held(1) >= layout_.pieces() * layout_.ranks()) {
      return false;
    }
    return !two_pieces() || piece == 1 ||
           of.Held(0) < 2 * layout_.ranks() - 1 - rank;
  }

  int64_t Ready(int rank, Choice choice) const {
    if (choice.piece >= layout_.pieces()) return kNever;
    const int next = ranks_[static_cast<size_t>(rank)].Done(choice);
    if (next >= micro_batches_) return kNever;
    if (choice.pass == PipelinePass::kForward && !HasRoom(rank, choice.piece)) {
      return kNever;
    }
    return ends_.Ready(choice.pass, layout_.StageOf(rank, choice.piece), next);
  }

  void Look(int rank) {
    int64_t first = kNever;
    for (const Choice& choice : steady_) {
      first = std::min(first, Ready(rank, choice));
    }
    Rank& of = ranks_[static_cast<size_t>(rank)];
    of.free = first == kNever ? kNever : std::max(first, of.now);
  }

  const Preferences& PreferencesOf(const Rank& rank) const {
    if (rank.Done(kB0) + rank.Done(kB1) == 0) return before_gradients_;
    if (rank.Done(kF0) < micro_batches_) return steady_;
    if (two_pieces() && rank.Done(kF1) < micro_batches_) {
      return first_piece_done_;
    }
    return drain_;
  }

  PipelineAction Take(int rank) {
    Rank& of = ranks_[static_cast<size_t>(rank)];
    for (const Choice& choice : PreferencesOf(of)) {
      const int64_t ready = Ready(rank, choice);
      if (ready == kNever) continue;
      const int stage = layout_.StageOf(rank, choice.piece);
      const int64_t patience =
          choice.pass == PipelinePass::kWeightGradient
              ? 0
              : ends_.Duration(PipelinePass::kForward, stage) * patience_ / 4;
      if (ready > of.free + patience) continue;
      int& count =
          of.done[Rank::Row(choice.pass)][static_cast<size_t>(choice.piece)];
      of.now = std::max(of.free, ready) + ends_.Duration(choice.pass, stage);
      ends_.Set(choice.pass, stage, count, of.now);
      return {choice.pass, choice.piece, count++};
    }
    CHECK(false) << "a pass that is ready is not among the preferences";
    return {};
  }

  const StageLayout& layout_;
  const Preferences& before_gradients_;
  const Preferences& steady_;
  const Preferences& first_piece_done_;
  const Preferences& drain_;
  int patience_;
  int micro_batches_;
  PassEnds ends_;
  std::vector<Rank> ranks_;
};

}  // namespace

RankOrders ListSchedule(const StageLayout& layout, const PassProfile& profile,
                        int micro_batches, SchedulingRule rule) {
  return ListScheduler(layout, profile, micro_batches, rule).Run();
}

std::optional<int64_t> Makespan(const StageLayout& layout,
                                const PassProfile& profile, int micro_batches,
                                const RankOrders& orders, PassStarts* starts) {
  PassEnds ends(layout, profile, micro_batches);
  std::vector<size_t> next(orders.size());
  std::vector<int64_t> now(orders.size());
  if (starts != nullptr) starts->assign(orders.size(), {});
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t rank = 0; rank < orders.size(); ++rank) {
      for (; next[rank] < orders[rank].size(); ++next[rank]) {
        const PipelineAction& action = orders[rank][next[rank]];
        const int stage = layout.StageOf(static_cast<int>(rank), action.piece);
        const int64_t ready =
            ends.Ready(action.pass, stage, action.micro_batch);
        if (ready == kNever) break;
        const int64_t start = std::max(now[rank], ready);
        if (starts != nullptr) (*starts)[rank].push_back(start);
        now[rank] = start + ends.Duration(action.pass, stage);
        ends.Set(action.pass, stage, action.micro_batch, now[rank]);
        progress = true;
      }
    }
  }
  for (size_t rank = 0; rank < orders.size(); ++rank) {
    if (next[rank] != orders[rank].size()) return std::nullopt;
  }
  return *std::ranges::max_element(now);
}

}  // namespace orrery
