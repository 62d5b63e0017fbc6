// Separate pools: prefill here, decode there, the cache on its way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "accuracy/trust/trust.h"
#include "run/phase_ground.h"
#include "run/requests/inference_report.h"
#include "run/requests/kv_transfer.h"
#include "run/requests/request_timeline.h"
#include "run/run_scenario.h"
#include "tests/run/inference_scenario.h"
#include "tests/status_matchers.h"
#include "workload/plan/inference_memory.h"

namespace orrery {
namespace {

using testing::HasSubstr;
using Sets = std::vector<std::string>;

constexpr char kPools[] = "inference.disaggregated.";

ResolvedScenario Pools(Sets sets = {}) {
  for (std::string& set : sets) {
    if (set.starts_with("pools.")) set = kPools + set.substr(6);
  }
  absl::StatusOr<ResolvedScenario> scenario =
      ScenarioWith("llama3_70b_pools", sets);
  EXPECT_THAT(scenario, IsOk());
  return *std::move(scenario);
}

// 2048 tokens x 80 layers x 2 x 8 x 128 in FP8 = 335 544 320 B. Eight ranks
// have a head each on both sides: 41 943 040 B each, over a NIC of 50 GB/s:
// 839 us at the least.
TEST(Pools, TheCacheOfAPromptMovesOverTheNicsOfAllRanks) {
  const ResolvedScenario s = Pools();
  ASSERT_OK_AND_ASSIGN(const KvTransfer t,
                       TransferCache(s, FromSeconds(0.075)));
  EXPECT_EQ(t.bytes, Bytes(335'544'320));
  EXPECT_EQ(t.moved, Bytes(335'544'320));
  EXPECT_GT(ToSeconds(t.time), 41'943'040 / 50e9);
  EXPECT_LT(ToSeconds(t.time), 1.3 * 41'943'040 / 50e9);
  // All but the last of 80 layers hide behind the prefill.
  EXPECT_LT(t.exposed, t.time / 20);
  EXPECT_GT(t.exposed, Duration(0));
}

// Three prompts for two replicas: one of them gets two, as with four.
TEST(Pools, PromptsThatDoNotDivideOverTheReplicas) {
  const auto time = [](int prompts) {
    const ResolvedScenario s =
        Pools({"pools.decode_parallel.tensor=4", "pools.decode_parallel.data=2",
               fmt::format("pools.prefill_batch={}", prompts)});
    const auto t = TransferCache(s, Duration(0));
    EXPECT_THAT(t, IsOk());
    return ToSeconds(t->time);
  };
  EXPECT_EQ(time(3), time(4));
  // Twice the bytes on the same NICs, but for latencies.
  EXPECT_NEAR(time(4) / time(2), 2, 0.1);
  EXPECT_NEAR(time(5) / time(2), 3, 0.2);
}

// The first token waits for what of the cache's way the prefill does not hide.
TEST(Pools, TheFirstTokenComesWithTheCache) {
  const ResolvedScenario s = Pools();
  ASSERT_OK_AND_ASSIGN(const pb::Report report, ReportInference(s, {}));
  const auto& r = report.inference();
  EXPECT_GT(r.pools().exposed_transfer_s(), 0);
  EXPECT_DOUBLE_EQ(r.time_to_first_token_s(),
                   r.prefill_s() + r.pools().exposed_transfer_s());
  // An estimate of the same adds the same.
  ASSERT_OK_AND_ASSIGN(const pb::Report estimate, EstimateInference(s));
  EXPECT_NEAR(estimate.inference().time_to_first_token_s() -
                  estimate.inference().prefill_s(),
              r.pools().exposed_transfer_s(),
              0.05 * r.pools().exposed_transfer_s());
}

// A decode pool of four chips has none of the eight that prefill, nor a network
// beyond its own: the closed form of the prefill is that of the other pool.
TEST(Pools, APodMayHaveMoreChipsForPrefillThanForDecode) {
  const auto scenario = ScenarioWith(
      "llama3_70b_tpu_v6e",
      {"system.nodes=3", "system.chips_per_node=4",
       "inference.parallel=", "inference.batch=32",
       "inference.disaggregated={prefill_parallel { tensor: 8 } "
       "decode_parallel { tensor: 4 } prefill_chips: 8 decode_chips: 4}"});
  ASSERT_THAT(scenario, IsOk());
  ASSERT_OK_AND_ASSIGN(const pb::Report report, ReportInference(*scenario, {}));
  EXPECT_NEAR(
      report.inference().estimated_prefill_s() / report.inference().prefill_s(),
      1, 0.02);
}

// With a prefill of no time nothing hides; 79 of 80 layers of it hide at most.
TEST(Pools, WhatThePrefillDoesNotHideIsExposed) {
  const ResolvedScenario s = Pools();
  ASSERT_OK_AND_ASSIGN(const KvTransfer t, TransferCache(s, Duration(0)));
  EXPECT_EQ(t.exposed, t.time);
  const Duration half = t.time / 2;
  ASSERT_OK_AND_ASSIGN(const KvTransfer some, TransferCache(s, half));
  EXPECT_EQ(some.exposed, t.time - half * 79 / 80);
}

// Tensor 8 to tensor 4 in two replicas: every decode rank gets two heads, twice
// the bytes of its NIC; those of one prompt go to one replica of four ranks.
TEST(Pools, HeadsAreLaidOutAnewWhereDegreesDiffer) {
  const ResolvedScenario s = Pools({"pools.decode_parallel.tensor=4"});
  ASSERT_OK_AND_ASSIGN(const KvTransfer same,
                       TransferCache(Pools(), Duration(0)));
  ASSERT_OK_AND_ASSIGN(const KvTransfer t, TransferCache(s, Duration(0)));
  EXPECT_EQ(t.moved, Bytes(335'544'320));
  // A tenth of a transfer is its start, however many bytes there are.
  constexpr double kStart = 0.1;
  EXPECT_NEAR(ToSeconds(t.time) / ToSeconds(same.time), 2 - kStart, 0.02);
  // Two prompts of a batch go to both replicas at the same time.
  ASSERT_OK_AND_ASSIGN(const KvTransfer two,
                       TransferCache(Pools({"pools.decode_parallel.tensor=4",
                                            "pools.prefill_batch=2"}),
                                     Duration(0)));
  EXPECT_EQ(two.moved, Bytes(2 * 335'544'320));
  EXPECT_NEAR(ToSeconds(two.time) / ToSeconds(t.time), 1, kStart);
}

// Half the NICs: two chips share one, and all of them send.
TEST(Pools, ChipsThatShareANicShareItsBandwidth) {
  ASSERT_OK_AND_ASSIGN(const KvTransfer all,
                       TransferCache(Pools(), Duration(0)));
  ASSERT_OK_AND_ASSIGN(
      const KvTransfer half,
      TransferCache(Pools({"system.scale_out.nics_per_node=4"}), Duration(0)));
  EXPECT_GT(ToSeconds(half.time), 1.8 * ToSeconds(all.time));
}

Sets OnB200() {
  return {"system.nodes=1", "pools.prefill_system.preset=dgx_b200",
          "pools.prefill_system.nodes=1"};
}

// Prompts on B200, decode on H100: the prefill is that of a B200 node, the
// decode step that of an H100 node, to the picosecond.
TEST(Pools, MayHaveMachinesOfTheirOwn) {
  const ResolvedScenario s = Pools(OnB200());
  ASSERT_TRUE(s.prefill.has_value());
  EXPECT_EQ(s.prefill->system.chip().name(), "b200_sxm");
  EXPECT_EQ(s.system.chip().name(), "h100_sxm");
  const auto run = [](const ResolvedScenario& at) {
    const absl::StatusOr<PhaseGrounds> grounds = PhaseGrounds::Make(at);
    EXPECT_THAT(grounds, IsOk());
    return RunInference(grounds->of(PassPurpose::kPrefill),
                        grounds->of(PassPurpose::kDecode), *at.inference(), {});
  };
  ASSERT_OK_AND_ASSIGN(const InferenceRun mixed, run(s));
  ASSERT_OK_AND_ASSIGN(const InferenceRun h100, run(Pools()));
  ASSERT_OK_AND_ASSIGN(const InferenceRun b200,
                       run(Pools({"system.preset=dgx_b200"})));
  EXPECT_EQ(mixed.prefill, b200.prefill);
  EXPECT_EQ(mixed.decode, h100.decode);
  EXPECT_LT(mixed.prefill, h100.prefill);
}

// Both nodes have 400 Gb/s per chip: as on one machine.
TEST(Pools, OfTwoMachinesMeetBetweenNodes) {
  ASSERT_OK_AND_ASSIGN(const KvTransfer one,
                       TransferCache(Pools(), Duration(0)));
  ASSERT_OK_AND_ASSIGN(const KvTransfer two,
                       TransferCache(Pools(OnB200()), Duration(0)));
  EXPECT_EQ(two.moved, one.moved);
  EXPECT_NEAR(ToSeconds(two.time) / ToSeconds(one.time), 1, 0.1);
  // A slow side sets the pace.
  Sets slow = OnB200();
  slow.push_back("pools.prefill_system.scale_out.nic_bandwidth=100 Gb/s");
  ASSERT_OK_AND_ASSIGN(const KvTransfer paced,
                       TransferCache(Pools(slow), Duration(0)));
  // A quarter of the bandwidth, but for what is the start of a transfer.
  EXPECT_GT(ToSeconds(paced.time), 3.2 * ToSeconds(two.time));
  EXPECT_LT(ToSeconds(paced.time), 4 * ToSeconds(two.time));
}

TEST(Pools, TheLowestRateLimits) {
  const auto limiting = [](const Sets& sets) {
    const absl::StatusOr<pb::Report> report = EstimateInference(Pools(sets));
    EXPECT_THAT(report, IsOk());
    const auto& pools = report->inference().pools();
    const double least =
        std::min({pools.prefill_requests_per_s(), pools.decode_requests_per_s(),
                  pools.transfer_requests_per_s()});
    if (pools.limiting() == "prefill") {
      EXPECT_EQ(least, pools.prefill_requests_per_s());
    } else if (pools.limiting() == "decode") {
      EXPECT_EQ(least, pools.decode_requests_per_s());
    } else {
      EXPECT_EQ(least, pools.transfer_requests_per_s());
    }
    return pools.limiting();
  };
  EXPECT_EQ(limiting({}), "prefill");
  EXPECT_EQ(limiting({"inference.output=2000"}), "decode");
  EXPECT_EQ(limiting({"system.scale_out.nic_bandwidth=1 Gb/s"}), "transfer");
}

// A request is a prompt in and its output out: in a row of requests no pool
// makes more than the others let through, whichever limits.
TEST(Pools, NoMoreTokensComeOutThanPromptsGoIn) {
  for (const Sets& sets :
       {Sets{}, Sets{"inference.output=2000"}, Sets{"inference.batch=8"},
        Sets{"pools.prefill_batch=8", "inference.prompt=256"}}) {
    ASSERT_OK_AND_ASSIGN(const pb::Report report,
                         ReportInference(Pools(sets), {}));
    const auto& result = report.inference();
    const auto& pools = result.pools();
    const int output = Pools(sets).inference()->output();
    EXPECT_DOUBLE_EQ(result.output_tokens_per_s(),
                     output * std::min({pools.prefill_requests_per_s(),
                                        pools.transfer_requests_per_s(),
                                        pools.decode_requests_per_s()}));
    EXPECT_DOUBLE_EQ(report.tokens_per_s(), result.output_tokens_per_s());
  }
}

TEST(Pools, ChipsThatAreNotSaidAreTheOthers) {
  const ResolvedScenario s = Pools({"pools.decode_chips="});
  EXPECT_EQ(s.inference()->decode().degrees.ranks(), 8);
  Sets sets = OnB200();
  sets.push_back("pools.prefill_chips=4");
  for (std::string& set : sets) {
    if (set.starts_with("pools.")) set = kPools + set.substr(6);
  }
  EXPECT_THAT(ScenarioWith("llama3_70b_pools", sets).status().message(),
              HasSubstr("prefill_chips"));
}

// Input tokens are paid for on the prefill pool's chips, output tokens on the
// decode pool's.
TEST(Pools, TokensCostWhatTheirChipsDo) {
  const absl::StatusOr<pb::Report> report =
      ReportInference(Pools({"cost.rent=$3.6/h"}), {});
  ASSERT_THAT(report, IsOk());
  const auto& r = report->inference();
  const auto& cost = report->cost();
  // 8 chips at 0.1 cents a second, of whose time 0.5 to 0.7 is used.
  const double input = 8 * 0.001 / r.prefill_tokens_per_s() * 1e6;
  const double output = 8 * 0.001 / r.decode_tokens_per_s() * 1e6;
  EXPECT_NEAR(cost.million_input_tokens().nominal() / input,
              cost.million_output_tokens().nominal() / output, 1e-9);
  EXPECT_GE(cost.million_input_tokens().nominal(), input);
  EXPECT_LE(cost.million_input_tokens().low(),
            cost.million_input_tokens().nominal());
  EXPECT_GE(cost.million_input_tokens().high(),
            cost.million_input_tokens().nominal());
  const auto& energy = report->energy();
  EXPECT_GT(energy.million_output_joules().nominal(),
            energy.million_input_joules().nominal());
  EXPECT_GT(energy.million_output_grams_co2e().high(),
            energy.million_output_grams_co2e().low());
}

// However few of the machine's chips a pool has, none of them draws more than
// its limit, nor less than its base.
TEST(Pools, NoChipDrawsMoreThanItsLimit) {
  const std::vector<Sets> cases = {
      {},
      // Eight of 64 chips are for prompts, which keep matrix units busy.
      {"system.nodes=8", "pools.prefill_chips=8", "pools.decode_chips=56",
       "pools.decode_parallel.tensor=8", "inference.batch=56"},
      {"system.nodes=8", "pools.prefill_chips=56", "pools.decode_chips=8",
       "pools.prefill_batch=7"},
  };
  for (const Sets& sets : cases) {
    const ResolvedScenario s = Pools(sets);
    const absl::StatusOr<pb::Report> report = ReportInference(s, {});
    ASSERT_THAT(report, IsOk());
    const double limit = s.system.chip().power()->value();
    EXPECT_LE(report->energy().chip_watts(), limit);
    EXPECT_GT(report->energy().chip_watts(), 0.25 * limit);
    // A million prompt tokens: the pool's chips at their limit, with hosts and
    // network (less than twice as much again), in a facility of PUE 1.25 that
    // is used 0.4 of the time.
    const auto chips =
        static_cast<double>(s.inference()->prefill().degrees.ranks());
    const double seconds = 1e6 / report->inference().prefill_tokens_per_s();
    EXPECT_LT(report->energy().million_input_joules().high(),
              3 * limit * chips * seconds * 1.25 / 0.4);
  }
}

// Both machines are bought; their prices vary together or not at all, so that
// the interval is narrower than the sum of both.
TEST(Pools, CapitalIsOfBothMachines) {
  const absl::StatusOr<pb::Report> report = EstimateInference(Pools(OnB200()));
  ASSERT_THAT(report, IsOk());
  double nominal = 0, low = 0, high = 0;
  for (const auto& item : report->cost().items()) {
    nominal += item.total().nominal();
    low += item.total().low();
    high += item.total().high();
  }
  const auto& capital = report->cost().capital();
  EXPECT_NEAR(capital.nominal() / nominal, 1, 1e-12);
  EXPECT_GT(capital.low(), low);
  EXPECT_LT(capital.high(), high);
}

// The trace of a request that changes pools: prefill, its cache on the way,
// decode steps, one after the other on one clock.
TEST(Pools, ATimelineHasBoth) {
  const ResolvedScenario s = Pools();
  ASSERT_OK_AND_ASSIGN(
      const SimulatedRun prefill,
      RunScenario(s, {.part = InferencePart::kRequest, .record = true}));
  ASSERT_OK_AND_ASSIGN(SimulatedRun decode, RunDecodePool(s, {.record = true}));
  const Time arrives = prefill.result.end + FromSeconds(3e-3 + 1e-3);
  const RequestTimeline timeline =
      RequestsOf(s, prefill, {.run = std::move(decode), .from = arrives},
                 InferencePart::kRequest, Duration(std::chrono::seconds(9)));
  using Kind = RequestStep::Kind;
  // The engine's 3 ms come first, and the rest of 255 decode steps last.
  ASSERT_EQ(timeline.steps.size(), 8u);
  const Kind kinds[] = {Kind::kOverhead, Kind::kPrefill, Kind::kTransfer,
                        Kind::kDecode,   Kind::kDecode,  Kind::kDecode,
                        Kind::kDecode,   Kind::kNotDrawn};
  Time last{};
  for (size_t i = 0; i < timeline.steps.size(); ++i) {
    const RequestStep& step = timeline.steps[i];
    EXPECT_EQ(step.kind, kinds[i]) << i;
    EXPECT_GE(step.from, last) << i;
    EXPECT_GT(step.to, step.from) << i;
    last = step.to;
  }
  EXPECT_EQ(timeline.steps[2].to, arrives);
  EXPECT_GE(timeline.steps[3].from, arrives);
  EXPECT_EQ(timeline.steps[7].to, Time(std::chrono::seconds(9)));
  EXPECT_EQ(timeline.steps[7].steps, 251);
  // One prompt of 2048 tokens; the decode pool has all 64 sequences.
  EXPECT_EQ(timeline.sequences, 1);
  EXPECT_EQ(timeline.steps[1].tokens, 2048);
  EXPECT_EQ(timeline.steps[3].count, s.inference()->batch());
  // A head of keys and values of 80 layers in FP8: 20 480 B per token and chip.
  EXPECT_EQ(timeline.cache[0].held, Bytes(20480 * 2048));
}

// The prefill pool fits exactly where its fullest stage fits the memory of its
// own chip, whatever memory the decode pool has.
TEST(Pools, EachFitsTheMemoryOfItsOwnMachine) {
  const ResolvedScenario s = Pools(OnB200());
  Bytes needed{};
  for (const InferenceMemory& stage :
       MemoryByStage(s.model, *s.inference(), PassPurpose::kPrefill,
                     s.prefill->kernels.reserved_memory())) {
    needed = std::max(needed, stage.total());
  }
  for (const Bytes there : {needed - Bytes(1), needed}) {
    Sets sets = OnB200();
    sets.push_back(
        fmt::format("pools.prefill_system.chip.memory={} B", there.value()));
    ASSERT_OK_AND_ASSIGN(const pb::Report report,
                         EstimateInference(Pools(sets)));
    EXPECT_EQ(report.memory().fits(), there == needed) << there.value();
  }
}

// The trust in a request is that in the pool whose machine is further from
// measured ones, whichever of the two that is.
TEST(Pools, AreTrustedAsFarAsTheFurtherMachine) {
  const auto level = [](const Sets& sets) {
    return TrustIn(Pools(sets).proto).level();
  };
  const std::string slow = "memory_bandwidth=100 TB/s";
  Sets as_is = OnB200();
  Sets prefill = as_is;
  prefill.push_back("pools.prefill_system.chip." + slow);
  Sets decode = as_is;
  decode.push_back("system.chip." + slow);
  const Sets alike = {"system.nodes=1",
                      "pools.prefill_system.preset=dgx_h100_ib400",
                      "pools.prefill_system.nodes=1"};
  Sets alike_prefill = alike;
  alike_prefill.push_back("pools.prefill_system.chip." + slow);
  Sets alike_decode = alike;
  alike_decode.push_back("system.chip." + slow);
  EXPECT_NE(level(alike), pb::Trust::EXTRAPOLATED);
  for (const Sets& sets : {prefill, decode, alike_prefill, alike_decode}) {
    EXPECT_EQ(level(sets), pb::Trust::EXTRAPOLATED);
  }
}

}  // namespace
}  // namespace orrery
