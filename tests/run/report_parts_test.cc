// The parts of a report are what their names say: each shrinks with what it
// waits for, and what is printed are the numbers that JSON has.
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/trust/trust.h"
#include "base/format.h"
#include "base/units_text.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "cli/print/inference_text.h"
#include "cli/print/report_text.h"
#include "run/improve_system.h"
#include "run/measured_beside.h"
#include "run/requests/scenario_report.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

pb::Report ReportOf(const pb::Scenario& proto) {
  const auto scenario = MakeScenario(proto);
  EXPECT_THAT(scenario, IsOk());
  auto report = ReportScenario(*scenario, {});
  EXPECT_THAT(report, IsOk());
  return *std::move(report);
}

pb::Scenario Preset(const std::string& name) {
  const auto proto = ResolveScenario(Catalog(), name, {});
  EXPECT_THAT(proto, IsOk());
  return *proto;
}

pb::Report::Breakdown TwiceAsGood(const pb::Scenario& proto,
                                  Improvement improvement) {
  const auto better = Improved(proto, improvement, 2);
  EXPECT_THAT(better, IsOk());
  return ReportOf(*better).breakdown();
}

class Breakdowns : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Scenarios, Breakdowns,
                         testing::Values("quickstart", "llama3_70b_pools"));

// Of the parts that no other machine changes alike, each shrinks most with what
// it waits for. It need not halve: a kernel that waited for memory may wait for
// something else then.
TEST(Breakdown, PartsShrinkMostWithWhatTheyWaitFor) {
  using Part = double (pb::Report::Breakdown::*)() const;
  using Breakdown = pb::Report::Breakdown;
  const std::vector<std::pair<Improvement, Part>> parts = {
      {Improvement::kCompute, &Breakdown::compute_s},
      {Improvement::kMemoryBandwidth, &Breakdown::memory_bound_s},
      {Improvement::kLaunch, &Breakdown::launch_s},
      {Improvement::kScaleUpBandwidth, &Breakdown::tensor_exposed_s}};
  const pb::Scenario proto = Preset("quickstart");
  const Breakdown as_is = ReportOf(proto).breakdown();
  for (const auto& [improvement, own] : parts) {
    SCOPED_TRACE(Name(improvement));
    const Breakdown better = TwiceAsGood(proto, improvement);
    const double left = (better.*own)() / (as_is.*own)();
    EXPECT_LT(left, 0.999);
    for (const auto& [with, other] : parts) {
      if (with == improvement) continue;
      EXPECT_LT(left, (better.*other)() / (as_is.*other)()) << Name(with);
    }
  }
}

// A decode step reads weights and cache.
TEST(Breakdown, DecodingWaitsForMemory) {
  const pb::Scenario proto = Preset("llama3_70b_pools");
  const auto as_is = ReportOf(proto).breakdown();
  const auto better = TwiceAsGood(proto, Improvement::kMemoryBandwidth);
  const double left = better.memory_bound_s() / as_is.memory_bound_s();
  EXPECT_LT(left, 0.7);
  EXPECT_LT(left, better.compute_s() / as_is.compute_s());
  EXPECT_LT(left, better.launch_s() / as_is.launch_s());
}

// The optimizer reads and writes its state, and computes next to nothing.
TEST(Breakdown, TheOptimizerWaitsForMemory) {
  const pb::Scenario proto = Preset("quickstart");
  EXPECT_NEAR(TwiceAsGood(proto, Improvement::kMemoryBandwidth).optimizer_s() /
                  ReportOf(proto).breakdown().optimizer_s(),
              0.5, 0.02);
}

