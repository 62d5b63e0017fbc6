#include "analytic/collective/port_lines.h"

#include <algorithm>
#include <cstdlib>

namespace orrery {
namespace {

constexpr int kHopsThroughSwitch = 2;

// Goes along one side of a grid the shorter way, half each where both are, and
// calls visit(place, upwards, part) for every link it takes, where `part` is
// what one cable of the link carries. Returns the hops.
template <class Visit>
int GoAlongSide(int from, int to, int side, bool closes, Visit visit) {
  const int up = (to - from + side) % side;
  const int down = side - up;
  const auto go = [&](int steps, bool upwards, double part) {
    for (int place = from; steps > 0; --steps) {
      visit(place, upwards, part);
      place = (place + (upwards ? 1 : side - 1)) % side;
    }
  };
  const int steps = closes ? std::min(up, down) : std::abs(to - from);
  const bool upwards = closes ? up <= down : to > from;
  // A ring of two has two cables between the same places.
  const bool halves = closes && up == down;
  go(steps, upwards, halves ? 0.5 : 1);
  if (halves && side > 2) go(steps, !upwards, 0.5);
  return steps;
}

}  // namespace

PortLines::PortLines(const GroupNetwork& group) : group_(group) {
  const MachinePorts& ports = group.ports();
  const auto ranks = static_cast<size_t>(group.ranks());
  switch (ports.wiring) {
    case IslandWiring::kPorts:
      island_lines_ = 2 * ranks;
      break;
    case IslandWiring::kLinks:
      island_lines_ = ranks * static_cast<size_t>(ports.island_chips);
      break;
    case IslandWiring::kGrid:
      island_lines_ = 2 * static_cast<size_t>(ports.chips) * ports.sides.size();
      break;
  }
  first_leaf_ = island_lines_ + 2 * static_cast<size_t>(group.nic_count());
  const size_t all = first_leaf_ + 2 * static_cast<size_t>(group.leaf_count());
  wave_load_.resize(all);
  all_load_.resize(all);
}

void PortLines::AddLoad(size_t line, double load) {
  if (wave_load_[line] == 0) touched_.push_back(line);
  wave_load_[line] += load;
}

int PortLines::Walk(int from, int to, double load) {
  const MachinePorts& ports = group_.ports();
  const size_t dimensions = ports.sides.size();
  const int base = group_.chip(from) / ports.island_chips * ports.island_chips;
  int at = group_.chip(from) % ports.island_chips;
  const int goal = group_.chip(to) % ports.island_chips;
  int stride = 1;
  int hops = 0;
  for (size_t d = 0; d < dimensions; ++d) {
    const int side = ports.sides[d];
    const int x = at / stride % side;
    const int y = goal / stride % side;
    hops += GoAlongSide(
        x, y, side, ports.closes(d), [&](int place, bool upwards, double part) {
          const int chip = base + at + (place - x) * stride;
          AddLoad(2 * (static_cast<size_t>(chip) * dimensions + d) +
                      (upwards ? 0 : 1),
                  load * part);
        });
    at += (y - x) * stride;
    stride *= side;
  }
  return hops;
}

void PortLines::Cross(int from, int to, double load) {
  AddLoad(island_lines_ + 2 * static_cast<size_t>(group_.nic(from)), load);
  AddLoad(island_lines_ + 2 * static_cast<size_t>(group_.nic(to)) + 1, load);
  if (group_.leaf_count() == 0) return;
  // All NICs of a chip together are one port: a leaf has the part of one.
  const int nics = group_.ports().nics_per_chip;
  for (int i = 0; i < nics; ++i) {
    const int out = group_.leaf(from, i);
    const int in = group_.leaf(to, i);
    if (out == in) continue;
    AddLoad(first_leaf_ + 2 * static_cast<size_t>(out), load / nics);
    AddLoad(first_leaf_ + 2 * static_cast<size_t>(in) + 1, load / nics);
  }
}

MessageTerm PortLines::Send(int from, int to, double load) {
  const MachinePorts& ports = group_.ports();
  const int a = group_.chip(from);
  const int b = group_.chip(to);
  if (ports.IslandOf(a) != ports.IslandOf(b)) {
    Cross(from, to, load);
    return {Tier::kScaleOut, ports.NetworkLatency(ports.NetworkHops(a, b)), 1};
  }
  switch (ports.wiring) {
    case IslandWiring::kPorts:
      AddLoad(2 * static_cast<size_t>(from), load);
      AddLoad(2 * static_cast<size_t>(to) + 1, load);
      return Inside(kHopsThroughSwitch);
    case IslandWiring::kLinks:
      AddLoad(static_cast<size_t>(from * ports.island_chips +
                                  b % ports.island_chips),
              load);
      return Inside(1);
    case IslandWiring::kGrid:
      break;
  }
  return Inside(Walk(from, to, load));
}

// Along a side, members with the same other coordinates so far meet: n / m
// times what the m coordinates of the side put on its links, one each.
int PortLines::SendToAllOfBox(double load) {
  const MachinePorts& ports = group_.ports();
  int farthest = 0;
  double busiest = 0;
  for (size_t d = 0; d < ports.sides.size(); ++d) {
    const int side = ports.sides[d];
    const std::vector<int>& members = group_.box()[d];
    std::vector<double> on_link(2 * static_cast<size_t>(side));
    int longest = 0;
    for (const int from : members) {
      for (const int to : members) {
        if (from == to) continue;
        const int hops = GoAlongSide(
            from, to, side, ports.closes(d),
            [&](int place, bool upwards, double part) {
              on_link[static_cast<size_t>(2 * place + (upwards ? 0 : 1))] +=
                  part;
            });
        longest = std::max(longest, hops);
      }
    }
    farthest += longest;
    busiest =
        std::max(busiest, *std::max_element(on_link.begin(), on_link.end()) *
                              static_cast<double>(group_.ranks()) /
                              static_cast<double>(members.size()));
  }
  known_.island = std::max(known_.island, busiest * load);
  return farthest;
}

std::vector<MessageTerm> PortLines::SendToAll(double load) {
  const MachinePorts& ports = group_.ports();
  const int mates = group_.most_on_island() - 1;
  std::vector<MessageTerm> messages;
  if (group_.crosses()) {
    const double nic = group_.most_pairs_on_nic();
    known_.network = std::max(nic, group_.most_pairs_on_leaf()) * load;
    known_.crowded = std::max(group_.most_pairs_crowding_nic(),
                              group_.most_pairs_crowded()) *
                     load;
    messages.push_back(
        {Tier::kScaleOut, ports.NetworkLatency(group_.most_network_hops()), 1});
  }
  if (mates == 0) return messages;
  switch (ports.wiring) {
    case IslandWiring::kPorts:
      known_.island = mates * load;
      messages.push_back(Inside(kHopsThroughSwitch));
      break;
    case IslandWiring::kLinks:
      known_.island = load;
      messages.push_back(Inside(1));
      break;
    case IslandWiring::kGrid: {
      int farthest = 0;
      if (!group_.box().empty()) {
        farthest = SendToAllOfBox(load);
      } else {
        for (int from = 0; from < group_.ranks(); ++from) {
          for (int to = 0; to < group_.ranks(); ++to) {
            if (from == to || ports.IslandOf(group_.chip(from)) !=
                                  ports.IslandOf(group_.chip(to))) {
              continue;
            }
            farthest = std::max(farthest, Walk(from, to, load));
          }
        }
      }
      messages.push_back(Inside(farthest));
      break;
    }
  }
  return messages;
}

void PortLines::Count(size_t line, double load, WaveTerm& wave) const {
  if (line < island_lines_) {
    wave.island = std::max(wave.island, load);
    return;
  }
  double crowded = load;
  if (line < first_leaf_) {
    crowded *= group_.nic_crowd(static_cast<int>((line - island_lines_) / 2));
  } else {
    // In the bytes of a chip's NICs that would take as long.
    load *= group_.ports().nics_per_chip / group_.leaf_up();
    // Of transfers between two, those of the same island run at once.
    const auto leaf = static_cast<int>((line - first_leaf_) / 2);
    crowded = load * (group_.ranks() > 2 ? group_.leaf_crowd(leaf)
                                         : group_.island_crowd(leaf));
  }
  wave.network = std::max(wave.network, load);
  wave.crowded = std::max(wave.crowded, crowded);
}

WaveTerm PortLines::TakeWave() {
  WaveTerm wave = known_;
  all_known_.island += known_.island;
  all_known_.network += known_.network;
  all_known_.crowded += known_.crowded;
  known_ = {};
  for (const size_t line : touched_) {
    Count(line, wave_load_[line], wave);
    all_load_[line] += wave_load_[line];
    wave_load_[line] = 0;
  }
  touched_.clear();
  return wave;
}

WaveTerm PortLines::All() const {
  WaveTerm most;
  for (size_t line = 0; line < all_load_.size(); ++line) {
    if (all_load_[line] > 0) Count(line, all_load_[line], most);
  }
  most.island += all_known_.island;
  most.network += all_known_.network;
  most.crowded += all_known_.crowded;
  return most;
}

}  // namespace orrery
