#include "tests/storm/loop_laws.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/format.h"

namespace orrery {
namespace {

using Facts = std::vector<std::pair<std::string, int64_t>>;

void Add(const std::string& name, const MemoryPeak& peak, Facts& facts) {
  facts.emplace_back(name, peak.total.value());
  facts.emplace_back(name + " at", peak.at.time_since_epoch().count());
  for (const Bytes bytes : peak.by_kind) {
    facts.emplace_back(name + " by kind", bytes.value());
  }
}

void Add(const StepBreakdown& of, Facts& facts) {
  const KernelParts& kernels = of.kernels;
  for (const auto& [name, time] :
       {std::pair("arithmetic", kernels.arithmetic),
        std::pair("memory-bound", kernels.memory_bound),
        std::pair("launch", kernels.launch),
        std::pair("optimizer", kernels.optimizer),
        std::pair("slow chip", kernels.slow_chip),
        std::pair("shared chip", kernels.shared_chip),
        std::pair("bubble", of.bubble), std::pair("late peer", of.late_peer),
        std::pair("host", of.host)}) {
    facts.emplace_back(name, time.count());
  }
  for (const StepBreakdown::Exposed& exposed : of.exposed) {
    facts.emplace_back("exposed", exposed.time.count());
  }
}

Facts FactsOf(const SimulatedRun& run) {
  const RunResult& result = run.result;
  Facts facts = {{"step", result.end.time_since_epoch().count()},
                 {"tasks", result.tasks},
                 {"events", result.events},
                 {"transfer steps", result.transfer_steps},
                 {"rate changes", result.kernel_rate_changes},
                 {"critical path", run.bounds.critical_path.count()},
                 {"busiest", run.bounds.busiest.count()},
                 {"upper bound", run.bounds.upper.count()}};
  for (const RankResult& rank : result.ranks) {
    facts.emplace_back("rank", rank.finished.time_since_epoch().count());
    Add("memory of a rank", rank.memory, facts);
  }
  for (const RoleWork& work : run.placed.work) {
    facts.emplace_back("work", work.total().count());
    facts.emplace_back("host's work", work.host.count());
  }
  Add("memory", run.memory.peak, facts);
  Add(run.breakdown, facts);
  return facts;
}

}  // namespace

bool HasLoop(const SimulatedRun& run) {
  const auto& roles = run.placed.program.roles();
  return std::any_of(roles.begin(), roles.end(),
                     [](const Role& role) { return role.loop().turns > 1; });
}

std::optional<std::string> WhyNotAlike(const SimulatedRun& looped,
                                       const SimulatedRun& written) {
  const Facts a = FactsOf(looped);
  const Facts b = FactsOf(written);
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] == b[i]) continue;
    return fmt::format("{}: {} looped, {} written out", a[i].first, a[i].second,
                       b[i].second);
  }
  if (a.size() != b.size()) return "other ranks or roles";
  // Sums of doubles in another order.
  constexpr double kRounding = 1e-12;
  const double executed = written.executed.value();
  if (std::abs(looped.executed.value() - executed) > kRounding * executed) {
    return fmt::format("{} FLOP looped, {} written out",
                       looped.executed.value(), executed);
  }
  for (const ResourceId id : looped.result.carried.ids()) {
    if (looped.result.carried[id] == written.result.carried[id]) continue;
    return fmt::format("resource {} carried {} looped, {} written out",
                       Index(id), looped.result.carried[id],
                       written.result.carried[id]);
  }
  return std::nullopt;
}

}  // namespace orrery
