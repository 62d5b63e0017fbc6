#include "catalog/override.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/merge.h"
#include "catalog/textproto.h"
#include "proto/scenario.pb.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

pb::Scenario Base() {
  pb::Scenario scenario;
  EXPECT_OK(ParseTextproto(R"(
    training { micro_batch: 1 parallel { tensor: 2 } layers_per_stage: [1, 2] }
    system { chip { peak { dtype: BF16 rate: "1 TFLOP/s" }
                    peak { dtype: FP8 rate: "2 TFLOP/s" }
                    cache { name: "L2" size: "40 MiB" } } })",
                           "base", &scenario));
  return scenario;
}

absl::Status Set(const std::string& text, pb::Scenario* scenario) {
  auto parsed = ParseOverride(text);
  if (!parsed.ok()) return parsed.status();
  return ApplyOverride(*parsed, scenario);
}

pb::Scenario After(const std::string& text) {
  pb::Scenario scenario = Base();
  EXPECT_OK(Set(text, &scenario));
  return scenario;
}

std::string RefusedSetting(const std::string& text) {
  pb::Scenario scenario = Base();
  const absl::Status status = Set(text, &scenario);
  EXPECT_EQ(status.code(), kInvalid) << text;
  EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
  return std::string(status.message());
}

TEST(Override, SetsEveryKindOfField) {
  EXPECT_EQ(After("training.parallel.tensor=4").training().parallel().tensor(),
            4);
  EXPECT_EQ(After("training.schedule=ZB_H1").training().schedule(),
            pb::Training::ZB_H1);
  EXPECT_EQ(
      After("training.expert_imbalance=1.5").training().expert_imbalance(),
      1.5);
  EXPECT_TRUE(
      After("training.overlap_tensor=true").training().overlap_tensor());
  EXPECT_EQ(After("system.chip.memory = 96 GB").system().chip().memory(),
            "96 GB");
  // Only the first '=' separates.
  EXPECT_EQ(After("description=a=b").description(), "a=b");
}

// A price list has hundreds of ids; a scenario names the few that it replaces.
TEST(Override, SetsAPriceByItsId) {
  pb::Scenario scenario = Base();
  EXPECT_OK(Set("cost.price[run/goodput]=0.95", &scenario));
  EXPECT_OK(Set("cost.price[chip/v1.5]=22000 USD", &scenario));
  EXPECT_OK(Set("cost.price[chip/v1.5].price.high=30000 USD", &scenario));
  EXPECT_OK(Set("cost.price[run/goodput]=0.9", &scenario));
  ASSERT_EQ(scenario.cost().price_size(), 2);
  EXPECT_EQ(scenario.cost().price(0).id(), "run/goodput");
  EXPECT_EQ(scenario.cost().price(0).price().nominal(), "0.9");
  EXPECT_EQ(scenario.cost().price(1).id(), "chip/v1.5");
  EXPECT_EQ(scenario.cost().price(1).price().nominal(), "22000 USD");
  EXPECT_EQ(scenario.cost().price(1).price().high(), "30000 USD");
  // Only messages that say so take a plain value.
  EXPECT_THAT(RefusedSetting("system.chip.peak[FP8]=1 TFLOP/s"),
              HasSubstr("a field of the entry"));
}

// What a file says after the field's name, and texts without their quotes.
TEST(Override, ReadsAValueAsAFileDoes) {
  EXPECT_EQ(
      After("training.parallel.tensor=0x10").training().parallel().tensor(),
      16);
  EXPECT_EQ(After("training.schedule=1F1B").training().schedule(),
            pb::Training::ONE_F_ONE_B);
  EXPECT_EQ(After("training.schedule=2").training().schedule(),
            pb::Training::ONE_F_ONE_B);
  EXPECT_EQ(After("training.run_tokens=15e12").training().run_tokens(), 15e12);
  EXPECT_EQ(After("name=\"a \\\"b\\\"\"").name(), "a \"b\"");
  EXPECT_EQ(After("name=say \"b\"").name(), "say \"b\"");
  EXPECT_THAT(
      After("system.collectives.algorithm=ring, all_reduce/nvls, \"a, b\"")
          .system()
          .collectives()
          .algorithm(),
      ElementsAre("ring", "all_reduce/nvls", "a, b"));
  // Messages are merged over what a preset has, as in a file; lists are whole.
  const pb::Scenario peaks = After(
      "system.chip.peak=[{dtype: fp4 rate: \"4 TFLOP/s\"}, {dtype: BF16}]");
  EXPECT_EQ(peaks.system().chip().peak_size(), 2);
  EXPECT_EQ(peaks.system().chip().peak(0).dtype(), pb::FP4);
}

