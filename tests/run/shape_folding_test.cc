// Groups that lie alike are planned once for all when a fold is decided: slices
// of a torus, rails. Folded and whole runs must agree to the picosecond, and a
// hash inside of nodes must not be taken for alike.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

struct ShapeCase {
  const char* name;
  bool folds;
  std::vector<std::string> fields;
};

const std::vector<std::string> kSlices = {"system.preset=tpu_v5e_multislice",
                                          "training.global_batch=128",
                                          "system.nodes=4",
                                          "system.chips_per_node=16",
                                          "system.scale_out.nics_per_node=16",
                                          "training.parallel.tensor=4"};

std::vector<std::string> With(std::vector<std::string> fields,
                              const std::vector<std::string>& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

TEST(ShapeFolding, FoldedIsWholeToThePicosecond) {
  const ShapeCase cases[] = {
      {"slices", true, With(kSlices, {"training.sharding=ZERO_3"})},
      {"slices on several leaves", true,
       With(kSlices, {"system.scale_out.fabric.fat_tree.radix=8"})},
      {"sharded inside of slices", true,
       With(kSlices, {"training.sharding=ZERO_3", "training.sharding_group=4",
                      "training.parallel.pipeline=1"})},
      {"slices that leaves cut in two", false,
       With(kSlices,
            {"system.nodes=3", "system.chips_per_node=24",
             "system.scale_out.nics_per_node=24", "training.parallel.tensor=2",
             "training.global_batch=144"})},
      {"Valiant in nodes",
       false,
       {"training.parallel.tensor=8",
        "system.scale_up.fabric.torus.dimensions=3",
        "system.scale_up.fabric.routing=VALIANT"}},
      {"ECMP in nodes",
       false,
       {"training.parallel.tensor=8",
        "system.scale_up.fabric.torus.dimensions=3",
        "system.scale_up.fabric.routing=ECMP"}},
  };
  for (const ShapeCase& c : cases) {
    SCOPED_TRACE(c.name);
    ASSERT_OK_AND_ASSIGN(auto proto,
                         ResolveScenario(Catalog(), "quickstart", c.fields));
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario,
                         MakeScenario(std::move(proto)));
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                         RunScenario(scenario, {.detail = false}));
    EXPECT_EQ(run.placed.folded, c.folds) << run.asymmetry;
    ASSERT_OK_AND_ASSIGN(
        const SimulatedRun whole,
        RunScenario(scenario, {.fold = false, .detail = false}));
    EXPECT_EQ(run.result.end, whole.result.end);
  }
}

}  // namespace
}  // namespace orrery
