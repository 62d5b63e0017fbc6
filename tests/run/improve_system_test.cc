#include "run/improve_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/units_text.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "tests/status_matchers.h"
#include "topology/machine/kernels.h"
#include "topology/machine/system.h"

namespace orrery {
namespace {

using testing::HasSubstr;

TEST(ImproveSystem, AQuantityKeepsItsUnit) {
  EXPECT_THAT(ScaledQuantity("3.35 TB/s", 2), IsOkAndHolds("6.7 TB/s"));
  EXPECT_THAT(ScaledQuantity("400Gb/s", 1.1), IsOkAndHolds("440Gb/s"));
  EXPECT_THAT(ScaledQuantity("4.5 us", 0.5), IsOkAndHolds("2.25 us"));
  EXPECT_THAT(ScaledQuantity("fast", 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'fast' is not a number with a unit")));
}

pb::Scenario Quickstart() {
  return ResolveScenario(Catalog(), "quickstart", {}).value();
}

// Each improvement changes what it names and leaves the others as they were.
TEST(ImproveSystem, OneThingAtATime) {
  const pb::Scenario before = Quickstart();
  for (const Improvement improvement : kImprovements) {
    const pb::Scenario after = Improved(before, improvement, 2).value();
    const auto differs = [&](auto field) {
      return field(before) != field(after);
    };
    EXPECT_EQ(differs([](const pb::Scenario& s) {
                return s.system().chip().peak(0).rate();
              }),
              improvement == Improvement::kCompute);
    EXPECT_EQ(differs([](const pb::Scenario& s) {
                return s.system().chip().memory_bandwidth();
              }),
              improvement == Improvement::kMemoryBandwidth);
    EXPECT_EQ(differs([](const pb::Scenario& s) {
                for (const pb::CacheLevel& cache : s.system().chip().cache()) {
                  if (!cache.per_unit()) return cache.bandwidth();
                }
                return std::string();
              }),
              improvement == Improvement::kCacheBandwidth);
    EXPECT_EQ(differs([](const pb::Scenario& s) {
                return s.system().scale_up().fabric().link().bandwidth();
              }),
              improvement == Improvement::kScaleUpBandwidth);
    EXPECT_EQ(differs([](const pb::Scenario& s) {
                return s.system().scale_out().nic_bandwidth();
              }),
              improvement == Improvement::kScaleOutBandwidth);
    EXPECT_EQ(differs([](const pb::Scenario& s) {
                return s.system().collectives().base_latency();
              }),
              improvement == Improvement::kLatency);
    EXPECT_EQ(
        differs([](const pb::Scenario& s) { return s.kernels().launch(); }),
        improvement == Improvement::kLaunch);
  }
}

// h100_sxm states rates at 1.98 GHz and its clock as 1.83 GHz: a rate at the
// clock of the chip is rate x 1.83 / 1.98, of twice the machine twice that.
TEST(ImproveSystem, ARateGrowsOnceWhateverClockItIsStatedAt) {
  const pb::Chip before = Catalog().Chip("h100_sxm").value();
  pb::Scenario scenario;
  *scenario.mutable_system()->mutable_chip() = before;
  const pb::Chip after =
      Improved(scenario, Improvement::kCompute, 2).value().system().chip();
  EXPECT_EQ(before.clock(), "1.83 GHz");
  EXPECT_EQ(after.clock(), "3.66 GHz");
  EXPECT_EQ(after.vector_clock(), "3.96 GHz");
  for (int i = 0; i < before.peak_size(); ++i) {
    EXPECT_EQ(after.peak(i).clock(),
              before.peak(i).has_clock() ? "3.96 GHz" : "");
  }
}

TEST(ImproveSystem, TheBetterMachineIsStillValid) {
  const Catalog catalog;
  for (const std::string& name : catalog.Names("scenarios")) {
    const auto scenario = ResolveScenario(catalog, name, {});
    ASSERT_OK(scenario.status());
    for (const Improvement improvement : kImprovements) {
      for (const double factor : {1.1, 2.0}) {
        const auto better = Improved(*scenario, improvement, factor);
        ASSERT_OK(better.status());
        EXPECT_OK(System::FromProto(better->system()).status())
            << name << ", " << Name(improvement);
        EXPECT_OK(Kernels::FromProto(better->kernels()).status())
            << name << ", " << Name(improvement);
      }
    }
  }
}

// Calls `visit` for every field of a message whose name ends in "latency".
template <class Visit>
void ForEachLatency(const google::protobuf::Message& message,
                    const std::string& path, Visit visit) {
  using Field = google::protobuf::FieldDescriptor;
  const auto& reflection = *message.GetReflection();
  std::vector<const Field*> fields;
  reflection.ListFields(message, &fields);
  for (const Field* field : fields) {
    const std::string name = path + "." + std::string(field->name());
    const int count =
        field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
        ForEachLatency(field->is_repeated()
                           ? reflection.GetRepeatedMessage(message, field, i)
                           : reflection.GetMessage(message, field),
                       name, visit);
      } else if (name.ends_with("latency") && !field->is_repeated()) {
        visit(name, reflection.GetString(message, field));
      }
    }
  }
}

// A network of half the latency halves every latency that a system states,
// except those of its chips, and no other improvement changes one of them.
TEST(ImproveSystem, EveryLatencyOfTheNetworkIsHalved) {
  const pb::Scenario before = Quickstart();
  const auto latencies = [](const pb::Scenario& scenario) {
    std::vector<std::pair<std::string, double>> all;
    pb::System system = scenario.system();
    system.clear_chip();
    ForEachLatency(system, "system",
                   [&](const std::string& name, const std::string& text) {
                     all.emplace_back(name,
                                      ToSeconds(ParseDuration(text).value()));
                   });
    return all;
  };
  const auto was = latencies(before);
  EXPECT_GT(was.size(), 8u);
  for (const Improvement improvement : kImprovements) {
    const bool halves = improvement == Improvement::kLatency;
    const auto is = latencies(Improved(before, improvement, 2).value());
    ASSERT_EQ(is.size(), was.size());
    for (size_t i = 0; i < was.size(); ++i) {
      EXPECT_NEAR(is[i].second, was[i].second / (halves ? 2 : 1), 1e-12)
          << was[i].first;
    }
  }
}

}  // namespace
}  // namespace orrery
