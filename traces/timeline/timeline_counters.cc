#include "traces/timeline/timeline_counters.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/format.h"
#include "sim/analysis/link_loads.h"

namespace orrery {
namespace {

// Old viewers fail on a counter that starts at time 0 exactly.
constexpr Time kFirstInstant{Duration(1000)};

void Count(PerfettoWriter& writer, TrackId counter, Time at, double value) {
  writer.Count(counter, std::max(at, kFirstInstant), value);
}

struct MemoryChange {
  Time at;
  bool is_start;  // ends come first
  size_t kind;
  Bytes change;
};

std::vector<MemoryChange> MemoryChanges(const Program& program,
                                        const SpanIndex& spans, RankId rank) {
  const Role& role = program.role_of(rank);
  std::vector<MemoryChange> changes;
  for (int32_t t = 0; t < role.task_count(); ++t) {
    const auto task = static_cast<TaskId>(t);
    for (const MemoryEffect& effect : role.memory_effects(task)) {
      const bool is_start = effect.when == MemoryEffect::When::kStart;
      const TaskSpan& span = spans.of(rank, task);
      changes.push_back({is_start ? span.started : span.ended, is_start,
                         static_cast<size_t>(effect.kind), effect.change});
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const MemoryChange& a, const MemoryChange& b) {
                     return std::tie(a.at, a.is_start) <
                            std::tie(b.at, b.is_start);
                   });
  return changes;
}

constexpr char kLoadDescription[] =
    "Percent of each link's capacity that the calls on it were granted.";

bool IsFabric(const Transfers& transfers, ResourceId link) {
  if (transfers.resource_classes.empty()) return false;
  const auto& classes = transfers.resource_classes[link];
  return std::all_of(classes.begin(), classes.end(),
                     [](const ResourceClass& c) { return c.between_switches; });
}

TrackId AddLoadCounter(std::string name, TrackId parent,
                       PerfettoWriter& writer) {
  return writer.AddCounter({.name = std::move(name),
                            .parent = parent,
                            .unit = CounterUnit::kPercent,
                            .scale_key = "load"});
}

}  // namespace

void WriteMemoryCounters(const Program& program, const SpanIndex& spans,
                         RankId rank, TrackId parent, Time end,
                         PerfettoWriter& writer) {
  const std::vector<MemoryChange> changes = MemoryChanges(program, spans, rank);
  MemoryByKind held = program.role_of(rank).initial_memory();
  std::array<bool, kMemoryKinds> used{};
  Bytes total;
  for (size_t k = 0; k < kMemoryKinds; ++k) {
    used[k] = held[k] != Bytes(0);
    total += held[k];
  }
  for (const MemoryChange& change : changes) used[change.kind] = true;
  if (std::find(used.begin(), used.end(), true) == used.end()) return;
  const auto add = [&](std::string name) {
    return writer.AddCounter({.name = std::move(name),
                              .parent = parent,
                              .unit = CounterUnit::kBytes,
                              .scale_key = "memory"});
  };
  const TrackId total_track = add("memory");
  std::array<TrackId, kMemoryKinds> tracks{};
  const auto write = [&](Time at, size_t k) {
    Count(writer, tracks[k], at, static_cast<double>(held[k].value()));
  };
  const auto write_total = [&](Time at) {
    Count(writer, total_track, at, static_cast<double>(total.value()));
  };
  for (size_t k = 0; k < kMemoryKinds; ++k) {
    if (!used[k]) continue;
    tracks[k] =
        add("memory " + std::string(NameOf(static_cast<MemoryKind>(k))));
    write(Time{}, k);
  }
  write_total(Time{});
  // Every change counts, even those that meet in an instant: the largest total
  // must be the engine's peak.
  for (const MemoryChange& change : changes) {
    held[change.kind] += change.change;
    total += change.change;
    write(change.at, change.kind);
    write_total(change.at);
  }
  for (size_t k = 0; k < kMemoryKinds; ++k) {
    if (used[k]) write(end, k);
  }
  write_total(end);
}

void WriteBusyCounter(const Program& program, const SpanIndex& spans,
                      RankId rank, TrackId parent, Time end,
                      PerfettoWriter& writer) {
  constexpr int64_t kParts = 200;
  const int64_t length = end.time_since_epoch().count();
  if (length < kParts) return;
  std::vector<Duration> busy(kParts, Duration(0));
  const auto edge = [&](int64_t part) {
    return Time(Duration(
        static_cast<int64_t>(static_cast<__int128>(length) * part / kParts)));
  };
  const auto part_of = [&](Time at) {
    return static_cast<int64_t>(
        static_cast<__int128>(at.time_since_epoch().count()) * kParts / length);
  };
  for (int32_t t = 0; t < program.role_of(rank).task_count(); ++t) {
    const TaskSpan& span = spans.of(rank, static_cast<TaskId>(t));
    if (span.kind != SpanKind::kKernel) continue;
    for (int64_t p = part_of(span.started); p < kParts && edge(p) < span.ended;
         ++p) {
      busy[static_cast<size_t>(p)] +=
          std::min(span.ended, edge(p + 1)) - std::max(span.started, edge(p));
    }
  }
  const TrackId counter = writer.AddCounter({.name = "compute busy",
                                             .parent = parent,
                                             .unit = CounterUnit::kPercent,
                                             .scale_key = "busy"});
  for (int64_t p = 0; p < kParts; ++p) {
    const Duration whole = edge(p + 1) - edge(p);
    Count(writer, counter, edge(p),
          100.0 * ToSeconds(busy[static_cast<size_t>(p)]) / ToSeconds(whole));
  }
  Count(writer, counter, end, 0);
}

void WriteLinkLoads(const Program& program, absl::Span<const TaskSpan> spans,
                    absl::Span<const RankId> ranks, const Transfers& transfers,
                    const TransferLog& log, TrackId parent, Time end,
                    PerfettoWriter& writer) {
  IdVector<RankId, bool> shown(program.ranks().size(), false);
  for (const RankId rank : ranks) shown[rank] = true;
  std::map<PlanId, int64_t> calls;  // of the shown ranks
  for (const TaskSpan& span : spans) {
    if (!shown[span.rank]) continue;
    const Task& task = program.role_of(span.rank).task(span.task);
    if (!IsCommunication(task.kind)) continue;
    ++calls[transfers.plan_of_call[program.call_of(span.rank, task)]];
  }
  std::map<ResourceId, double> carried;  // by them, in seconds of the link
  for (const auto& [plan, count] : calls) {
    for (const ResourceUse& use : transfers.plans.TotalLoad(plan)) {
      carried[use.resource] += static_cast<double>(count) * use.weight /
                               transfers.capacities[use.resource];
    }
  }
  std::vector<std::pair<double, ResourceId>> order;
  for (const auto& [link, load] : carried) order.emplace_back(-load, link);
  std::sort(order.begin(), order.end());
  if (order.size() > kMostLinks) order.resize(kMostLinks);
  std::vector<ResourceId> links;
  for (const auto& [load, link] : order) links.push_back(link);
  // The ends of the machine first, then what lies between.
  std::stable_partition(links.begin(), links.end(), [&](ResourceId link) {
    return !IsFabric(transfers, link);
  });
  const std::vector<LoadSteps> loads = LinkLoads(transfers, log, links);
  std::optional<TrackId> network, fabric;
  for (size_t i = 0; i < links.size(); ++i) {
    const bool is_fabric = IsFabric(transfers, links[i]);
    std::optional<TrackId>& above = is_fabric ? fabric : network;
    if (!above) {
      above = writer.AddTrack({.name = is_fabric ? "fabric" : "network",
                               .parent = parent,
                               .description = kLoadDescription});
    }
    const TrackId counter = AddLoadCounter(
        transfers.resource_names.empty()
            ? fmt::format("link {} load", static_cast<int>(links[i]))
            : transfers.resource_names[links[i]] + " load",
        *above, writer);
    Count(writer, counter, Time{}, 0);
    for (const auto& [at, share] : loads[i]) {
      Count(writer, counter, at, 100 * share);
    }
    Count(writer, counter, end, 0);
  }
}

void WriteLoadCounter(const std::string& name, const LoadChanges& changes,
                      TrackId parent, Time end, PerfettoWriter& writer) {
  const TrackId counter = AddLoadCounter(name, parent, writer);
  double height = 0;
  Count(writer, counter, Time{}, 0);
  for (const auto& [at, change] : changes) {
    height += change;
    // Sums of many small numbers do not return to nothing exactly.
    Count(writer, counter, at, height < 1e-9 ? 0 : height);
  }
  Count(writer, counter, end, 0);
}

}  // namespace orrery
