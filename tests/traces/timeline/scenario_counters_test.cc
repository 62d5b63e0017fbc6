// Timelines of scenarios of the catalogue as Perfetto reads them: counters, and
// the order of tracks.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>

#include "tests/traces/timeline/scenario_sql.h"

namespace orrery {
namespace {

using testing::ElementsAre;

TEST_P(ScenarioSql, MemoryPeaksWhereTheReportSaysAndEndsAsItBegan) {
  std::map<std::string, std::array<int64_t, 2>> seen;  // peak, end
  for (const auto& row : Answer("memory")) {
    seen[row[0]][0] = std::stoll(row[1]);
  }
  for (const auto& row : Answer("memory at the end")) {
    seen[row[0]][1] = std::stoll(row[1]);
  }
  EXPECT_EQ(seen.size(), traced().options.ranks.size());
  int64_t most = 0;
  for (const RankId rank : traced().options.ranks) {
    Bytes fixed = traced().scenario.kernels.reserved_memory();
    for (const Bytes kind : program().role_of(rank).initial_memory()) {
      fixed += kind;
    }
    const auto& [peak, end] = seen[TrackOf(rank)];
    EXPECT_EQ(peak, (run().result.ranks[rank].memory.total +
                     traced().scenario.kernels.reserved_memory())
                        .value());
    EXPECT_EQ(end, fixed.value());
    most = std::max(most, peak);
  }
  // The report's `peak_bytes`.
  EXPECT_EQ(most, (run().memory.peak.total +
                   traced().scenario.kernels.reserved_memory())
                      .value());
  EXPECT_THAT(Answer("stack"), ElementsAre(ElementsAre("0")));
  EXPECT_THAT(Answer("capacity"),
              ElementsAre(ElementsAre(fmt::to_string(
                  traced().scenario.system.chip().memory().value()))));
}

// Instants are rounded down to nanoseconds in the file: every change of a load
// moves by less than that.
constexpr double kFloored = 1e-9;

TEST_P(ScenarioSql, LoadsAreWhatLinksCarriedAndNeverMoreThanTheyCan) {
  EXPECT_THAT(Answer("loads"), ElementsAre(ElementsAre("1", "1")));
  EXPECT_THAT(Answer("loads at the end"), ElementsAre(ElementsAre("0")));
  // On the wire, and of it the calls' own bytes: in seconds of the capacity, of
  // every link that a track of this name may be of.
  const Transfers& transfers = run().transfers;
  std::map<PlanId, double> runs;  // of each plan
  for (const TaskSpan& span : run().spans) {
    const Task& task = program().role_of(span.rank).task(span.task);
    if (!IsCommunication(task.kind)) continue;
    const GroupId group =
        program().group_of(span.rank, static_cast<SlotId>(task.slot));
    runs[transfers.plan_of_call[program().call_of(span.rank, task)]] +=
        1.0 / static_cast<double>(program().members(group).size());
  }
  IdVector<ResourceId, double> payload(transfers.capacities.size(), 0);
  for (const auto& [plan, count] : runs) {
    for (const ResourceUse& use : transfers.plans.TotalLoad(plan)) {
      const PlanEfficiency& efficiency = transfers.efficiencies[plan];
      payload[use.resource] += count * use.weight *
                               (transfers.resource_places[use.resource].scale_up
                                    ? efficiency.scale_up
                                    : efficiency.scale_out);
    }
  }
  std::map<std::string, std::vector<double>> seconds;
  for (const ResourceId id : run().result.carried.ids()) {
    const ResourcePlace& place = transfers.resource_places[id];
    const std::string chip =
        place.chip ? fmt::format("{}", *place.chip) : std::string();
    seconds[chip + " " + place.name + " load"].push_back(
        run().result.carried[id] / transfers.capacities[id]);
    seconds[chip + " " + place.name + " goodput"].push_back(
        payload[id] / transfers.capacities[id]);
  }
  ASSERT_FALSE(Answer("carried").empty());
  for (const auto& row : Answer("carried")) {
    // "rank 3 (stage 1)" above "NIC out load", or "rank 3: NIC out load".
    std::string chip, name = row[1];
    std::smatch found;
    if (std::regex_match(row[0], found, std::regex("rank ([0-9]+) .*"))) {
      chip = found[1];
    } else if (std::regex_match(name, found,
                                std::regex("rank ([0-9]+): (.*)"))) {
      chip = found[1];
      name = found[2];
    }
    const std::string key = chip + " " + name;
    ASSERT_TRUE(seconds.contains(key)) << key;
    const double area = std::stod(row[2]) / 100 * 1e-9;
    const double tolerance = kFloored * std::stod(row[3]);
    EXPECT_TRUE(std::any_of(
        seconds[key].begin(), seconds[key].end(),
        [&](double each) { return std::abs(each - area) <= tolerance; }))
        << key << ": " << area << " s, not " << seconds[key][0];
  }
}

TEST_P(ScenarioSql, BusyIsTheTimeInWhichKernelsRan) {
  std::map<std::string, Duration> kernels;
  for (const TaskSpan& span : Shown()) {
    if (span.kind != SpanKind::kKernel) continue;
    kernels[TrackOf(span.rank)] += span.running();
  }
  EXPECT_EQ(Answer("busy").size(), kernels.size());
  for (const auto& row : Answer("busy")) {
    // 200 values, each over a part that is rounded down at both ends.
    EXPECT_NEAR(std::stod(row[1]) / 100 * 1e-9, ToSeconds(kernels[row[0]]),
                400 * kFloored)
        << row[0];
  }
}

TEST_P(ScenarioSql, TracksStandInTheOrderOfTheTree) {
  SqlTable top = {{"pipeline"}, {"critical path"}};
  const int32_t per_node = traced().scenario.system.chips_per_node();
  for (const RankId rank : traced().options.ranks) {
    const std::string node =
        fmt::format("node {}", program().ranks()[rank].number / per_node);
    if (top.back()[0] != node) top.push_back({node});
  }
  if (std::any_of(Answer("carried").begin(), Answer("carried").end(),
                  [](const auto& row) { return row[0] == "network"; })) {
    top.push_back({"network"});
  }
  const auto& classes = run().transfers.resource_classes;
  if (std::any_of(classes.begin(), classes.end(), [](const auto& of_resource) {
        return of_resource.front().between_switches;
      })) {
    top.push_back({"fabric"});
  }
  EXPECT_EQ(Answer("top"), top);

  const Role& role = program().role_of(RankId{0});
  SqlTable rank = {{"steps"}, {"compute"}, {"waiting for"}};
  for (const StreamId stream : program().streams().ids()) {
    if (role.stream_begin(stream) == role.stream_end(stream)) continue;
    const Stream& s = program().streams()[stream];
    if (s.kind == StreamKind::kCommunication)
      rank.push_back({"comm " + s.name});
  }
  rank.push_back({"partners"});
  rank.push_back({"memory"});
  rank.push_back({"memory capacity"});
  rank.push_back({"memory: libraries"});
  std::array<bool, kMemoryKinds> used{};
  for (size_t k = 0; k < kMemoryKinds; ++k) {
    used[k] = role.initial_memory()[k] != Bytes(0);
  }
  for (int32_t t = 0; t < role.task_count(); ++t) {
    for (const MemoryEffect& e : role.memory_effects(static_cast<TaskId>(t))) {
      used[static_cast<size_t>(e.kind)] = true;
    }
  }
  for (size_t k = 0; k < kMemoryKinds; ++k) {
    if (!used[k]) continue;
    rank.push_back(
        {fmt::format("memory: + {}", NameOf(static_cast<MemoryKind>(k)))});
  }
  rank.push_back({"compute busy"});
  // Then its links.
  const SqlTable& seen = Answer("rank");
  ASSERT_GT(seen.size(), rank.size());
  EXPECT_EQ(SqlTable(seen.begin(),
                     seen.begin() + static_cast<std::ptrdiff_t>(rank.size())),
            rank);
  for (size_t i = rank.size(); i < seen.size(); ++i) {
    EXPECT_THAT(seen[i][0], testing::MatchesRegex(
                                "(NVLink4|NIC|NDR) (out|in) (load|goodput)"));
  }
}

}  // namespace
}  // namespace orrery
