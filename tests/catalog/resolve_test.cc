#include "catalog/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "catalog/textproto.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A catalogue of one of each kind.
constexpr EmbeddedPreset kPresets[] = {
    {"chips", "c1",
     "name: \"c1\" memory: \"80 GB\" compute_units: 100 "
     "default_kernels: \"k1\""},
    {"chips", "c2", "name: \"c2\" memory: \"96 GB\" default_kernels: \"k2\""},
    {"kernels", "k1",
     "name: \"k1\" launch: \"4 us\" graph_launch: \"1 us\" multicast: 2"},
    {"kernels", "k2", "name: \"k2\" launch: \"8 us\""},
    {"models", "m1", "name: \"m1\" layers: 4 hidden: 8"},
    {"models", "m2", "name: \"m2\" layers: 6"},
    {"scenarios", "s1",
     "model { preset: \"m1\" layers: 5 } system { preset: \"y1\" nodes: 4 } "
     "training { parallel { tensor: 2 } }"},
    {"systems", "y1",
     "name: \"y1\" chips_per_node: 8 chip { preset: \"c1\" memory: \"64 GB\" "
     "}"},
    {"systems", "y2",
     "name: \"y2\" chips_per_node: 4 chip { preset: \"c2\" } "
     "scale_up { spans_nodes: true fabric { torus { dimensions: 3 } } }"},
};

absl::StatusOr<pb::Scenario> Resolve(const std::string& scenario,
                                     std::vector<std::string> sets = {}) {
  return ResolveScenario(Catalog(kPresets), scenario, sets);
}

TEST(Resolve, SetFieldsWinOverThePresetAndTheRestComesFromIt) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario s, Resolve("s1"));
  EXPECT_EQ(s.model().layers(), 5);
  EXPECT_EQ(s.model().hidden(), 8);
  EXPECT_EQ(s.model().name(), "m1");
  EXPECT_EQ(s.system().nodes(), 4);
  EXPECT_EQ(s.system().chip().memory(), "64 GB");
  EXPECT_EQ(s.system().chip().compute_units(), 100);
}

TEST(Resolve, ChoicesGetDefaultsThatShow) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario s, Resolve("s1"));
  // 4 nodes x 8 chips / tensor 2.
  EXPECT_EQ(s.training().parallel().data(), 16);
  EXPECT_EQ(s.training().parallel().pipeline(), 1);
  EXPECT_EQ(s.training().micro_batch(), 1);
  EXPECT_EQ(s.training().schedule(), pb::Training::ONE_F_ONE_B);
  EXPECT_EQ(s.network().fidelity(), pb::Network::FLUID);
  // Physical quantities and sizes of the run have none.
  EXPECT_FALSE(s.training().has_sequence());
  EXPECT_FALSE(s.training().has_precision());
  EXPECT_FALSE(s.system().chip().has_memory_bandwidth());
}

TEST(Resolve, TheDataDegreeFollowsAnOverride) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario s,
                       Resolve("s1", {"training.parallel.pipeline=4"}));
  EXPECT_EQ(s.training().parallel().data(), 4);
}

TEST(Resolve, WhatIsPrintedResolvesToItself) {
  for (const std::vector<std::string>& sets :
       {std::vector<std::string>{},
        {"system.preset=y2"},
        {"kernels.preset=k2", "kernels.multicast=4"},
        {"training.virtual_stages=2", "training.parallel.context=2"}}) {
    ASSERT_OK_AND_ASSIGN(const pb::Scenario first, Resolve("s1", sets));
    const std::string text = PrintTextproto(first);
    ASSERT_OK_AND_ASSIGN(
        const pb::Scenario second,
        ResolveScenarioText(Catalog(kPresets), text, "printed", {}));
    EXPECT_EQ(PrintTextproto(second), text);
  }
}

