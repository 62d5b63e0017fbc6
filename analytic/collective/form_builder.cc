#include "analytic/collective/form_builder.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/check.h"

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

// What counts as the slower of two ways, whatever the prices: one that crosses.
std::pair<Tier, int> Slowness(const MessageTerm& term) {
  return {term.tier, term.hops};
}

double Slowness(const std::vector<MessageTerm>& round) {
  constexpr double kCrossing = 1e6;
  double sum = 0;
  for (const MessageTerm& term : round) {
    sum += term.messages *
           (term.hops + (term.tier == Tier::kScaleOut ? kCrossing : 0));
  }
  return sum;
}

}  // namespace

FormBuilder::FormBuilder(const GroupNetwork& group,
                         CollectiveAlgorithm algorithm, ProtocolUse use)
    : group_(group) {
  form_.algorithm = algorithm;
  form_.use = use;
  const MachinePorts& ports = group.ports();
  const auto ranks = static_cast<size_t>(group.ranks());
  switch (ports.wiring) {
    case IslandWiring::kPorts:
      island_ports_ = 2 * ranks;
      break;
    case IslandWiring::kLinks:
      island_ports_ = ranks * static_cast<size_t>(ports.island_chips);
      break;
    case IslandWiring::kGrid:
      island_ports_ = 2 * static_cast<size_t>(ports.chips) * ports.sides.size();
      break;
  }
  first_leaf_ = island_ports_ + 2 * static_cast<size_t>(group.nic_count());
  const size_t all = first_leaf_ + 2 * static_cast<size_t>(group.leaf_count());
  wave_load_.resize(all);
  all_load_.resize(all);
}

void FormBuilder::BeginWave() {
  EndWave();
  in_wave_ = true;
}

void FormBuilder::BeginRound(int repeat) {
  CHECK(in_wave_);
  EndRound();
  repeat_ = repeat;
}

void FormBuilder::AddLoad(size_t port, double share) {
  if (wave_load_[port] == 0) touched_.push_back(port);
  wave_load_[port] += share;
}

void FormBuilder::Count(Tier tier, int hops) {
  for (MessageTerm& term : round_) {
    if (term.tier != tier || term.hops != hops) continue;
    ++term.messages;
    return;
  }
  round_.push_back({tier, hops, 1});
}

int FormBuilder::Walk(int from, int to, double share) {
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
                  share * part);
        });
    at += (y - x) * stride;
    stride *= side;
  }
  return hops;
}

void FormBuilder::Cross(int from, int to, double share) {
  AddLoad(island_ports_ + 2 * static_cast<size_t>(group_.nic(from)), share);
  AddLoad(island_ports_ + 2 * static_cast<size_t>(group_.nic(to)) + 1, share);
  if (group_.leaf_count() == 0) return;
  // All NICs of a chip together are one port: a leaf has the part of one.
  const int nics = group_.ports().nics_per_chip;
  for (int i = 0; i < nics; ++i) {
    const int out = group_.leaf(from, i);
    const int in = group_.leaf(to, i);
    if (out == in) continue;
    AddLoad(first_leaf_ + 2 * static_cast<size_t>(out), share / nics);
    AddLoad(first_leaf_ + 2 * static_cast<size_t>(in) + 1, share / nics);
  }
}

class FormBuilder::Busiest {
 public:
  Busiest(const FormBuilder& form, WaveTerm start)
      : form_(form), group_(form.group_), most_(start) {}

  void Add(size_t port, double load) {
    if (port < form_.island_ports_) {
      most_.island = std::max(most_.island, load);
      return;
    }
    double crowded = load;
    if (port >= form_.first_leaf_) {
      const size_t place = port - form_.first_leaf_;
      // In the bytes of a chip's NICs that would take as long.
      load *= group_.ports().nics_per_chip / group_.leaf_up();
      // Of transfers between two, those of the same island run at once.
      const auto leaf = static_cast<int>(place / 2);
      crowded = load * (group_.ranks() > 2 ? group_.leaf_crowd(leaf)
                                           : group_.island_crowd(leaf));
    }
    most_.network = std::max(most_.network, load);
    most_.crowded = std::max(most_.crowded, crowded);
  }

  const WaveTerm& Get() const { return most_; }

 private:
  const FormBuilder& form_;
  const GroupNetwork& group_;
  WaveTerm most_;
};

void FormBuilder::Send(int from, int to, double share) {
  CHECK_GT(repeat_, 0);
  const MachinePorts& ports = group_.ports();
  const double load = share * repeat_;
  const int a = group_.chip(from);
  const int b = group_.chip(to);
  if (ports.IslandOf(a) != ports.IslandOf(b)) {
    Cross(from, to, load);
    Count(Tier::kScaleOut, ports.NetworkHops(a, b));
    return;
  }
  switch (ports.wiring) {
    case IslandWiring::kPorts:
      AddLoad(2 * static_cast<size_t>(from), load);
      AddLoad(2 * static_cast<size_t>(to) + 1, load);
      Count(Tier::kScaleUp, kHopsThroughSwitch);
      break;
    case IslandWiring::kLinks:
      AddLoad(static_cast<size_t>(from * ports.island_chips +
                                  b % ports.island_chips),
              load);
      Count(Tier::kScaleUp, 1);
      break;
    case IslandWiring::kGrid:
      Count(Tier::kScaleUp, Walk(from, to, load));
      break;
  }
}

