// One link that is cut or slow must not unfold a machine: those whom it tells
// apart are simulated, and one rank still stands for all of the rest. Folded
// and whole runs must agree to the picosecond, or the fold be refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::HasSubstr;

struct Fault {
  int chip;
  double remaining;
};

struct PartialCase {
  const char* name;
  const char* scenario;
  size_t ranks;  // simulated; 0: any
  std::vector<Fault> faults;
  std::vector<std::string> fields = {};
};

ResolvedScenario Make(const PartialCase& c) {
  auto proto = ResolveScenario(Catalog(), c.scenario, c.fields);
  CHECK(proto.ok()) << proto.status().ToString();
  for (const Fault& fault : c.faults) {
    pb::LinkFault& added = *proto->mutable_system()->add_fault();
    added.set_from(fault.chip);
    added.set_remaining(fault.remaining);
  }
  auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  return *std::move(scenario);
}

// quickstart: TP 4, PP 2, DP 4 on 4 nodes of 8. In each of the 2 stages there
// are four kinds of ranks: at the place of the slow chip in a tensor group or
// at another, in its replica or in another.
TEST(PartialFolding, IsWholeToThePicosecond) {
  const PartialCase cases[] = {
      {"a chip", "quickstart", 2 * 2 * 2, {{5, 0.5}}},
      {"sharded",
       "quickstart",
       2 * 2 * 2,
       {{5, 0.5}},
       {"training.sharding=ZERO_3"}},
      // No tensor groups: the chip, and all others.
      {"data only",
       "quickstart",
       2,
       {{5, 0.5}},
       {"training.parallel.tensor=1", "training.parallel.pipeline=1"}},
      {"more replicas",
       "quickstart",
       2 * 2 * 2,
       {{5, 0.5}},
       {"system.nodes=16", "training.global_batch=256"}},
      // Two chips of one replica, at places of their own: 3 x 2 kinds.
      {"two of a group",
       "quickstart",
       2 * 3 * 2,
       {{5, 0.5}, {6, 0.25}},
       {"system.nodes=8", "training.global_batch=128"}},
      // One mark: one kind more than without, in tensor groups of all.
      {"two chips alike",
       "quickstart",
       2 * 2 * 2,
       {{1, 0.5}, {17, 0.5}},
       {"system.nodes=16", "training.global_batch=256"}},
      {"experts", "mixtral_8x7b_5d", 0, {{5, 0.5}}, {}},
  };
  for (const PartialCase& c : cases) {
    SCOPED_TRACE(c.name);
    const ResolvedScenario scenario = Make(c);
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                         RunScenario(scenario, {.detail = false}));
    ASSERT_OK_AND_ASSIGN(
        const SimulatedRun whole,
        RunScenario(scenario, {.fold = false, .detail = false}));
    EXPECT_TRUE(run.placed.folded) << run.asymmetry;
    EXPECT_LT(run.placed.program.ranks().size(),
              whole.placed.program.ranks().size());
    if (c.ranks > 0) {
      EXPECT_EQ(run.placed.program.ranks().size(), c.ranks);
    }
    EXPECT_EQ(run.result.end, whole.result.end);
    EXPECT_EQ(run.memory.peak.total, whole.memory.peak.total);
    EXPECT_EQ(run.executed.value(), whole.executed.value());
    int64_t stood_for = 0;
    for (const ProgramRank& rank : run.placed.program.ranks()) {
      stood_for += rank.multiplicity;
    }
    EXPECT_EQ(stood_for,
              static_cast<int64_t>(whole.placed.program.ranks().size()));
  }
}

// A ring of 8 in each of two nodes, ZeRO-3 and TP 2, a slow link: sums of
// tensor groups run at a third of 450 GB/s and end half way between two
// picoseconds. Which of the two it is must not depend on the order in which
// loads were added.
TEST(PartialFolding, HalvesOfAPicosecondGoOneWay) {
  constexpr char kRings[] = R"(
    name: "rings"
    model {
      name: "small" layers: 1 hidden: 256 vocabulary: 32000
      tied_embedding: false
      attention { kind: MHA heads: 4 head_dimension: 64 kv_heads: 4 }
      mlp { width: 2048 activation: SWIGLU }
      norm: LAYER_NORM norms_per_layer: 2 final_norm: true position: ROTARY
    }
    system {
      name: "two rings" chip { preset: "b200_sxm" } nodes: 2 chips_per_node: 8
      scale_up { fabric {
        link { name: "u" bandwidth: "450 GB/s" latency: "250 ns" }
        torus { shape: 8 } routing: SPRAY } }
      scale_out {
        nics_per_node: 8 nic_bandwidth: "100 GB/s" nic_latency: "1 us"
        fabric {
          link { name: "o" bandwidth: "100 GB/s" latency: "200 ns" }
          switch { planes: 1 links_per_endpoint: 1 reduces: false }
          routing: SPRAY } }
      host { cpu: "x" cpus_per_node: 1 memory: "1 TB"
             chip_bandwidth: "60 GB/s" power: "1 kW" }
      collectives {
        library: "X"
        protocol { name: "S" tier: SCALE_UP step_latency: "0.5 us"
                   efficiency: 1 }
        protocol { name: "S" tier: SCALE_OUT step_latency: "1 us"
                   efficiency: 1 }
        base_latency: "2 us" compute_share: 0 memory_share: 0
      }
      fault { from: 9 remaining: 0.5 }
    }
    training {
      global_batch: 168 micro_batch: 3 sequence: 256
      parallel { tensor: 2 context: 1 pipeline: 1 data: 8
                 sequence_parallel: true }
      schedule: ONE_F_ONE_B virtual_stages: 1 sharding: ZERO_3 precision: BF16
      recompute: RECOMPUTE_SELECTIVE overlap_weight_gradient: false
    })";
  ASSERT_OK_AND_ASSIGN(auto proto,
                       ResolveScenarioText(Catalog(), kRings, "rings", {}));
  ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario,
                       MakeScenario(std::move(proto)));
  ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                       RunScenario(scenario, {.detail = false}));
  ASSERT_OK_AND_ASSIGN(const SimulatedRun whole,
                       RunScenario(scenario, {.fold = false, .detail = false}));
  EXPECT_TRUE(run.placed.folded) << run.asymmetry;
  EXPECT_EQ(run.result.end, whole.result.end);
}

// Message by message there is nobody to stand for others.
TEST(PartialFolding, IsRefusedMessageByMessage) {
  const ResolvedScenario scenario =
      Make({"",
            "quickstart",
            0,
            {{5, 0.5}},
            {"system.nodes=1", "training.global_batch=8"}});
  ASSERT_OK_AND_ASSIGN(
      const SimulatedRun run,
      RunScenario(scenario, {.fidelity = Fidelity::kStepped, .detail = false}));
  EXPECT_FALSE(run.placed.folded);
  EXPECT_THAT(run.asymmetry, HasSubstr("cut or slow"));
}

}  // namespace
}  // namespace orrery