// A plan fits if the chip has what is reserved, to the byte: the peak, and what
// the allocator holds beside it.
TEST(Memory, FitsWhereWhatIsReservedDoes) {
  const auto resolved = ResolveScenario(Catalog(), "quickstart",
                                        {"framework.preset=nanotron_2024"});
  ASSERT_THAT(resolved, IsOk());
  pb::Scenario proto = *resolved;
  const int64_t peak = ReportOf(proto).memory().peak_bytes();
  const int64_t reserved = ReportOf(proto).memory().reserved_bytes();
  ASSERT_LT(peak, reserved);
  for (const int64_t there : {peak, reserved - 1, reserved}) {
    proto.mutable_system()->mutable_chip()->set_memory(
        fmt::format("{} B", there));
    const pb::Report report = ReportOf(proto);
    EXPECT_EQ(report.memory().capacity_bytes(), there);
    EXPECT_EQ(report.memory().fits(), there == reserved);
  }
}

// Lines "name   value   share %" of a text, by name.
struct PrintedLine {
  std::string value;
  std::optional<double> share;
};
std::map<std::string, PrintedLine> LinesOf(const std::string& text) {
  std::map<std::string, PrintedLine> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::vector<std::string> parts;
    for (const absl::string_view part : absl::StrSplit(line, "  ")) {
      const absl::string_view word = absl::StripAsciiWhitespace(part);
      if (!word.empty()) parts.emplace_back(word);
    }
    if (parts.size() < 2) continue;
    PrintedLine printed{.value = parts[1], .share = std::nullopt};
    double share = 0;
    if (parts.size() > 2 && absl::EndsWith(parts[2], " %") &&
        absl::SimpleAtod(parts[2].substr(0, parts[2].size() - 2), &share)) {
      printed.share = share;
    }
    lines.emplace(parts[0], printed);
  }
  return lines;
}

// Four digits are printed of a quantity, one after the point of a share.
constexpr double kQuantityDigits = 1e-3;
constexpr double kShareDigits = 0.051;

double Seconds(const std::string& text) {
  const auto value = ParseDuration(text);
  EXPECT_THAT(value, IsOk()) << text;
  return ToSeconds(*value);
}

// As it is rounded it is no whole number of bytes.
double Gibibytes(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  double value = 0;
  EXPECT_TRUE(words.size() == 2 && absl::SimpleAtod(words[0], &value)) << text;
  if (words[1] == "MiB") return value / 1024;
  EXPECT_EQ(words[1], "GiB");
  return value;
}

TEST_P(Breakdowns, ArePrintedWithTheirShareOfTheStep) {
  const pb::Report report = ReportOf(Preset(GetParam()));
  const bool serves = report.has_inference();
  const auto lines =
      LinesOf(serves ? InferenceText(report) : ReportText(report));
  double shares = 0;
  double seconds = 0;
  for (const auto& [name, line] : lines) {
    if (!line.share) continue;
    const double part = Seconds(line.value);
    EXPECT_NEAR(*line.share, 100 * part / report.step_time_s(), kShareDigits)
        << name;
    shares += *line.share;
    seconds += part;
  }
  EXPECT_NEAR(shares, 100, 1);
  EXPECT_NEAR(seconds / report.step_time_s(), 1, kQuantityDigits);
  const auto& b = report.breakdown();
  for (const auto& [name, part] : std::map<std::string, double>{
           {"matrix and other compute", b.compute_s()},
           {serves ? "weights, cache: memory-bound" : "memory-bound kernels",
            b.memory_bound_s()},
           {serves ? "starting kernels on the chip" : "kernel launches",
            b.launch_s()},
           {"tensor communication, exposed", b.tensor_exposed_s()}}) {
    ASSERT_TRUE(lines.contains(name)) << name;
    EXPECT_NEAR(Seconds(lines.at(name).value) / part, 1, kQuantityDigits)
        << name;
  }
}