// A list that only a preset has is said whole, with the entry changed.
TEST(Override, AnEntryOfAPresetsListTakesTheListOver) {
  const pb::Scenario base = Base();
  pb::Scenario said;
  ASSERT_OK_AND_ASSIGN(const Override clock,
                       ParseOverride("system.chip.peak[FP8].clock=1 GHz"));
  EXPECT_TRUE(NamesEntry(clock));
  ASSERT_OK(ApplyOverride(clock, &said, &base));
  ASSERT_EQ(said.system().chip().peak_size(), 2);
  EXPECT_EQ(said.system().chip().peak(1).rate(), "2 TFLOP/s");
  EXPECT_EQ(said.system().chip().peak(1).clock(), "1 GHz");
  EXPECT_FALSE(said.has_training());
  // From then on it is what was said that counts.
  ASSERT_OK_AND_ASSIGN(const Override rate,
                       ParseOverride("system.chip.peak[1].rate=3 TFLOP/s"));
  ASSERT_OK(ApplyOverride(rate, &said, &base));
  EXPECT_EQ(said.system().chip().peak(1).rate(), "3 TFLOP/s");
  EXPECT_EQ(said.system().chip().peak(1).clock(), "1 GHz");
}

TEST(Override, NothingTakesBackWhatWasSaidButNotWhatAPresetSays) {
  const pb::Scenario base = Base();
  pb::Scenario said;
  for (const char* set : {"training.micro_batch=", "system.chip.memory="}) {
    ASSERT_OK_AND_ASSIGN(const Override each, ParseOverride(set));
    ASSERT_OK(ApplyOverride(each, &said));
    // Where nothing was said there is nothing afterwards.
    EXPECT_EQ(said.ByteSizeLong(), 0u);
  }
  ASSERT_OK_AND_ASSIGN(const Override unset,
                       ParseOverride("training.micro_batch="));
  EXPECT_OK(CheckTakenBack(unset, said));
  EXPECT_THAT(CheckTakenBack(unset, base),
              StatusIs(kInvalid, HasSubstr("is said by a preset")));
  // The same for a field of an entry of a list.
  ASSERT_OK_AND_ASSIGN(const Override rate,
                       ParseOverride("system.chip.peak[1].rate="));
  EXPECT_OK(CheckTakenBack(rate, said));
  EXPECT_THAT(CheckTakenBack(rate, base),
              StatusIs(kInvalid, HasSubstr("is said by a preset")));
}

TEST(Override, SetsListsWholeOrByEntry) {
  EXPECT_THAT(
      After("training.layers_per_stage=3,4,5").training().layers_per_stage(),
      ElementsAre(3, 4, 5));
  EXPECT_THAT(
      After("training.layers_per_stage=[7]").training().layers_per_stage(),
      ElementsAre(7));
  EXPECT_THAT(After("training.recompute_module=NORM, MLP")
                  .training()
                  .recompute_module(),
              ElementsAre(pb::Training::NORM, pb::Training::MLP));
  EXPECT_EQ(After("system.chip.peak[1].rate=3 TFLOP/s")
                .system()
                .chip()
                .peak(1)
                .rate(),
            "3 TFLOP/s");
  EXPECT_EQ(After("system.chip.peak[FP8].rate=3 TFLOP/s")
                .system()
                .chip()
                .peak(1)
                .rate(),
            "3 TFLOP/s");
  EXPECT_EQ(After("system.chip.cache[L2].size=50 MiB")
                .system()
                .chip()
                .cache(0)
                .size(),
            "50 MiB");
}

