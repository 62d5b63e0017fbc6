#include "traces/timeline/timeline_links.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format.h"
#include "sim/analysis/link_loads.h"
#include "traces/timeline/timeline_counters.h"

namespace orrery {
namespace {

constexpr char kLoadDescription[] =
    "Percent of each link's capacity: `load` is what calls were granted, "
    "`goodput` what of that is bytes of theirs.";

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

// The links that calls of the shown ranks load most.
std::vector<ResourceId> MostLoaded(const TimelineSource& source,
                                   const TimelineSelection& selection) {
  const Program& program = source.program;
  const Transfers& transfers = source.transfers;
  std::map<PlanId, int64_t> calls;
  for (const TaskSpan& span : source.spans.spans()) {
    if (!selection.Shows(span)) continue;
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
  return links;
}

// The steps within the window, from what holds when it begins to 0 at its end.
void WriteSteps(const std::string& name, const LoadSteps& steps,
                const TimelineSelection& selection, TrackId parent,
                PerfettoWriter& writer) {
  const TrackId counter = AddLoadCounter(name, parent, writer);
  double share = 0;
  auto step = steps.begin();
  for (; step != steps.end() && step->first <= selection.from(); ++step) {
    share = step->second;
  }
  CountAt(writer, counter, selection.from(), 100 * share);
  for (; step != steps.end() && step->first < selection.to(); ++step) {
    CountAt(writer, counter, step->first, 100 * step->second);
  }
  CountAt(writer, counter, selection.to(), 0);
}

}  // namespace

void WriteLinkLoads(const TimelineSource& source,
                    const TimelineSelection& selection,
                    const RankTrackIds& tracks, TrackId parent,
                    PerfettoWriter& writer) {
  const Transfers& transfers = source.transfers;
  std::vector<ResourceId> links = MostLoaded(source, selection);
  const bool placed = !transfers.resource_places.empty();
  const auto chip_of = [&](ResourceId link) -> std::optional<int32_t> {
    return placed ? transfers.resource_places[link].chip : std::nullopt;
  };
  // Links of ranks in their order, then what lies between switches.
  std::sort(links.begin(), links.end(), [&](ResourceId a, ResourceId b) {
    const auto key = [&](ResourceId link) {
      return std::tuple(IsFabric(transfers, link), chip_of(link).value_or(-1),
                        link);
    };
    return key(a) < key(b);
  });
  const std::vector<LoadSteps> wire =
      LinkLoads(transfers, source.log, links, LoadOf::kWire);
  std::vector<LoadSteps> payload;
  if (placed) {
    payload = LinkLoads(transfers, source.log, links, LoadOf::kPayload);
  }
  std::optional<TrackId> network, fabric;
  for (size_t i = 0; i < links.size(); ++i) {
    const bool is_fabric = IsFabric(transfers, links[i]);
    const std::optional<int32_t> chip = chip_of(links[i]);
    std::string name = placed
                           ? transfers.resource_places[links[i]].name
                           : fmt::format("link {}", static_cast<int>(links[i]));
    std::optional<TrackId> above;
    if (chip && source.ranks_are_chips && tracks.contains(*chip)) {
      above = tracks.at(*chip);
    } else {
      if (chip) {
        name = fmt::format(
            "{} {}: {}", source.ranks_are_chips ? "rank" : "chip", *chip, name);
      }
      std::optional<TrackId>& group = is_fabric ? fabric : network;
      if (!group) {
        group = writer.AddTrack({.name = is_fabric ? "fabric" : "network",
                                 .parent = parent,
                                 .description = kLoadDescription});
      }
      above = group;
    }
    WriteSteps(name + " load", wire[i], selection, *above, writer);
    if (placed) {
      WriteSteps(name + " goodput", payload[i], selection, *above, writer);
    }
  }
}

void WriteLoadCounter(const std::string& name, const LoadChanges& changes,
                      TrackId parent, Time end, PerfettoWriter& writer) {
  const TrackId counter = AddLoadCounter(name, parent, writer);
  double height = 0;
  CountAt(writer, counter, Time{}, 0);
  for (const auto& [at, change] : changes) {
    height += change;
    // Sums of many small numbers do not return to nothing exactly.
    CountAt(writer, counter, at, height < 1e-9 ? 0 : height);
  }
  CountAt(writer, counter, end, 0);
}

}  // namespace orrery
