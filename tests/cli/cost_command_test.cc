#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// As a shell would split it: at blanks, but for what is quoted.
ProgramResult Typed(const std::string& line, const std::string& input = "") {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return RunOrrery(words, input);
}

TEST(Cost, PrintsTheBillTheHourAndTheRun) {
  const auto result = Typed("cost quickstart --set training.run_tokens=15e12");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("NDR switches"), HasSubstr("a chip-hour"),
                    HasSubstr("the run: "), HasSubstr("1M tokens"),
                    HasSubstr("energy of a step")));
}

// A switch per plane; links per end point are dealt out over them.
TEST(Cost, CountsThePlanesOfASwitch) {
  const auto bought = [](int planes) {
    const auto result = Typed(
        "cost quickstart --set "
        "'system.scale_out.fabric.switch.links_per_endpoint=4' --set "
        "'system.scale_out.fabric.switch.planes=" +
        std::to_string(planes) + "'");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  EXPECT_THAT(bought(1), ContainsRegex("NDR switches +1 "));
  EXPECT_THAT(bought(2), ContainsRegex("NDR switches +2 "));
  EXPECT_THAT(bought(4), ContainsRegex("NDR switches +4 "));
}

// Dollars and joules of tokens are divided by the goodput of a run or the
// utilisation of a server: every output that prints them prints that as well.
TEST(Cost, FactorsStandBesideWhatTheyDivide) {
  const auto of = [](const std::string& line) {
    const auto result = Typed(line);
    EXPECT_EQ(result.exit_code, 0) << line << result.err;
    return result.out;
  };
  for (const char* command : {"simulate", "estimate"}) {
    EXPECT_THAT(of(std::string(command) + " quickstart"),
                AllOf(ContainsRegex("a million tokens \\(goodput 0.9\\)"),
                      HasSubstr("price list market_2025"),
                      HasSubstr("--set 'cost.price[run/goodput]=0.9'")));
  }
  EXPECT_THAT(of("simulate quickstart"),
              ContainsRegex("J a token \\(PUE 1.2, goodput 0.9\\)"));
  EXPECT_THAT(of("simulate llama3_70b_pools"),
              ContainsRegex("output tokens \\(utilisation 0.6\\)"));
  EXPECT_THAT(
      of("cost quickstart"),
      ContainsRegex("run/goodput +0.9 +0.85 .. 0.97 +2024 +market_2025"));
  EXPECT_THAT(of("cost quickstart --set 'cost.price[run/goodput]=0.5'"),
              AllOf(ContainsRegex("run/goodput +0.5 +0.5 .. 0.5 +scenario"),
                    HasSubstr("(PUE 1.2, goodput 0.5)")));
  EXPECT_THAT(of("show quickstart"), HasSubstr("id: \"run/goodput\""));
  EXPECT_THAT(of("show llama3_70b_pools"),
              HasSubstr("id: \"serving/utilisation\""));
  EXPECT_THAT(of("compare quickstart quickstart --set training.micro_batch=2"),
              AllOf(ContainsRegex("productive share +0.9 +0.9"),
                    ContainsRegex("factors\\[run/goodput\\] +0.9 +0.9")));
  EXPECT_THAT(of("simulate quickstart --csv -"),
              HasSubstr("cost.productive_share,0.9"));
  EXPECT_THAT(of("simulate quickstart --json -"),
              HasSubstr("\"setting\": \"cost.price[run/goodput]=0.9\""));
  EXPECT_THAT(of("explain llama3_405b_16k --no-sensitivities"),
              HasSubstr("goodput 0.9"));
  EXPECT_THAT(of("tune llama3_70b_fp8_serving --objective cost --simulate 1"),
              HasSubstr("utilisation 0.6"));
}

TEST(Cost, OfARentedMachineIsItsRent) {
  const auto result = Typed("cost quickstart --set cost.rent='$2/h'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("rented"), HasSubstr("2 USD"),
                                Not(HasSubstr("NDR switches"))));
}

TEST(Cost, OfAPackageIsABreakdown) {
  const auto result = Typed("cost --package h100_sxm");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("GH100"), HasSubstr("good dies and stacks lost"),
                    HasSubstr("kg CO2e")));
}

