#include "workload/lowering/rank_streams.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace orrery {
namespace {

constexpr StreamId kTensorStream{1};
constexpr StreamId kContextStream{2};
constexpr StreamId kExpertStream{3};
// Gradients on their way out, parameters on their way in.
constexpr StreamId kDataStream{4};
constexpr StreamId kGatherStream{5};
constexpr int kFirstPipelineStream = 6;

}  // namespace

StreamId StreamOf(GroupFamily family, bool gathers) {
  if (gathers) return kGatherStream;
  switch (family) {
    case GroupFamily::kTensor:
    case GroupFamily::kExpertTensor:
      return kTensorStream;
    case GroupFamily::kContext:
      return kContextStream;
    case GroupFamily::kExpert:
      return kExpertStream;
    case GroupFamily::kData:
    case GroupFamily::kShard:
    case GroupFamily::kReplica:
    case GroupFamily::kExpertData:
    case GroupFamily::kExpertShard:
    case GroupFamily::kExpertReplica:
    case GroupFamily::kModel:
    case GroupFamily::kEmbedding:
      return kDataStream;
  }
  CHECK(false) << "no such family";
  return kDataStream;
}

StreamId StreamOf(Channel channel, int arm) {
  return static_cast<StreamId>(kFirstPipelineStream + arm * kChannels +
                               static_cast<int>(channel));
}

StreamId HostStream(const StageLayout& layout) {
  return static_cast<StreamId>(RankStreams(layout).size());
}

std::vector<Stream> RankStreams(const StageLayout& layout, bool host) {
  const auto communicates = [](std::string name, Dimension dimension) {
    return Stream{std::move(name), StreamKind::kCommunication, dimension};
  };
  std::vector<Stream> streams = {
      {"compute", StreamKind::kCompute},
      communicates("tensor", Dimension::kTensor),
      communicates("context", Dimension::kContext),
      communicates("expert", Dimension::kExpert),
      communicates("data", Dimension::kData),
      communicates("parameters", Dimension::kData),
  };
  CHECK(streams.size() == kFirstPipelineStream);
  const int arms = layout.ranks() == 1 ? 0 : layout.arms();
  for (int arm = 0; arm < arms; ++arm) {
    const std::string suffix = arm == 0 ? "" : " 2";
    for (const char* name : {"forward send", "forward receive", "backward send",
                             "backward receive"}) {
      streams.push_back(communicates(name + suffix, Dimension::kPipeline));
    }
  }
  if (host) streams.push_back({"host", StreamKind::kHost});
  return streams;
}

}  // namespace orrery
