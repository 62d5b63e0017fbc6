#include "analytic/collective/routed_lines.h"

namespace orrery {

RoutedLines::RoutedLines(const GroupNetwork& group, FabricRoutes& routes)
    : group_(group),
      routes_(routes),
      wave_(routes.link_count()),
      all_(routes.link_count()) {}

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
    Add(tier, load, Index(found_.own[static_cast<size_t>(i)]), wave_, touched_);
  }
  if (route.middle >= 0) {
    Add(tier, load, static_cast<size_t>(route.middle), middles_,
        touched_middles_);
  }
  return {tier, Seconds(ToSeconds(route.latency)), 1};
}

void RoutedLines::Count(size_t link, const Loads& loads, WaveTerm& wave) const {
  const auto id = static_cast<LinkId>(link);
  wave.Add({.island = loads[0] * routes_.Weight(id, Tier::kScaleUp),
            .network = loads[1] * routes_.Weight(id, Tier::kScaleOut)});
}

WaveTerm RoutedLines::TakeWave() {
  for (const size_t middle : touched_middles_) {
    const Loads loads = middles_[middle];
    middles_[middle] = {};
    for (const LinkShare& l : *found_.middles[middle].links) {
      for (const Tier tier : {Tier::kScaleUp, Tier::kScaleOut}) {
        const double load = loads[static_cast<size_t>(tier)] * l.share;
        if (load > 0) Add(tier, load, Index(l.link), wave_, touched_);
      }
    }
  }
  touched_middles_.clear();
  WaveTerm wave;
  for (const size_t link : touched_) {
    Count(link, wave_[link], wave);
    for (size_t tier = 0; tier < kTiers; ++tier) {
      all_[link][tier] += wave_[link][tier];
    }
    wave_[link] = {};
  }
  touched_.clear();
  return wave;
}

WaveTerm RoutedLines::All() const {
  WaveTerm most;
  for (size_t link = 0; link < all_.size(); ++link) {
    if (all_[link] != Loads{}) Count(link, all_[link], most);
  }
  return most;
}

}  // namespace orrery
