// Hashes of many flows are those of each by itself.
#include "topology/routing/flow_hashes.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "topology/routing/intermediates.h"
#include "topology/routing/route_hash.h"

namespace orrery {
namespace {

// As many as no, one or several registers hold, and some more.
std::vector<VertexId> DrawChips(Rng& rng, size_t count) {
  std::vector<VertexId> chips;
  for (size_t i = 0; i < count; ++i) {
    chips.push_back(static_cast<VertexId>(rng.Below(1 << 20)));
  }
  return chips;
}

TEST(FlowHashes, IntermediatesAreThoseOfEachFlow) {
  Rng rng(1, "intermediates");
  for (size_t count = 0; count < 100; ++count) {
    const VertexId from = DrawChips(rng, 1)[0];
    const std::vector<VertexId> to = DrawChips(rng, count);
    std::vector<uint64_t> hashes(count);
    HashIntermediates(from, to, absl::MakeSpan(hashes));
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(hashes[i],
                MixRoute(ChoiceHash(FlowHash(SourceHash(from), to[i], 0), 0)));
    }
  }
}

TEST(FlowHashes, ChoicesAreThoseOfEachFlow) {
  Rng rng(2, "choices");
  for (size_t count = 0; count < 100; ++count) {
    const VertexId from = DrawChips(rng, 1)[0];
    const std::vector<VertexId> to = DrawChips(rng, count);
    const ChoicePair choices = {
        .place = rng.Below(1 << 20),
        .mask = (uint64_t{1} << rng.Below(7)) - 1,
        .begin = static_cast<uint32_t>(rng.Below(1000)),
        .twice = rng.Below(2) == 0,
        .next_place = static_cast<uint32_t>(rng.Below(1 << 20)),
        // Also backwards.
        .next_stride = static_cast<uint32_t>(rng.Between(-3, 3)),
        .next_mask = (uint64_t{1} << rng.Below(7)) - 1,
        .next_begin = static_cast<uint32_t>(rng.Between(100'000, 200'000)),
        .begin_stride = static_cast<uint32_t>(rng.Between(-500, 500))};
    std::vector<uint32_t> first(count);
    std::vector<uint32_t> second(choices.twice ? count : 0);
    HashChoices(from, to, choices, absl::MakeSpan(first),
                absl::MakeSpan(second));
    for (size_t i = 0; i < count; ++i) {
      const uint64_t flow = FlowHash(SourceHash(from), to[i], 0);
      const auto pick =
          static_cast<uint32_t>(ChoiceHash(flow, choices.place) & choices.mask);
      EXPECT_EQ(first[i], choices.begin + pick);
      if (!choices.twice) continue;
      const uint32_t place = choices.next_place + pick * choices.next_stride;
      EXPECT_EQ(second[i], choices.next_begin + pick * choices.begin_stride +
                               (ChoiceHash(flow, place) & choices.next_mask));
    }
  }
}

// On islands, without any, and of machines whose chips are no power of two.
TEST(Intermediates, AllAtOnceAreThoseOfEachFlow) {
  for (const bool islands : {false, true}) {
    for (const int nodes : {2, 3, 8, 16}) {
      GraphBuilder builder;
      const int per_node = nodes == 3 ? 5 : 4;
      for (int chip = 0; chip < nodes * per_node; ++chip) {
        const VertexId v = builder.AddVertex(VertexKind::kChip);
        if (islands) builder.SetIsland(v, chip / per_node);
      }
      const Graph graph = std::move(builder).Build();
      const Intermediates intermediates(graph);
      for (const VertexId from : Chips(graph)) {
        for (const bool inside : {false, true}) {
          std::vector<VertexId> to;
          for (const VertexId chip : Chips(graph)) {
            const bool same =
                islands && graph.island(chip) == graph.island(from);
            if (chip != from && same == inside) to.push_back(chip);
          }
          std::vector<VertexId> by(to.size());
          const bool found =
              intermediates.FindAll(from, to, absl::MakeSpan(by));
          for (size_t i = 0; i < to.size(); ++i) {
            const auto one = intermediates.Of(from, to[i], 0);
            ASSERT_EQ(one.has_value(), found);
            if (found) {
              EXPECT_EQ(*one, by[i]);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace orrery