TEST(PrintedReport, HasTheMemoryOfAChipAndOfItsStages) {
  const pb::Report report = ReportOf(Preset("quickstart"));
  const std::string text = ReportText(report);
  const auto lines = LinesOf(text);
  double sum = 0;
  for (const char* part : {"weights", "gradients", "optimizer state",
                           "activations", "buffers and run-time"}) {
    ASSERT_TRUE(lines.contains(part)) << part;
    sum += Gibibytes(lines.at(part).value);
  }
  const double peak =
      static_cast<double>(report.memory().peak_bytes()) / (1 << 30);
  EXPECT_NEAR(sum / peak, 1, kQuantityDigits);
  // Of 8.03 billion parameters over TP 4 and PP 2: 2 bytes each of weights, 4
  // of gradients, and a quarter of 12 of the optimizer.
  const double gibi = 8.03e9 / 8 / (1 << 30);
  EXPECT_NEAR(Gibibytes(lines.at("weights").value) / (2 * gibi), 1, 0.01);
  EXPECT_NEAR(Gibibytes(lines.at("gradients").value) / (4 * gibi), 1, 0.01);
  EXPECT_NEAR(Gibibytes(lines.at("optimizer state").value) / (3 * gibi), 1,
              0.01);
  const std::string head = "by stage, first to last, in GiB: ";
  const size_t at = text.find(head);
  ASSERT_NE(at, std::string::npos);
  const std::vector<std::string> stages = absl::StrSplit(
      text.substr(at + head.size(), text.find('\n', at) - at - head.size()),
      ' ');
  ASSERT_EQ(static_cast<int>(stages.size()), report.memory().stages_size());
  for (size_t i = 0; i < stages.size(); ++i) {
    double gibibytes = 0;
    ASSERT_TRUE(absl::SimpleAtod(stages[i], &gibibytes)) << stages[i];
    EXPECT_NEAR(gibibytes,
                static_cast<double>(
                    report.memory().stages(static_cast<int>(i)).peak_bytes()) /
                    (1 << 30),
                kShareDigits);
  }
}

// The rates by hand: 64 sequences of 8192 tokens in the step, on 32 chips.
TEST(PrintedReport, HasTheRatesOfTheStep) {
  const pb::Scenario proto = Preset("quickstart");
  const pb::Report report = ReportOf(proto);
  const auto lines = LinesOf(ReportText(report));
  const double step = Seconds(lines.at("step time").value);
  const double tokens = static_cast<double>(proto.training().global_batch()) *
                        proto.training().sequence();
  const auto number = [&](const std::string& name) {
    const std::string& text = lines.at(name).value;
    double value = 0;
    EXPECT_TRUE(absl::SimpleAtod(text.substr(0, text.find(' ')), &value))
        << text;
    return value * (absl::EndsWith(text, " k") ? 1e3 : 1) /
           (absl::EndsWith(text, " %") ? 100 : 1);
  };
  EXPECT_NEAR(number("tokens per second") * step / tokens, 1, kQuantityDigits);
  EXPECT_NEAR(number("tokens per second and chip") * step * 32 / tokens, 1,
              kQuantityDigits);
  // 989.4 TFLOP/s in BF16.
  EXPECT_NEAR(number("model TFLOP/s per chip") /
                  (number("MFU (attention in full)") * 989.4),
              1, 2 * kQuantityDigits);
  EXPECT_LT(number("MFU (causal pairs only)"),
            number("MFU (attention in full)"));
}