TEST(Resolve, ANewPresetTakesThePlaceOfThePart) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario s,
                       Resolve("s1", {"model.preset=m2", "system.preset=y2",
                                      "system.chip.memory=1 TB"}));
  EXPECT_EQ(s.model().layers(), 6);
  EXPECT_FALSE(s.model().has_hidden());
  EXPECT_EQ(s.system().nodes(), 4);  // the size of the machine stays
  EXPECT_EQ(s.system().chips_per_node(), 4);
  EXPECT_EQ(s.system().chip().name(), "c2");
  EXPECT_EQ(s.system().chip().memory(), "1 TB");
}

TEST(Resolve, KernelsThatAreNotSaidAreTheChipsDefault) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario first, Resolve("s1"));
  EXPECT_EQ(first.kernels().preset(), "k1");
  EXPECT_EQ(first.kernels().launch(), "4 us");
  ASSERT_OK_AND_ASSIGN(const pb::Scenario other,
                       Resolve("s1", {"system.preset=y2"}));
  EXPECT_EQ(other.kernels().preset(), "k2");
  ASSERT_OK_AND_ASSIGN(const pb::Scenario chosen,
                       Resolve("s1", {"system.chip.default_kernels=k2"}));
  EXPECT_EQ(chosen.kernels().preset(), "k2");
}

TEST(Resolve, KernelsMergeAsTheOtherPartsDo) {
  const auto kernels = [](const std::string& part,
                          std::vector<std::string> sets = {}) {
    const auto scenario = ResolveScenarioText(
        Catalog(kPresets),
        "model { preset: \"m1\" } system { preset: \"y1\" nodes: 1 } "
        "training { } " +
            part,
        "f", sets);
    EXPECT_OK(scenario.status());
    return scenario->kernels();
  };
  // Over the chip's default, over another preset, and with a name of its own
  // over nothing.
  const pb::Kernels changed = kernels("kernels { launch: \"2 us\" }");
  EXPECT_EQ(changed.launch(), "2 us");
  EXPECT_EQ(changed.graph_launch(), "1 us");
  const pb::Kernels other = kernels("kernels { preset: \"k2\" multicast: 8 }");
  EXPECT_EQ(other.launch(), "8 us");
  EXPECT_EQ(other.multicast(), 8);
  EXPECT_FALSE(other.has_graph_launch());
  const pb::Kernels own = kernels("kernels { name: \"mine\" multicast: 1 }");
  EXPECT_FALSE(own.has_preset());
  EXPECT_FALSE(own.has_launch());
  // --set of the preset takes the place of the part, --set of a field is last.
  const pb::Kernels replaced =
      kernels("kernels { launch: \"2 us\" multicast: 8 }",
              {"kernels.multicast=1", "kernels.preset=k2"});
  EXPECT_EQ(replaced.launch(), "8 us");
  EXPECT_EQ(replaced.multicast(), 1);
}

TEST(Resolve, AChipWithoutDefaultKernelsNeedsThemSaid) {
  EXPECT_THAT(
      ResolveScenarioText(Catalog(kPresets),
                          "model { preset: \"m1\" } system { chip { name: "
                          "\"mine\" } } training { }",
                          "f", {})
          .status()
          .message(),
      HasSubstr("f: chip 'mine' has no default_kernels"));
}

TEST(Resolve, ATorusGetsTheMostEvenShape) {
  // 4 nodes x 4 chips = 16 = 2 x 2 x 4; 32 nodes: 128 = 4 x 4 x 8.
  ASSERT_OK_AND_ASSIGN(const pb::Scenario small,
                       Resolve("s1", {"system.preset=y2"}));
  EXPECT_THAT(small.system().scale_up().fabric().torus().shape(),
              ElementsAre(2, 2, 4));
  ASSERT_OK_AND_ASSIGN(const pb::Scenario large,
                       Resolve("s1", {"system.preset=y2", "system.nodes=32"}));
  EXPECT_THAT(large.system().scale_up().fabric().torus().shape(),
              ElementsAre(4, 4, 8));
}