TEST(Cost, SaysWhatIsWrong) {
  EXPECT_THAT(Typed("cost").err, HasSubstr("give a SCENARIO"));
  EXPECT_THAT(Typed("cost --package h100").err, HasSubstr("no package 'h100'"));
  EXPECT_THAT(Typed("cost quickstart --set cost.prices=x").err,
              HasSubstr("price list 'x'"));
  EXPECT_THAT(Typed("cost quickstart --set cost.rent=cheap").err,
              HasSubstr("cheap"));
}

TEST(Simulate, HasCostAndEnergyInItsReport) {
  const auto result = Typed("simulate quickstart --json -");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\"dollars_per_chip_hour\""),
                                HasSubstr("\"joules_per_step\""),
                                HasSubstr("\"grams_co2e_per_step\"")));
}

TEST(Topology, ShowsWhatWasBuilt) {
  const auto text = Typed("topology dgx_h100_ib400 --nodes 4");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("bisection"), HasSubstr("0 .. 31"),
                              HasSubstr("fault { from: 0")));
  EXPECT_THAT(Typed("topology dgx_h100_ib400 --nodes 1 --format dot").out,
              HasSubstr("v0 -- v"));
  EXPECT_THAT(Typed("topology tpu_v4_pod --nodes 16 --format svg").out,
              AllOf(HasSubstr("<svg"), HasSubstr("</svg>")));
  EXPECT_THAT(Typed("topology dgx_h100_ib400 --nodes 512 --format svg").err,
              HasSubstr("fewer nodes"));
}

// The id that is printed is one that a scenario accepts.
TEST(Topology, IdsAreThoseOfFaults) {
  std::string scenario = Typed("show quickstart").out;
  const size_t at = scenario.find("system {\n");
  ASSERT_NE(at, std::string::npos);
  scenario.insert(at + 9, "  fault { from: 0 to: 32 remaining: 0.5 }\n");
  const auto result = Typed("simulate -", scenario);
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(Derive, PrintsAChip) {
  const auto result = Typed(
      "derive b200_sxm --process n3 --dies 2 --stacks 8 --power '1.2 kW'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("proto-message: Chip"),
                                HasSubstr("estimate: true"),
                                HasSubstr("power: \"1.2 kW\"")));
  EXPECT_THAT(Typed("derive h20_sxm").err, HasSubstr("has no package"));
}

// What is derived is a chip like any other.
TEST(Derive, MakesAChipThatCanBeSimulated) {
  const std::string chip =
      Typed(
          "derive h100_sxm --process n3 --dies 2 --stacks 8 --hbm HBM3E "
          "--power '1.2 kW'")
          .out;
  const auto result =
      Typed("simulate -",
            "name: \"q\" model { preset: \"llama3_8b\" } system { preset: "
            "\"dgx_h100_ib400\" nodes: 4 chip {\n" +
                chip +
                "} } training { global_batch: 64 micro_batch: 1 sequence: 8192 "
                "parallel { tensor: 4 pipeline: 2 data: 4 } precision: BF16 }");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("step time"));
  // Nobody sells it: the price has to be said.
  EXPECT_THAT(result.out, HasSubstr("no 'chip/derived_h100_sxm'"));
}

TEST(Show, CountsParameters) {
  EXPECT_THAT(Typed("show quickstart").out, HasSubstr("# parameters: 8030"));
}

// Four DGX H100 have eight NICs of 50 GB/s one way each, on a tree without
// taper, and every chip has 450 GB/s one way to the switches of its node:
//   inside nodes : 32 * 450 GB/s = 14.4 TB/s
//   between nodes: 32 * 50 GB/s  = 1.6 TB/s
//   bisection    : 16 * 50 GB/s  = 800 GB/s, all that two nodes can send
TEST(Topology, CountsBothWaysOnceAndHalvesWhatTheNodesCanSend) {
  const auto text = Typed("topology dgx_h100_ib400 --nodes 4");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("injection between nodes, one way"),
                    ContainsRegex("injection inside nodes, one way +14.4 TB/s"),
                    ContainsRegex("injection between nodes, one way +1.6 TB/s"),
                    ContainsRegex("bisection between nodes, one way +800 GB/s, "
                                  "100 % of what 2 of the 4 nodes")));
  // The row of the NICs multiplies the links by the rate of one of them.
  EXPECT_THAT(text.out, ContainsRegex(" 32 +32 +50 GB/s +1.6 TB/s"));
}

}  // namespace
}  // namespace orrery