TEST(PrintedRequest, HasTheTimesAndRatesOfTheReport) {
  const pb::Report report = ReportOf(Preset("llama3_70b_pools"));
  const pb::Report::InferenceResult& r = report.inference();
  const auto lines = LinesOf(InferenceText(report));
  for (const auto& [name, seconds] : std::map<std::string, double>{
           {"prefill", r.prefill_s()},
           {"time to first token", r.time_to_first_token_s()},
           {"time per output token", r.time_per_output_token_s()},
           {"end to end", r.end_to_end_s()},
           {"of a prefill batch, moved in", r.pools().transfer_s()}}) {
    ASSERT_TRUE(lines.contains(name)) << name;
    EXPECT_NEAR(Seconds(lines.at(name).value) / seconds, 1, kQuantityDigits)
        << name;
  }
  for (const auto& [name, rate] : std::map<std::string, double>{
           {"output tokens per second", r.output_tokens_per_s()},
           {"while decoding", r.decode_tokens_per_s()},
           {"while decoding, per chip", r.decode_tokens_per_s_per_chip()},
           {"while decoding, per user", r.tokens_per_s_per_user()},
           {"prompt tokens per second", r.prefill_tokens_per_s()}}) {
    ASSERT_TRUE(lines.contains(name)) << name;
    double printed = 0;
    ASSERT_TRUE(absl::SimpleAtod(lines.at(name).value, &printed)) << name;
    EXPECT_NEAR(printed / rate, 1, kQuantityDigits) << name;
  }
  const pb::Report::Memory& m = report.memory();
  for (const auto& [name, bytes] : std::map<std::string, int64_t>{
           {"weights", m.weights_bytes()},
           {"KV cache", m.kv_cache_bytes()},
           {"activations", m.activations_bytes()},
           {"graphs and run-time", m.buffers_bytes()}}) {
    ASSERT_TRUE(lines.contains(name)) << name;
    EXPECT_NEAR(Gibibytes(lines.at(name).value) * (1 << 30) /
                    static_cast<double>(bytes),
                1, kQuantityDigits)
        << name;
  }
}

// Each time of the closed form is printed with its difference from the same
// time as it was simulated.
TEST(PrintedRequest, HasTheClosedFormBesideWhatItEstimates) {
  for (const char* name : {"llama3_70b_pools", "llama2_70b_inference"}) {
    const pb::Report report = ReportOf(Preset(name));
    const pb::Report::InferenceResult& r = report.inference();
    const auto off = [](double estimate, double simulated) {
      return 100 * (estimate / simulated - 1);
    };
    EXPECT_NE(
        InferenceText(report).find(fmt::format(
            "closed form: prefill {} ({:+.1f} %), end to end {} ({:+.1f} %)",
            SecondsText(r.estimated_prefill_s()),
            off(r.estimated_prefill_s(), r.prefill_s()),
            SecondsText(r.estimated_end_to_end_s()),
            off(r.estimated_end_to_end_s(), r.end_to_end_s()))),
        std::string::npos)
        << name;
  }
}

// A negative bias is printed as "too fast" and a positive one as "too slow".
TEST(PrintedTrust, HasTheSignOfTheBias) {
  int fast = 0, slow = 0;
  for (const std::string& name : Catalog().Names("scenarios")) {
    const pb::Trust trust = TrustIn(Preset(name));
    const bool says_fast = trust.text().find("too fast") != std::string::npos;
    const bool says_slow = trust.text().find("too slow") != std::string::npos;
    EXPECT_FALSE(says_fast && says_slow) << trust.text();
    if (says_fast) {
      EXPECT_LT(trust.bias(), 0) << trust.text();
    }
    if (says_slow) {
      EXPECT_GT(trust.bias(), 0) << trust.text();
    }
    fast += says_fast;
    slow += says_slow;
  }
  EXPECT_GT(fast + slow, 0);
}

// A prediction that is twice the measurement has an error of 100 %, and one
// that is half of it an error of -50 %.
TEST(MeasuredBeside, TheErrorIsRelativeToTheMeasurement) {
  pb::Report report;
  report.set_step_time_s(3);
  pb::Scenario scenario;
  for (const double measured : {1.5, 6.0, 3.0}) {
    pb::MeasuredValue& value = *scenario.add_measured();
    value.set_report_field("step_time_s");
    value.set_value(measured);
    value.set_source("a test");
  }
  AddMeasured(scenario, report);
  ASSERT_EQ(report.measured_size(), 3);
  EXPECT_DOUBLE_EQ(report.measured(0).error(), 1);
  EXPECT_DOUBLE_EQ(report.measured(1).error(), -0.5);
  EXPECT_DOUBLE_EQ(report.measured(2).error(), 0);
}

}  // namespace
}  // namespace orrery
