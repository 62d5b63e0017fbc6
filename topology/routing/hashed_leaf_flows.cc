#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "topology/routing/leaf_flows.h"
#include "topology/routing/route_hash.h"

namespace orrery {

void LeafFlows::FindHops(size_t to) {
  Search<false>(leaves_[to]);
  hops_.assign(vertices_.size(), {});
  choices_.clear();
  for (const int32_t v : order_) {
    Hop& hop = hops_[static_cast<size_t>(v)];
    hop.begin = static_cast<uint32_t>(choices_.size());
    hop.vertex =
        static_cast<uint32_t>(Index(vertices_[static_cast<size_t>(v)]));
    Duration& rest = rest_[static_cast<size_t>(v)];
    rest = Duration(0);
    hop.even = true;
    if (v != leaves_[to]) {
      for (const Edge& edge : edges(true, v)) {
        if (!Reached(edge.other) || !Nearer(v, edge)) continue;
        const auto next = static_cast<size_t>(edge.other);
        const Duration time = AddTimes(rest_[next], edge.latency);
        if (choices_.size() == hop.begin) rest = time;
        hop.even = hop.even && hops_[next].even && time == rest;
        choices_.push_back(edge);
      }
    }
    hop.count = static_cast<uint32_t>(choices_.size()) - hop.begin;
    if (std::has_single_bit(hop.count)) hop.mask = hop.count - 1;
    hop.settled =
        hop.count == 0 ||
        (hop.count == 1 &&
         hops_[static_cast<size_t>(choices_[hop.begin].other)].settled);
  }
  next_.clear();
  for (const Edge& choice : choices_) {
    const bool settled = hops_[static_cast<size_t>(choice.other)].settled;
    next_.push_back(settled ? ~choice.other : choice.other);
  }
  taken_.assign(kTurns * choices_.size(), 0);
  arrived_.assign(vertices_.size(), 0);
}

Duration LeafFlows::CountTimed(const EndPoint& source,
                               absl::Span<const EndPoint> sinks) {
  Duration slowest{};
  const uint64_t from = SourceHash(source.chip);
  for (const EndPoint& sink : sinks) {
    if (source.island == sink.island) continue;
    const uint64_t hash = FlowHash(from, sink.chip, /*flow=*/0);
    Duration latency = source.latency + sink.latency;
    auto at = static_cast<size_t>(leaves_[source.leaf]);
    for (Hop hop = hops_[at]; !hop.settled; hop = hops_[at]) {
      const uint32_t pick = hop.Pick(hash);
      ++taken_[kTurns * pick];
      latency += choices_[pick].latency;
      at = static_cast<size_t>(choices_[pick].other);
    }
    slowest = std::max(slowest, latency + rest_[at]);
  }
  return slowest;
}

// Flows do not wait for each other's hashes that way.
void LeafFlows::Count(const EndPoint& source,
                      absl::Span<const EndPoint> sinks) {
  const uint64_t from = SourceHash(source.chip);
  const Hop first = hops_[static_cast<size_t>(leaves_[source.leaf])];
  under_way_.resize(sinks.size());
  uint32_t* const taken = taken_.data();
  const int32_t* const next_of = next_.data();
  Flow* const flows = under_way_.data();
  const Hop* const hops = hops_.data();
  size_t left = 0;
  const auto go_on = [&](uint64_t hash, const Hop& hop, size_t turn) {
    const uint32_t pick = hop.Pick(hash);
    ++taken[kTurns * pick + turn % kTurns];
    flows[left] = {hash, next_of[pick]};
    left += flows[left].at >= 0;
  };
  for (size_t i = 0; i < sinks.size(); ++i) {
    if (source.island == sinks[i].island) continue;
    go_on(FlowHash(from, sinks[i].chip, /*flow=*/0), first, i);
  }
  while (left > 0) {
    const size_t before = std::exchange(left, 0);
    for (size_t i = 0; i < before; ++i) {
      const Flow flow = flows[i];
      go_on(flow.hash, hops[flow.at], i);
    }
  }
}

bool LeafFlows::FindPair(size_t at) {
  if (paired_ == at) return is_pair_;
  paired_ = at;
  is_pair_ = false;
  const Hop& hop = hops_[at];
  if (!std::has_single_bit(hop.count)) return false;
  pair_ = {.place = hop.vertex, .mask = hop.mask, .begin = hop.begin};
  pair_.twice = next_[hop.begin] >= 0;
  for (uint32_t i = 0; i < hop.count; ++i) {
    const int32_t to = next_[hop.begin + i];
    if ((to >= 0) != pair_.twice) return false;
    if (!pair_.twice) continue;
    const Hop& next = hops_[static_cast<size_t>(to)];
    if (i == 0) {
      if (!std::has_single_bit(next.count)) return false;
      pair_.next_place = next.vertex;
      pair_.next_begin = next.begin;
      pair_.next_mask = next.mask;
    } else if (i == 1) {
      pair_.next_stride = next.vertex - pair_.next_place;
      pair_.begin_stride = next.begin - pair_.next_begin;
    }
    if (next.count != pair_.next_mask + 1 ||
        next.vertex != pair_.next_place + i * pair_.next_stride ||
        next.begin != pair_.next_begin + i * pair_.begin_stride) {
      return false;
    }
    for (uint32_t j = next.begin; j < next.begin + next.count; ++j) {
      if (next_[j] >= 0) return false;  // a third choice
    }
  }
  is_pair_ = true;
  return true;
}

void LeafFlows::CountPairs(const EndPoint& source,
                           absl::Span<const VertexId> sinks) {
  const size_t count = sinks.size();
  first_picks_.resize(count);
  second_picks_.resize(pair_.twice ? count : 0);
  HashChoices(source.chip, sinks, pair_, absl::MakeSpan(first_picks_),
              absl::MakeSpan(second_picks_));
  uint32_t* const taken = taken_.data();
  for (const std::vector<uint32_t>* picks : {&first_picks_, &second_picks_}) {
    for (size_t i = 0; i < picks->size(); ++i) {
      ++taken[kTurns * (*picks)[i] + i % kTurns];
    }
  }
}

bool LeafFlows::Hashed(size_t to, absl::Span<const EndPoint> sources,
                       absl::Span<const EndPoint> sinks,
                       absl::Span<double> loads, Duration& slowest) {
  FindHops(to);
  const auto sends = [&](const EndPoint& source) {
    return std::any_of(sinks.begin(), sinks.end(), [&](const EndPoint& sink) {
      return sink.island != source.island;
    });
  };
  for (const EndPoint& source : sources) {
    if (!Reached(leaves_[source.leaf]) && sends(source)) return false;
  }
  Duration farthest{};
  for (const EndPoint& sink : sinks) {
    farthest = std::max(farthest, sink.latency);
  }
  paired_.reset();
  absl::flat_hash_set<int64_t> islands;
  std::vector<VertexId> chips;
  for (const EndPoint& sink : sinks) {
    islands.insert(sink.island);
    chips.push_back(sink.chip);
  }
  for (const EndPoint& source : sources) {
    const auto leaf = static_cast<size_t>(leaves_[source.leaf]);
    if (!Reached(leaves_[source.leaf])) continue;  // and sends nothing
    if (!hops_[leaf].even) {
      slowest = std::max(slowest, CountTimed(source, sinks));
      continue;
    }
    if (hops_[leaf].settled) {
      for (const EndPoint& sink : sinks) {
        arrived_[leaf] += source.island != sink.island;
      }
    } else if (FindPair(leaf) && !islands.contains(source.island)) {
      CountPairs(source, chips);
    } else {
      Count(source, sinks);
    }
    const Duration before = source.latency + rest_[leaf];
    if (before + farthest <= slowest) continue;
    for (const EndPoint& sink : sinks) {
      if (source.island == sink.island) continue;
      slowest = std::max(slowest, before + sink.latency);
    }
  }
  for (size_t i = 0; i < choices_.size(); ++i) {
    int64_t taken = 0;
    for (size_t turn = 0; turn < kTurns; ++turn) {
      taken += taken_[kTurns * i + turn];
    }
    if (taken == 0) continue;
    loads[Index(choices_[i].link)] += static_cast<double>(taken);
    if (next_[i] < 0) arrived_[static_cast<size_t>(~next_[i])] += taken;
  }
  for (size_t i = order_.size(); i-- > 1;) {
    const auto v = static_cast<size_t>(order_[i]);
    if (arrived_[v] == 0) continue;
    const Edge& next = choices_[hops_[v].begin];
    loads[Index(next.link)] += static_cast<double>(arrived_[v]);
    arrived_[static_cast<size_t>(next.other)] += arrived_[v];
  }
  return true;
}

}  // namespace orrery
