#include "analytic/collective/routed_lines.h"

namespace orrery {

RoutedLines::RoutedLines(const GroupNetwork& group, FabricRoutes& routes)
    : group_(group),
      routes_(routes),
      wave_(routes.line_count()),
      all_(routes.line_count()) {}

void RoutedLines::Announce(int from, int to, double load) {
  const auto [found, is_new] = pairs_.try_emplace({from, to}, demands_.size());
  if (is_new) {
    demands_.push_back({static_cast<VertexId>(group_.chip(from)),
                        static_cast<VertexId>(group_.chip(to)), 0});
  }
  demands_[found->second].bytes += load;
}

void RoutedLines::Route() {
  found_ = routes_.Find(demands_);
  middles_.resize(found_.middles.size());
}

void RoutedLines::Add(Tier tier, double load, size_t place,
                      std::vector<Loads>& loads, std::vector<size_t>& touched) {
  Loads& at = loads[place];
  if (at == Loads{}) touched.push_back(place);
  at[static_cast<size_t>(tier)] += load;
}

MessageTerm RoutedLines::Send(int from, int to, double load) {
  const MachinePorts& ports = group_.ports();
  const Tier tier =
      ports.IslandOf(group_.chip(from)) == ports.IslandOf(group_.chip(to))
          ? Tier::kScaleUp
          : Tier::kScaleOut;
  const RouteSet::Entry& route = found_.routes[pairs_.at({from, to})];
  for (int i = route.own_begin; i < route.own_end; ++i) {
    Add(tier, load, routes_.LineOf(found_.own[static_cast<size_t>(i)]), wave_,
        touched_);
  }
  if (route.middle >= 0) {
    Add(tier, load, static_cast<size_t>(route.middle), middles_,
        touched_middles_);
  }
  return {tier, Seconds(ToSeconds(route.latency)), 1};
}

void RoutedLines::Count(size_t line, const Loads& loads, WaveTerm& wave) const {
  wave.Add({.island = loads[0] * routes_.Weight(line, Tier::kScaleUp),
            .network = loads[1] * routes_.Weight(line, Tier::kScaleOut)});
}

WaveTerm RoutedLines::TakeWave() {
  for (const size_t middle : touched_middles_) {
    const Loads loads = middles_[middle];
    middles_[middle] = {};
    for (const LinkShare& l : *found_.middles[middle].links) {
      for (const Tier tier : {Tier::kScaleUp, Tier::kScaleOut}) {
        const double load = loads[static_cast<size_t>(tier)] * l.share;
        if (load > 0) Add(tier, load, routes_.LineOf(l.link), wave_, touched_);
      }
    }
  }
  touched_middles_.clear();
  WaveTerm wave;
  for (const size_t line : touched_) {
    Count(line, wave_[line], wave);
    for (size_t tier = 0; tier < kTiers; ++tier) {
      all_[line][tier] += wave_[line][tier];
    }
    wave_[line] = {};
  }
  touched_.clear();
  return wave;
}

WaveTerm RoutedLines::All() const {
  WaveTerm most;
  for (size_t line = 0; line < all_.size(); ++line) {
    if (all_[line] != Loads{}) Count(line, all_[line], most);
  }
  return most;
}

}  // namespace orrery
