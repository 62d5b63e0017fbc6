#include "tests/storm/known_failures.h"

#include <algorithm>
#include <string>

namespace orrery {
namespace {

constexpr KnownFailure kKnown[] = {
    // Formulas that are approximations, and say so.
    {"training", "closed form, approximate pipeline", "",
     "formulas of schedules assume equal passes: not so with uneven stages, "
     "zero-bubble and bidirectional schedules, or state that is gathered or "
     "reduced in every pass"},
    {"training", "closed form, rewired, approximate pipeline", "", "the same"},
    {"training", "memory by formula, approximate pipeline", "",
     "in-flight counts of schedules assume equal pieces"},
    {"training", "memory by formula", "sharding ZERO_2",
     "gradients summed on a rank come as activations go; the formula adds up"},
    {"training", "memory by formula", "sharding ZERO_3", "the same"},
    // Prices of calls know the ports of chips and nodes, not what lies between.
    {"training", "closed form", "not folded",
     "groups that straddle nodes in different ways count as the slowest"},
    {"training", "closed form, pipeline", "not folded",
     "the same, stage by stage"},
    {"training", "closed form, pipeline", "first layers dense",
     "stages differ where the first layers are dense: 1.2 % at the most seen"},
    {"training", "closed form, rewired", "",
     "calls that block themselves in a fabric, on chips that share links or "
     "NICs in odd numbers, routing of one path, slow links"},
    {"training", "closed form, rewired, pipeline", "", "the same"},
    // One activity per phase against every message.
    {"training", "stepped alone, ring", "", "hops of a ring that differ"},
    {"training", "stepped alone, shard_ring", "", "hops of a ring that differ"},
    {"training", "stepped alone, double_binary_tree", "",
     "few segments of a pipeline"},
    {"training", "stepped alone, hierarchical", "",
     "phases that stream into one another"},
    {"training", "stepped alone, direct", "", "latencies of paths that differ"},
    {"training", "stepped step", "scale-up torus",
     "hierarchical calls, as above"},
    // Of inference: the network's, as above; of kernels and hosts nothing.
    {"inference", "closed form", "not folded",
     "groups that straddle nodes in different ways count as the slowest"},
    {"inference", "closed form, rewired", "",
     "calls that block themselves in a fabric, slow links"},
    {"inference", "closed form, pipeline", "not folded",
     "groups that straddle nodes, stage by stage"},
};

}  // namespace

absl::Span<const KnownFailure> KnownFailures() { return kKnown; }

const KnownFailure* FindKnown(const std::string& storm,
                              const StormFailure& failure) {
  for (const KnownFailure& known : kKnown) {
    if (storm != known.storm || failure.law != known.law) continue;
    const std::string label = known.label;
    if (label.empty() || std::find(failure.labels.begin(), failure.labels.end(),
                                   label) != failure.labels.end()) {
      return &known;
    }
  }
  return nullptr;
}

}  // namespace orrery
