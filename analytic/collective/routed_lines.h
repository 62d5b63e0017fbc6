#pragma once
// RoutedLines: what the messages of a group put on the links of a machine, read
// off their routes (FabricRoutes).
//
// All messages are announced before the first is sent, since a router that
// adapts looks at them together:
//
//   RoutedLines lines(group, routes);
//   lines.Announce(0, 1, 0.5);
//   lines.Route();
//   lines.Send(0, 1, 0.5);
//   lines.TakeWave();
#include <absl/container/flat_hash_map.h>

#include <array>
#include <utility>
#include <vector>

#include "analytic/collective/collective_form.h"
#include "analytic/collective/fabric_routes.h"
#include "analytic/collective/group_network.h"

namespace orrery {

class RoutedLines {
 public:
  // Both must outlive it.
  RoutedLines(const GroupNetwork& group, FabricRoutes& routes);

  void Announce(int from, int to, double load);
  void Route();

  // As PortLines. Requires: announced and routed.
  MessageTerm Send(int from, int to, double load);
  WaveTerm TakeWave();
  WaveTerm All() const;

 private:
  using Loads = std::array<double, kTiers>;
  static void Add(Tier tier, double load, size_t place,
                  std::vector<Loads>& loads, std::vector<size_t>& touched);
  void Count(size_t line, const Loads& loads, WaveTerm& wave) const;

  const GroupNetwork& group_;
  FabricRoutes& routes_;
  absl::flat_hash_map<std::pair<int, int>, size_t> pairs_;
  std::vector<Demand> demands_;
  RouteSet found_;
  // By line, of this wave and of all.
  std::vector<Loads> wave_;
  std::vector<Loads> all_;
  std::vector<size_t> touched_;
  // By part that routes have in common.
  std::vector<Loads> middles_;
  std::vector<size_t> touched_middles_;
};

}  // namespace orrery
