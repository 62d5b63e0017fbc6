#include "topology/collectives/collective_moe.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"

namespace orrery {
namespace {

// Tokens that go from one rank to another, in the order of pairs.
using Exchanges = std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>>;

void Add(Exchanges& exchanges, int32_t from, int32_t to, int32_t token) {
  if (from == to) return;
  std::vector<int32_t>& tokens = exchanges[{from, to}];
  if (tokens.empty() || tokens.back() != token) tokens.push_back(token);
}

struct Stages {
  Exchanges across;  // between islands
  Exchanges inside;  // from the chip of entry to the experts
};

Stages StagesOf(const GroupLayout& layout, MoeMode mode,
                absl::Span<const MoeToken> tokens) {
  Stages stages;
  for (size_t t = 0; t < tokens.size(); ++t) {
    const MoeToken& token = tokens[t];
    for (int32_t to : token.destinations) {
      CHECK(to >= 0 && to < layout.ranks);
      const int32_t id = static_cast<int32_t>(t);
      if (mode == MoeMode::kLowLatency) {
        Add(stages.across, token.source, to, id);
        continue;
      }
      const int32_t size = layout.island_size;
      CHECK_GT(size, 0);
      const int32_t entry = to / size == token.source / size
                                ? token.source
                                : to / size * size + token.source % size;
      Add(stages.across, token.source, entry, id);
      Add(stages.inside, entry, to, id);
    }
  }
  return stages;
}

void AddStage(ScheduleBuilder& builder, const Exchanges& exchanges,
              bool backwards, bool streams) {
  if (exchanges.empty()) return;
  builder.BeginPhase(streams && !builder.schedule().phases.empty());
  builder.BeginRound();
  std::vector<ChunkRange> ranges;
  for (const auto& [pair, tokens] : exchanges) {
    ranges.clear();
    for (int32_t token : tokens) ranges.push_back({.begin = token});
    const auto [from, to] = pair;
    builder.Send(backwards ? to : from, backwards ? from : to, ranges,
                 backwards);
  }
}

Schedule Make(const GroupLayout& layout, MoeMode mode,
              absl::Span<const MoeToken> tokens, bool combine) {
  CHECK(!tokens.empty());
  ScheduleBuilder builder(
      combine ? CommunicationKind::kReduce : CommunicationKind::kAllToAll,
      layout.ranks, static_cast<int32_t>(tokens.size()));
  builder.schedule().chunk_share = {1.0};
  const Stages stages = StagesOf(layout, mode, tokens);
  AddStage(builder, combine ? stages.inside : stages.across, combine, false);
  AddStage(builder, combine ? stages.across : stages.inside, combine, true);
  return std::move(builder).Build();
}

}  // namespace

Schedule MoeDispatch(const GroupLayout& layout, MoeMode mode,
                     absl::Span<const MoeToken> tokens) {
  return Make(layout, mode, tokens, false);
}

Schedule MoeCombine(const GroupLayout& layout, MoeMode mode,
                    absl::Span<const MoeToken> tokens) {
  return Make(layout, mode, tokens, true);
}

}  // namespace orrery
