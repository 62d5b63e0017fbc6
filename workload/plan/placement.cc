#include "workload/plan/placement.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace orrery {

std::string_view Name(GroupFamily family) {
  switch (family) {
    case GroupFamily::kTensor:
      return "tensor";
    case GroupFamily::kContext:
      return "context";
    case GroupFamily::kData:
      return "data";
    case GroupFamily::kShard:
      return "shard";
    case GroupFamily::kReplica:
      return "replica";
    case GroupFamily::kExpert:
      return "expert";
    case GroupFamily::kExpertTensor:
      return "expert tensor";
    case GroupFamily::kExpertData:
      return "expert data";
    case GroupFamily::kExpertShard:
      return "expert shard";
    case GroupFamily::kExpertReplica:
      return "expert replica";
    case GroupFamily::kModel:
      return "model";
    case GroupFamily::kEmbedding:
      return "embedding";
  }
  CHECK(false) << "no such family";
  return {};
}

Placement::Placement(const ParallelLayout& layout)
    : rank_map_(layout.rank_map), mirrored_(layout.stages.bidirectional()) {
  const Degrees& degrees = layout.degrees;
  ranks_ = static_cast<int>(degrees.ranks());
  int stride = 1;
  int expert_stride = 1;
  const auto add = [](Axis& axis, int size, int& next) {
    axis = {size, next};
    next *= size;
  };
  for (const Dimension dimension : degrees.order) {
    switch (dimension) {
      case Dimension::kTensor:
        add(tensor_, degrees.tensor, stride);
        add(expert_tensor_, degrees.expert_tensor, expert_stride);
        stage_axes_.push_back(tensor_);
        break;
      case Dimension::kContext:
        add(context_, degrees.context, stride);
        stage_axes_.push_back(context_);
        break;
      case Dimension::kExpert:
        add(expert_, degrees.expert, expert_stride);
        break;
      case Dimension::kData:
        add(data_, degrees.data, stride);
        add(expert_data_, static_cast<int>(degrees.expert_data()),
            expert_stride);
        stage_axes_.push_back(data_);
        break;
      case Dimension::kPipeline:
        add(pipeline_, degrees.pipeline, stride);
        break;
    }
  }
  const int copies = mirrored_ ? 2 : 1;
  shard_ = layout.sharding_group * copies;
  // A part of the experts' copies as large as that of the dense weights, as far
  // as they reach.
  const int all = degrees.context * degrees.data;
  expert_shard_ =
      copies * (layout.sharding_group == all
                    ? expert_data_.size
                    : std::gcd(layout.sharding_group, expert_data_.size));
}

Coordinates Placement::CoordinatesOf(int rank) const {
  const auto at = [rank](const Axis& axis) {
    return rank / axis.stride % axis.size;
  };
  return {at(tensor_), at(context_), at(data_), at(pipeline_)};
}

int Placement::RankOf(const Coordinates& at) const {
  return at.tensor * tensor_.stride + at.context * context_.stride +
         at.data * data_.stride + at.pipeline * pipeline_.stride;
}

int Placement::PeerOf(int rank, int pipeline) const {
  Coordinates at = CoordinatesOf(rank);
  at.pipeline = pipeline;
  return RankOf(at);
}

int Placement::WithinStage(int rank) const {
  int within = 0;
  int stride = 1;
  for (const Axis& axis : stage_axes_) {
    within += rank / axis.stride % axis.size * stride;
    stride *= axis.size;
  }
  return within;
}

int Placement::FromStage(int within, int pipeline) const {
  int rank = pipeline * pipeline_.stride;
  for (const Axis& axis : stage_axes_) {
    rank += within % axis.size * axis.stride;
    within /= axis.size;
  }
  return rank;
}

std::vector<int> Placement::DataMembers(int rank) const {
  Coordinates at = CoordinatesOf(rank);
  const int own = at.pipeline;
  const int mirror = mirrored_ ? pipeline_.size - 1 - own : own;
  std::vector<int> members;
  members.reserve(static_cast<size_t>(2 * data_.size * context_.size));
  for (const int stage : {std::min(own, mirror), std::max(own, mirror)}) {
    at.pipeline = stage;
    for (at.data = 0; at.data < data_.size; ++at.data) {
      for (at.context = 0; at.context < context_.size; ++at.context) {
        members.push_back(RankOf(at));
      }
    }
    if (own == mirror) break;
  }
  if (!std::is_sorted(members.begin(), members.end())) {
    std::sort(members.begin(), members.end());
  }
  return members;
}

