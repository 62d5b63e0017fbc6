// Trust: what is said of a scenario follows from how far it is from measured
// runs.
#include "accuracy/trust/trust.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/trust/error_groups.h"
#include "base/format.h"
#include "catalog/resolve.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;
using testing::HasSubstr;

pb::Scenario Resolved(const std::string& scenario,
                      const std::vector<std::string>& sets = {}) {
  auto resolved = ResolveScenario(Catalog(), scenario, sets);
  EXPECT_THAT(resolved, IsOk());
  return *std::move(resolved);
}

pb::Trust TrustOf(const std::string& scenario,
                  const std::vector<std::string>& sets = {}) {
  return TrustIn(Resolved(scenario, sets));
}

std::vector<std::string> FieldsOf(const pb::Trust& trust) {
  std::vector<std::string> fields;
  for (const auto& difference : trust.differences()) {
    fields.push_back(difference.field());
  }
  return fields;
}

// Eight steps of Megatron-LM on A100 and one more are this kind of run.
TEST(Trust, OfAMeasuredKindIsTheErrorOfItsRows) {
  const pb::Trust trust = TrustOf("megatron_175b_selective");
  EXPECT_EQ(trust.level(), pb::Trust::MEASURED) << trust.text();
  EXPECT_EQ(trust.differences_size(), 0) << trust.text();
  std::vector<const ErrorGroup*> same;
  for (const ErrorGroup& group : TrainingErrors()) {
    if (group.kind.chip == "a100_sxm_80" &&
        group.kind.software == "megatron_lm_2022" && !group.kind.experts) {
      same.push_back(&group);
    }
  }
  const ErrorGroup rows = Pool(same);
  ASSERT_GE(rows.rows, kRowsNeeded);
  EXPECT_EQ(trust.rows(), rows.rows);
  EXPECT_EQ(trust.mean_error(), rows.mean);
  EXPECT_EQ(trust.bias(), rows.bias);
  EXPECT_THAT(trust.text(),
              HasSubstr(fmt::format("mean error {:.0f} %", 100 * rows.mean)));
}

// 100 TB/s are 29.85 times the 3.35 TB/s of an H100.
TEST(Trust, IsWithdrawnFromMachinesThatDoNotExist) {
  const pb::Trust trust =
      TrustOf("quickstart", {"system.chip.memory_bandwidth=100 TB/s",
                             "system.chip.peak[BF16].rate=50 PFLOP/s"});
  EXPECT_EQ(trust.level(), pb::Trust::EXTRAPOLATED);
  EXPECT_FALSE(trust.has_mean_error());
  EXPECT_FALSE(trust.has_rows());
  EXPECT_THAT(trust.text(), HasSubstr("no measured step is near"));
  EXPECT_THAT(trust.text(),
              HasSubstr("system.chip.memory_bandwidth is 29.9 times"));
  EXPECT_THAT(trust.text(), HasSubstr("system.chip.peak[BF16].rate"));
  EXPECT_THAT(FieldsOf(trust),
              testing::Contains("system.chip.memory_bandwidth"));
}

// 4.8 TB/s is what an H200 has; nobody measured an H100 with it.
TEST(Trust, WidensWhereOtherMeasuredChipsHaveTheValue) {
  const pb::Trust as_is = TrustOf("quickstart");
  const pb::Trust trust =
      TrustOf("quickstart", {"system.chip.memory_bandwidth=4.8 TB/s"});
  EXPECT_EQ(trust.level(), pb::Trust::NEAR) << trust.text();
  EXPECT_THAT(trust.text(), HasSubstr("system.chip.memory_bandwidth is 1.43"));
  ASSERT_TRUE(trust.has_mean_error());
  EXPECT_GE(trust.mean_error(), as_is.mean_error());
}

TEST(Trust, DoesNotDependOnHowAValueIsSpelled) {
  EXPECT_EQ(TrustOf("quickstart").SerializeAsString(),
            TrustOf("quickstart", {"system.chip.memory_bandwidth=3350 GB/s",
                                   "system.chip.power=0.7 kW"})
                .SerializeAsString());
}

// vLLM adds nothing to a request, so that 5 us are no number of times as much.
TEST(Trust, MakesNoRatioToZero) {
  const std::string field = "inference.engine.request_overhead";
  const pb::Trust trust = TrustOf(
      "llama2_70b_inference", {"inference.engine.preset=vllm", field + "=5 us",
                               "system.chip.power=1 kW"});
  for (const auto& difference : trust.differences()) {
    if (difference.field() == field) {
      EXPECT_FALSE(difference.has_factor()) << difference.factor();
    } else if (difference.field() == "system.chip.power") {
      EXPECT_DOUBLE_EQ(difference.factor(), 2.5);  // of an A100's 400 W
    }
  }
  EXPECT_THAT(FieldsOf(trust),
              testing::IsSupersetOf({field, std::string("system.chip.power")}));
  EXPECT_THAT(trust.text(), HasSubstr(field + " is 5 us, not 0 us"));
}