// Along a side, members with the same other coordinates so far meet: n / m
// times what the m coordinates of the side put on its links, one each.
void FormBuilder::SendToAllOfBox(double share) {
  const MachinePorts& ports = group_.ports();
  int farthest = 0;
  double busiest = 0;
  for (size_t d = 0; d < ports.sides.size(); ++d) {
    const int side = ports.sides[d];
    const std::vector<int>& members = group_.box()[d];
    std::vector<double> load(2 * static_cast<size_t>(side));
    int longest = 0;
    for (const int from : members) {
      for (const int to : members) {
        if (from == to) continue;
        const int hops = GoAlongSide(
            from, to, side, ports.closes(d),
            [&](int place, bool upwards, double part) {
              load[static_cast<size_t>(2 * place + (upwards ? 0 : 1))] += part;
            });
        longest = std::max(longest, hops);
      }
    }
    farthest += longest;
    busiest = std::max(busiest, *std::max_element(load.begin(), load.end()) *
                                    static_cast<double>(group_.ranks()) /
                                    static_cast<double>(members.size()));
  }
  known_.island = std::max(known_.island, busiest * share);
  Count(Tier::kScaleUp, farthest);
}

void FormBuilder::SendToAll(double share) {
  CHECK_EQ(repeat_, 1);
  const MachinePorts& ports = group_.ports();
  const int mates = group_.most_on_island() - 1;
  if (group_.crosses()) {
    const double nic = group_.most_pairs_on_nic();
    known_.network = std::max(nic, group_.most_pairs_on_leaf()) * share;
    known_.crowded = std::max(nic, group_.most_pairs_crowded()) * share;
    Count(Tier::kScaleOut, group_.most_network_hops());
  }
  if (mates == 0) return;
  switch (ports.wiring) {
    case IslandWiring::kPorts:
      known_.island = mates * share;
      Count(Tier::kScaleUp, kHopsThroughSwitch);
      break;
    case IslandWiring::kLinks:
      known_.island = share;
      Count(Tier::kScaleUp, 1);
      break;
    case IslandWiring::kGrid:
      if (!group_.box().empty()) return SendToAllOfBox(share);
      for (int from = 0; from < group_.ranks(); ++from) {
        for (int to = 0; to < group_.ranks(); ++to) {
          if (from == to || ports.IslandOf(group_.chip(from)) !=
                                ports.IslandOf(group_.chip(to))) {
            continue;
          }
          Send(from, to, share);
        }
      }
      break;
  }
}

void FormBuilder::EndRound() {
  if (repeat_ == 0) return;
  if (repeat_ == 1 && !round_.empty()) {
    MessageTerm slowest = *std::max_element(
        round_.begin(), round_.end(),
        [](const auto& a, const auto& b) { return Slowness(a) < Slowness(b); });
    slowest.messages = 1;
    round_ = {slowest};
  } else {
    double count = 0;
    for (const MessageTerm& term : round_) count += term.messages;
    for (MessageTerm& term : round_) term.messages *= repeat_ / count;
  }
  if (Slowness(round_) > Slowness(longest_round_)) {
    std::swap(round_, longest_round_);
  }
  round_.clear();
  repeat_ = 0;
}

void FormBuilder::EndWave() {
  if (!in_wave_) return;
  EndRound();
  Busiest busiest(*this, known_);
  for (const size_t port : touched_) {
    busiest.Add(port, wave_load_[port]);
    all_load_[port] += wave_load_[port];
    wave_load_[port] = 0;
  }
  touched_.clear();
  form_.all.island += known_.island;
  form_.all.network += known_.network;
  form_.all.crowded += known_.crowded;
  known_ = {};
  form_.waves.push_back(busiest.Get());
  for (const MessageTerm& term : longest_round_) form_.messages.push_back(term);
  longest_round_.clear();
  in_wave_ = false;
}

void FormBuilder::AddWave(const MessageTerm& messages, const WaveTerm& loads) {
  EndWave();
  form_.messages.push_back(messages);
  form_.waves.push_back(loads);
  form_.all.island += loads.island;
  form_.all.network += loads.network;
  form_.all.crowded += loads.crowded;
}

void FormBuilder::AddRace(const std::vector<MessageTerm>& race,
                          const WaveTerm& loads) {
  // Of those with the same route the most.
  std::vector<MessageTerm> runners;
  for (const MessageTerm& term : race) {
    const auto same =
        std::find_if(runners.begin(), runners.end(), [&](const MessageTerm& r) {
          return r.tier == term.tier && r.hops == term.hops;
        });
    if (same == runners.end()) {
      runners.push_back(term);
    } else {
      same->messages = std::max(same->messages, term.messages);
    }
  }
  if (runners.size() == 1) return AddWave(runners[0], loads);
  EndWave();
  form_.races.push_back(std::move(runners));
  form_.waves.push_back(loads);
  form_.all.island += loads.island;
  form_.all.network += loads.network;
}

CollectiveForm FormBuilder::Build() && {
  EndWave();
  Busiest busiest(*this, {});
  for (size_t port = 0; port < all_load_.size(); ++port) {
    if (all_load_[port] > 0) busiest.Add(port, all_load_[port]);
  }
  const WaveTerm most = busiest.Get();
  form_.all.island += most.island;
  form_.all.network += most.network;
  form_.all.crowded += most.crowded;
  JoinAlike(form_);
  return std::move(form_);
}

CollectiveForm FormBuilder::BuildStreaming() && {
  form_.streams = true;
  return std::move(*this).Build();
}

}  // namespace orrery
