#pragma once
// Placement: where ranks stand in the five dimensions, and who communicates
// with whom.
//
// Rank r runs on chip r, unless the layout has a map. Its coordinates follow
// from the order of its dimensions, fastest varying first. Experts use a second
// factorisation of the ranks of a pipeline stage, in the same order with
// context left out: expert tensor, expert and expert data (Megatron-Core's
// "tp-cp-ep-dp-pp").
//
//   const Placement placement(plan.layout());
//   placement.Members(GroupFamily::kTensor, /*rank=*/5);  // {4, 5, 6, 7}
//
// A group is known by its family and its lowest rank.
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "workload/plan/parallel_layout.h"

namespace orrery {

enum class GroupFamily : uint8_t {
  kTensor,
  kContext,
  // All ranks that hold the same dense weights: gradients are summed over them.
  kData,
  // Of these, the ranks that share one copy of the state, and the ranks that
  // hold the same part of it (more than one with hybrid sharding).
  kShard,
  kReplica,
  kExpert,
  kExpertTensor,
  // All ranks that hold the same experts, and its parts as above.
  kExpertData,
  kExpertShard,
  kExpertReplica,
  // The stages of one replica at the same place: the gradient norm, summed over
  // tensor ranks before, is summed over them.
  kModel,
  // First and last stage, which share a tied embedding.
  kEmbedding,
};
inline constexpr int kGroupFamilies = 12;
std::string_view Name(GroupFamily family);

struct Coordinates {
  int tensor = 0;
  int context = 0;
  int data = 0;
  int pipeline = 0;
  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};

class Placement {
 public:
  explicit Placement(const ParallelLayout& layout);

  int ranks() const { return ranks_; }
  Coordinates CoordinatesOf(int rank) const;
  int RankOf(const Coordinates& at) const;
  // The rank at the same place of another pipeline stage.
  int PeerOf(int rank, int pipeline) const;

  // The chip that a rank runs on.
  int ChipOf(int rank) const {
    return rank_map_.empty() ? rank : rank_map_[static_cast<size_t>(rank)];
  }
  // Place of a rank among the ranks of its pipeline stage, and back.
  int WithinStage(int rank) const;
  int FromStage(int within, int pipeline) const;
  // Place of a rank in its expert group.
  int ExpertPlace(int rank) const {
    return WithinStage(rank) / expert_.stride % expert_.size;
  }

  // In the order of the family's own coordinate; contains `rank`.
  std::vector<int> Members(GroupFamily family, int rank) const;
  int Size(GroupFamily family) const;
  // The lowest member: names the group.
  int Leader(GroupFamily family, int rank) const;

 private:
  // A dimension of a numbering: `size` places, `stride` apart.
  struct Axis {
    int size = 1;
    int stride = 1;
  };
  std::vector<int> DataMembers(int rank) const;
  std::vector<int> ExpertMembers(Axis axis, int rank) const;
  static std::vector<int> Part(const std::vector<int>& all, int rank, int size,
                               bool contiguous);

  Axis tensor_, context_, data_, pipeline_;
  // Strides within the numbering of a stage.
  Axis expert_tensor_, expert_, expert_data_;
  std::vector<Axis> stage_axes_;  // of the dense dimensions, fastest first
  std::vector<int> rank_map_;
  int ranks_ = 0;
  int shard_ = 1;
  int expert_shard_ = 1;
  bool mirrored_ = false;  // both directions of DualPipe hold the same weights
};

}  // namespace orrery