// Each part of a scenario counts: chip, kernels, system, network, framework,
// kind of model, precision and scale.
TEST(Trust, NamesThePartThatWasNotMeasured) {
  struct Case {
    const char* scenario;
    std::vector<std::string> sets;
    const char* field;
    pb::Trust::Level level;
  };
  const Case cases[] = {
      {"quickstart",
       {"kernels.matrix_efficiency=0.999"},
       "kernels.matrix_efficiency",
       pb::Trust::EXTRAPOLATED},
      {"quickstart",
       {"system.scale_out.nic_bandwidth=40 Tb/s"},
       "system.scale_out.nic_bandwidth",
       pb::Trust::EXTRAPOLATED},
      {"quickstart",
       {"framework.dispatch=1 s"},
       "framework.dispatch",
       pb::Trust::EXTRAPOLATED},
      {"quickstart",
       {"framework.preset=nanotron_2024"},
       "",
       pb::Trust::MEASURED},
      {"quickstart",
       {"framework.preset=deepspeed_2024"},
       "framework",
       pb::Trust::NEAR},
      {"quickstart",
       {"system.nodes=65536"},
       "system.nodes",
       pb::Trust::EXTRAPOLATED},
      {"quickstart",
       {"training.sequence=4194304"},
       "training.sequence",
       pb::Trust::EXTRAPOLATED},
      {"quickstart",
       {"training.precision=FP4"},
       "training.precision",
       pb::Trust::EXTRAPOLATED},
      {"quickstart",
       {"system.fault={from: 0 remaining: 0.5}"},
       "system.fault[0].remaining",
       pb::Trust::EXTRAPOLATED},
      {"quickstart", {"system.preset=aws_p5_efa"}, "", pb::Trust::MEASURED},
      {"llama2_70b_inference",
       {"system.chip.memory_bandwidth=60 TB/s"},
       "system.chip.memory_bandwidth",
       pb::Trust::EXTRAPOLATED},
      {"llama2_70b_inference",
       {"inference.engine.host_launch=1 s"},
       "inference.engine.host_launch",
       pb::Trust::EXTRAPOLATED}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.sets[0]);
    const pb::Trust trust = TrustOf(each.scenario, each.sets);
    if (std::string(each.field).empty()) {
      EXPECT_LE(trust.level(), pb::Trust::NEAR) << trust.text();
      continue;
    }
    EXPECT_EQ(trust.level(), each.level) << trust.text();
    EXPECT_THAT(FieldsOf(trust), testing::Contains(each.field)) << trust.text();
    EXPECT_THAT(trust.has_mean_error(), each.level == pb::Trust::NEAR);
  }
}

// A model that nobody measured is not vouched for, on either side of what was,
// whichever of its sizes it is.
TEST(Trust, IsWithdrawnFromSizesThatWereNotMeasured) {
  struct Case {
    const char* scenario;
    std::vector<std::string> sets;
    const char* field;
    const char* words;
  };
  const Case cases[] = {
      {"quickstart",
       {"model.layers=10000", "training.parallel.pipeline=1"},
       "model.layers",
       "the number of layers is 10000, measured steps had "},
      {"quickstart",
       {"model.layers=1", "training.parallel.pipeline=1"},
       "model.layers",
       "the number of layers is 1,"},
      {"quickstart", {"training.sequence=4"}, "training.sequence", "is 4,"},
      {"quickstart", {"model.mlp.width=4"}, "model.mlp.width", "is 4,"},
      {"quickstart", {"model.mlp.width=1000000"}, "model.mlp.width", "had "},
      {"quickstart", {"model.vocabulary=16000000"}, "model.vocabulary", "had "},
      {"quickstart",
       {"model.attention.window=1"},
       "model.attention.window",
       "the attention window is 1,"},
      {"quickstart",
       {"model.hidden=64", "model.mlp.width=64", "model.vocabulary=64"},
       "model.hidden",
       "the width of the model is 64,"},
      {"quickstart",
       {"training.micro_batch=1024", "training.global_batch=8192"},
       "training.micro_batch",
       "is 1024,"},
      {"llama2_70b_inference",
       {"model.layers=1"},
       "model.layers",
       "measured requests had "},
      {"llama2_70b_inference",
       {"inference.batch=1000000"},
       "inference.batch",
       "measured requests had "},
      {"mixtral_8x7b_128",
       {"model.moe.expert_width=8"},
       "model.moe.expert_width",
       "the width of an expert is 8,"}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.sets[0]);
    const pb::Trust trust = TrustOf(each.scenario, each.sets);
    EXPECT_EQ(trust.level(), pb::Trust::EXTRAPOLATED) << trust.text();
    EXPECT_FALSE(trust.has_mean_error());
    EXPECT_THAT(FieldsOf(trust), testing::Contains(each.field));
    EXPECT_THAT(trust.text(), HasSubstr(each.words));
  }
}