TEST(Resolve, AWrongNameIsAnsweredWithTheNearest) {
  EXPECT_THAT(Resolve("s11").status().message(),
              AllOf(HasSubstr("no scenario and no file 's11'"),
                    HasSubstr("did you mean 's1'?")));
  EXPECT_THAT(Resolve("s1", {"model.preset=m3"}).status().message(),
              AllOf(HasSubstr("model.preset: there is no model 'm3'"),
                    HasSubstr("did you mean 'm1' or 'm2'?")));
  EXPECT_THAT(
      Resolve("s1", {"kernels.preset=k3"}).status().message(),
      AllOf(HasSubstr("kernels.preset: there is no kernels preset 'k3'"),
            HasSubstr("did you mean 'k1' or 'k2'?"),
            HasSubstr("'orrery list kernels'")));
  EXPECT_THAT(
      Resolve("s1", {"system.chip.default_kernels=k3"}).status().message(),
      HasSubstr("system.chip.default_kernels: there is no"));
  EXPECT_THAT(Resolve("nope/file.textproto").status().message(),
              HasSubstr("cannot open 'nope/file.textproto': No such file"));
}

TEST(Resolve, AScenarioHasAModelASystemAndOneJob) {
  const auto resolve = [](absl::string_view text) {
    return std::string(ResolveScenarioText(Catalog(kPresets), text, "f", {})
                           .status()
                           .message());
  };
  EXPECT_THAT(resolve(""), AllOf(HasSubstr("f: model is missing"),
                                 HasSubstr("f: system is missing"),
                                 HasSubstr("has neither")));
  EXPECT_THAT(resolve("model { preset: \"m1\" } system { preset: \"y1\" } "
                      "training { } inference { }"),
              HasSubstr("has both"));
}

// Scenarios from before kernels had a part of their own.
TEST(Resolve, AFieldThatMovedIsAnsweredWithItsNewPath) {
  const auto moved = AllOf(HasSubstr("Chip has no field 'calibration'"),
                           HasSubstr("kernels.launch"),
                           HasSubstr("system.collectives.compute_share"));
  EXPECT_THAT(
      Resolve("s1", {"system.chip.calibration.launch=2 us"}).status().message(),
      AllOf(HasSubstr("--set system.chip.calibration:"), moved));
  const std::string message(
      ResolveScenarioText(Catalog(kPresets),
                          "system {\n chip { calibration { launch: \"2 us\" } "
                          "} }",
                          "f", {})
          .status()
          .message());
  EXPECT_THAT(message, AllOf(HasSubstr("f:2:"), moved));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

// Scenarios from before links had one way to be shared.
TEST(Resolve, AFieldThatIsGoneIsAnsweredWithTheReason) {
  const auto gone =
      AllOf(HasSubstr("Network has no field 'arbitration'"),
            HasSubstr("arbitration by port is gone"),
            HasSubstr("shared flow by flow"), HasSubstr("leave it out"));
  for (const std::string value : {"FLOW_FAIR", "PORT_FAIR"}) {
    EXPECT_THAT(
        Resolve("s1", {"network.arbitration=" + value}).status().message(),
        AllOf(HasSubstr("--set network.arbitration:"), gone));
    EXPECT_THAT(ResolveScenarioText(
                    Catalog(kPresets),
                    "network {\n  arbitration: " + value + "\n}", "f", {})
                    .status()
                    .message(),
                AllOf(HasSubstr("f:2:"), gone));
  }
}

TEST(Resolve, HugeDegreesDoNotOverflow) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario s,
                       Resolve("s1", {"training.parallel.tensor=2147483647",
                                      "training.parallel.context=2147483647",
                                      "training.parallel.pipeline=2147483647",
                                      "system.nodes=2147483647"}));
  EXPECT_FALSE(s.training().parallel().has_data());
}

TEST(Resolve, AFileIsAScenarioToo) {
  const std::string path = testing::TempDir() + "/resolve_test.textproto";
  ASSERT_OK(WriteFile(path,
                      "model { preset: \"m1\" } system { preset: \"y1\" "
                      "nodes: 1 } inference { parallel { tensor: 8 } }"));
  ASSERT_OK_AND_ASSIGN(const pb::Scenario s, Resolve(path));
  EXPECT_EQ(s.inference().parallel().data(), 1);
  EXPECT_EQ(s.inference().micro_batches(), 1);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace orrery