TEST(Override, SetsMessagesAsTextAndClearsWithNothing) {
  const pb::Scenario torus =
      After("system.scale_up.fabric.torus={shape: [4,4]}");
  EXPECT_THAT(torus.system().scale_up().fabric().torus().shape(),
              ElementsAre(4, 4));
  EXPECT_EQ(
      After("training.layers_per_stage=").training().layers_per_stage_size(),
      0);
  EXPECT_FALSE(After("training.micro_batch=").training().has_micro_batch());
}

TEST(Override, ARefusalSaysWhatWouldBeLegal) {
  EXPECT_EQ(RefusedSetting("training.paralel.tensor=4"),
            "--set training.paralel: Training has no field 'paralel'; did you "
            "mean 'parallel'?");
  EXPECT_THAT(
      RefusedSetting("training.schedule=GPIP"),
      AllOf(HasSubstr("GPIPE, ONE_F_ONE_B"), HasSubstr("did you mean")));
  // A value goes on no further than its field.
  for (const char* value : {"four", "4294967296", "4 pipeline: 2", "4.5", "4,4",
                            "{}", "true", "4 }", "\"4\""}) {
    EXPECT_EQ(RefusedSetting(absl::StrCat("training.parallel.tensor=", value)),
              absl::StrCat("--set training.parallel.tensor: '", value,
                           "' is not a whole number from 1 to 1048576"));
  }
  EXPECT_THAT(RefusedSetting("training.parallel=4"),
              HasSubstr("its fields (tensor"));
  EXPECT_THAT(RefusedSetting("system.chip.peak[2].rate=x"),
              HasSubstr("positions are 0 to 1"));
  EXPECT_THAT(RefusedSetting("system.chip.peak[FP4].rate=x"),
              HasSubstr("there are BF16, FP8"));
  EXPECT_THAT(RefusedSetting("system.chip.peak.rate=x"), HasSubstr("peak[0]"));
  EXPECT_THAT(RefusedSetting("training.micro_batch[0]=1"),
              HasSubstr("is not a list"));
  EXPECT_THAT(RefusedSetting("training.micro_batch.x=1"),
              HasSubstr("has no fields"));
  EXPECT_THAT(RefusedSetting("training"), HasSubstr("PATH=VALUE"));
  EXPECT_THAT(RefusedSetting("=4"), HasSubstr("PATH=VALUE"));
  EXPECT_THAT(RefusedSetting("training..b=4"), HasSubstr("single dots"));
  EXPECT_THAT(RefusedSetting("training[0=4"), HasSubstr("without ']'"));
  EXPECT_THAT(RefusedSetting("model={"), HasSubstr("write {...}"));
  EXPECT_THAT(RefusedSetting("model={nope: 1}"), HasSubstr("no field 'nope'"));
}

TEST(Merge, SetFieldsWinListsAreReplacedAndTwiceIsOnce) {
  pb::Scenario base = Base();
  pb::Scenario over;
  ASSERT_OK(ParseTextproto(
      "training { parallel { context: 3 } layers_per_stage: [9] } "
      "system { chip { peak { dtype: FP4 rate: \"4 TFLOP/s\" } } }",
      "over", &over));
  MergeOver(over, &base);
  EXPECT_EQ(base.training().parallel().tensor(), 2);
  EXPECT_EQ(base.training().parallel().context(), 3);
  EXPECT_THAT(base.training().layers_per_stage(), ElementsAre(9));
  EXPECT_EQ(base.system().chip().peak_size(), 1);
  EXPECT_EQ(base.system().chip().cache_size(), 1);
  const std::string once = PrintTextproto(base);
  MergeOver(over, &base);
  EXPECT_EQ(PrintTextproto(base), once);
}

TEST(Merge, AnotherKindOfFabricReplacesTheFirst) {
  pb::System base, over;
  ASSERT_OK(ParseTextproto("scale_up { fabric { switch { planes: 4 } } }", "a",
                           &base));
  ASSERT_OK(ParseTextproto("scale_up { fabric { torus { shape: [2, 2] } } }",
                           "b", &over));
  MergeOver(over, &base);
  EXPECT_FALSE(base.scale_up().fabric().has_switch_());
  EXPECT_TRUE(base.scale_up().fabric().has_torus());
}

}  // namespace
}  // namespace orrery