std::vector<int> Placement::ExpertMembers(Axis axis, int rank) const {
  const int pipeline = CoordinatesOf(rank).pipeline;
  const int within = WithinStage(rank);
  const int first = within - within / axis.stride % axis.size * axis.stride;
  std::vector<int> members;
  members.reserve(static_cast<size_t>(axis.size));
  for (int i = 0; i < axis.size; ++i) {
    members.push_back(FromStage(first + i * axis.stride, pipeline));
  }
  return members;
}

std::vector<int> Placement::Part(const std::vector<int>& all, int rank,
                                 int size, bool contiguous) {
  const auto place =
      static_cast<int>(std::find(all.begin(), all.end(), rank) - all.begin());
  const int count = static_cast<int>(all.size());
  CHECK(place < count && count % size == 0);
  const int stride = contiguous ? 1 : count / size;
  const int first = contiguous ? place / size * size : place % stride;
  std::vector<int> part;
  part.reserve(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) {
    part.push_back(all[static_cast<size_t>(first + i * stride)]);
  }
  return part;
}

std::vector<int> Placement::Members(GroupFamily family, int rank) const {
  Coordinates at = CoordinatesOf(rank);
  std::vector<int> members;
  switch (family) {
    case GroupFamily::kTensor:
      for (at.tensor = 0; at.tensor < tensor_.size; ++at.tensor) {
        members.push_back(RankOf(at));
      }
      return members;
    case GroupFamily::kContext:
      for (at.context = 0; at.context < context_.size; ++at.context) {
        members.push_back(RankOf(at));
      }
      return members;
    case GroupFamily::kData:
      return DataMembers(rank);
    case GroupFamily::kShard:
      return Part(DataMembers(rank), rank, shard_, /*contiguous=*/true);
    case GroupFamily::kReplica: {
      const std::vector<int> all = DataMembers(rank);
      return Part(all, rank, static_cast<int>(all.size()) / shard_,
                  /*contiguous=*/false);
    }
    case GroupFamily::kExpert:
      return ExpertMembers(expert_, rank);
    case GroupFamily::kExpertTensor:
      return ExpertMembers(expert_tensor_, rank);
    case GroupFamily::kExpertData: {
      members = ExpertMembers(expert_data_, rank);
      if (mirrored_) {
        const int mirror = pipeline_.size - 1 - at.pipeline;
        for (const int other :
             ExpertMembers(expert_data_, PeerOf(rank, mirror))) {
          members.push_back(other);
        }
        std::sort(members.begin(), members.end());
      }
      return members;
    }
    case GroupFamily::kExpertShard:
      return Part(Members(GroupFamily::kExpertData, rank), rank, expert_shard_,
                  /*contiguous=*/true);
    case GroupFamily::kExpertReplica: {
      const std::vector<int> all = Members(GroupFamily::kExpertData, rank);
      return Part(all, rank, static_cast<int>(all.size()) / expert_shard_,
                  /*contiguous=*/false);
    }
    case GroupFamily::kModel:
      for (at.pipeline = 0; at.pipeline < pipeline_.size; ++at.pipeline) {
        members.push_back(RankOf(at));
      }
      return members;
    case GroupFamily::kEmbedding:
      at.pipeline = 0;
      members.push_back(RankOf(at));
      at.pipeline = pipeline_.size - 1;
      members.push_back(RankOf(at));
      return members;
  }
  CHECK(false) << "no such family";
  return members;
}

int Placement::Size(GroupFamily family) const {
  const int copies = mirrored_ ? 2 : 1;
  const int data = data_.size * context_.size * copies;
  const int experts = expert_data_.size * copies;
  switch (family) {
    case GroupFamily::kTensor:
      return tensor_.size;
    case GroupFamily::kContext:
      return context_.size;
    case GroupFamily::kData:
      return data;
    case GroupFamily::kShard:
      return shard_;
    case GroupFamily::kReplica:
      return data / shard_;
    case GroupFamily::kExpert:
      return expert_.size;
    case GroupFamily::kExpertTensor:
      return expert_tensor_.size;
    case GroupFamily::kExpertData:
      return experts;
    case GroupFamily::kExpertShard:
      return expert_shard_;
    case GroupFamily::kExpertReplica:
      return experts / expert_shard_;
    case GroupFamily::kModel:
      return pipeline_.size;
    case GroupFamily::kEmbedding:
      return 2;
  }
  CHECK(false) << "no such family";
  return 1;
}

int Placement::Leader(GroupFamily family, int rank) const {
  const std::vector<int> members = Members(family, rank);
  return *std::min_element(members.begin(), members.end());
}

}  // namespace orrery