// The steps with nanotron were in 16 bits, and without zero-bubble schedules.
TEST(Trust, NamesAFormatOrAScheduleThatTheCountedRowsDoNotHave) {
  const std::vector<std::string> nanotron = {"framework.preset=nanotron_2024"};
  auto sets = nanotron;
  sets.emplace_back("training.precision=FP8");
  const pb::Trust narrow = TrustOf("quickstart", sets);
  EXPECT_NE(narrow.level(), pb::Trust::MEASURED) << narrow.text();
  EXPECT_THAT(FieldsOf(narrow), testing::Contains("training.precision"));
  const pb::Trust schedule = TrustOf("quickstart", {"training.schedule=ZB_H1"});
  EXPECT_EQ(schedule.level(), pb::Trust::EXTRAPOLATED) << schedule.text();
  EXPECT_THAT(FieldsOf(schedule), testing::Contains("training.schedule"));
}

// A system that is written out is compared with the preset of its name.
TEST(Trust, KnowsASystemThatIsWrittenOutByItsName) {
  pb::Scenario scenario = Resolved("quickstart");
  scenario.mutable_system()->clear_preset();
  EXPECT_THAT(FieldsOf(TrustIn(scenario)),
              testing::Not(testing::Contains("system")));
}

TEST(Trust, SaysWhichChipsWereNeverMeasured) {
  const pb::Trust trust =
      TrustOf("quickstart", {"system.preset=mi300x_8x400", "system.nodes=4"});
  EXPECT_EQ(trust.level(), pb::Trust::EXTRAPOLATED);
  EXPECT_EQ(trust.text(), "no measured step on mi300x");
  EXPECT_FALSE(trust.has_mean_error());
  EXPECT_THAT(TrustOf("mixtral_8x7b_128",
                      {"system.preset=tpu_v6e_pod", "system.nodes=32"})
                  .text(),
              HasSubstr("no measured step of mixtures of experts on tpu_v6e"));
}

// Two steps were measured on the H200: no mean error of two is told.
TEST(Trust, TellsNoMeanOfFewRows) {
  std::vector<const ErrorGroup*> groups;
  for (const ErrorGroup& group : TrainingErrors()) {
    if (group.kind.chip == "h200_sxm" && !group.kind.experts) {
      groups.push_back(&group);
    }
  }
  const ErrorGroup rows = Pool(groups);
  ASSERT_LT(rows.rows, kRowsNeeded);
  const pb::Trust trust =
      TrustOf("quickstart",
              {"system.preset=h200_ib400", "system.nodes=4",
               "framework.preset=torchtitan_2025", "training.precision=FP8"});
  EXPECT_NE(trust.level(), pb::Trust::MEASURED);
  EXPECT_THAT(trust.text(), HasSubstr("too few for a mean error"));
  EXPECT_FALSE(trust.has_rows());
  EXPECT_GT(trust.mean_error(), rows.mean);
}

// A chip of one's own is compared with the one that it is like.
TEST(Trust, ComparesAChipWithTheOneItIsLike) {
  const std::string text = R"(
    name: "mine"
    model { preset: "llama3_8b" }
    system { preset: "dgx_h100_ib400" nodes: 4
      chip { preset: "" name: "my_chip" like: "h100_sxm"
             memory_bandwidth: "34 TB/s" } }
    training { global_batch: 64 micro_batch: 1 sequence: 8192
      parallel { tensor: 4 pipeline: 2 } precision: BF16 sharding: ZERO_1
      schedule: ONE_F_ONE_B recompute: RECOMPUTE_NONE })";
  std::string bare = text;
  bare.erase(bare.find("preset: \"\" "), std::string("preset: \"\" ").size());
  const auto scenario = ResolveScenarioText(Catalog(), bare, "a test", {});
  if (!scenario.ok()) GTEST_SKIP() << scenario.status();
  const pb::Trust trust = TrustIn(*scenario);
  EXPECT_EQ(trust.level(), pb::Trust::EXTRAPOLATED) << trust.text();
  EXPECT_THAT(FieldsOf(trust),
              testing::Contains("system.chip.memory_bandwidth"));
}

// A law over the schema: whichever quantity of chip, system, fabric, kernels or
// framework is made a hundred times what it is, trust names it and tells no
// error.
class FieldChanger {
 public:
  explicit FieldChanger(pb::Scenario scenario)
      : scenario_(std::move(scenario)) {}

  void ChangeAll() {
    Walk("system",
         [](pb::Scenario& s) -> gp::Message* { return s.mutable_system(); });
    Walk("kernels",
         [](pb::Scenario& s) -> gp::Message* { return s.mutable_kernels(); });
    Walk("framework",
         [](pb::Scenario& s) -> gp::Message* { return s.mutable_framework(); });
  }
  int changed() const { return changed_; }

 private:
  using Find = std::function<gp::Message*(pb::Scenario&)>;

  // What times do not depend on.
  static bool IsLeftOut(const std::string& path) {
    for (const char* part : {"source", "description", "name", ".nodes", ".die",
                             "burst_clock", ".power", "year", "cpus_per_node",
                             "training", "fitted_row", "made_for", "default"}) {
      if (absl::StrContains(path, part)) return true;
    }
    return path == "system.host.memory";
  }

  void Walk(const std::string& path, const Find& find) {
    gp::Message* message = find(scenario_);
    std::vector<const gp::FieldDescriptor*> fields;
    message->GetReflection()->ListFields(*message, &fields);
    for (const gp::FieldDescriptor* field : fields) {
      const std::string inner = path + "." + field->name();
      if (field->is_repeated() || IsLeftOut(inner)) continue;
      if (field->cpp_type() == gp::FieldDescriptor::CPPTYPE_MESSAGE) {
        Walk(inner, [find, field](pb::Scenario& s) {
          gp::Message* outer = find(s);
          return outer->GetReflection()->MutableMessage(outer, field);
        });
        continue;
      }
      Change(inner, find, *field);
    }
  }

  void Change(const std::string& path, const Find& find,
              const gp::FieldDescriptor& field) {
    pb::Scenario changed = scenario_;
    gp::Message* message = find(changed);
    const gp::Reflection& reflection = *message->GetReflection();
    constexpr double kTimes = 100;
    using Type = gp::FieldDescriptor::CppType;
    if (field.cpp_type() == Type::CPPTYPE_DOUBLE) {
      const double value = reflection.GetDouble(*message, &field);
      if (value == 0) return;
      reflection.SetDouble(message, &field, kTimes * value);
    } else if (field.cpp_type() == Type::CPPTYPE_INT32) {
      const int32_t value = reflection.GetInt32(*message, &field);
      if (value == 0) return;
      reflection.SetInt32(message, &field, 100 * value);
    } else if (field.cpp_type() == Type::CPPTYPE_STRING) {
      const std::string text = reflection.GetString(*message, &field);
      const size_t unit = text.find_first_not_of("0123456789.e+-");
      double value = 0;
      if (unit == 0 || unit == std::string::npos ||
          !absl::SimpleAtod(text.substr(0, unit), &value) || value == 0) {
        return;
      }
      reflection.SetString(
          message, &field,
          fmt::format("{}{}", kTimes * value, text.substr(unit)));
    } else {
      return;
    }
    SCOPED_TRACE(path);
    ++changed_;
    const pb::Trust trust = TrustIn(changed);
    EXPECT_EQ(trust.level(), pb::Trust::EXTRAPOLATED) << trust.text();
    EXPECT_FALSE(trust.has_mean_error());
    EXPECT_THAT(FieldsOf(trust), testing::Contains(path)) << trust.text();
  }

  pb::Scenario scenario_;
  int changed_ = 0;
};

TEST(Trust, NoQuantityIsAHundredTimesWhatItWasUnseen) {
  FieldChanger changer(Resolved("quickstart"));
  changer.ChangeAll();
  EXPECT_GT(changer.changed(), 40);
}

// The same plans on one machine, asked one by one or together.
TEST(PlanTrust, IsThatOfEachPlan) {
  const pb::Scenario scenario = Resolved("quickstart");
  PlanTrust trust(scenario);
  for (const char* set :
       {"training.parallel.tensor=8", "training.precision=FP8",
        "training.sequence=4096", "training.sequence=4194304",
        "training.micro_batch=2", "training.schedule=ZB_H1",
        "training.parallel.pipeline=1"}) {
    const pb::Scenario changed = Resolved("quickstart", {set});
    EXPECT_EQ(trust.Of(changed.training()).SerializeAsString(),
              TrustIn(changed).SerializeAsString())
        << set;
  }
}

}  // namespace
}  // namespace orrery
