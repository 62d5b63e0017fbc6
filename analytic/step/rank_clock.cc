#include "analytic/step/rank_clock.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery {
namespace {

using What = TapeItem::What;

// Sums in another order.
bool IsSame(double a, double b) {
  constexpr double kRounding = 1e-9;
  return std::abs(a - b) <= kRounding * std::max(a, b);
}

}  // namespace

RankClock::RankClock(const Placement& placement, const RankClasses& classes,
                     const RankTapes& tapes, absl::Span<const SlowRank> slow,
                     CallPrice price, Ranks ranks)
    : placement_(placement), tapes_(tapes) {
  const auto pipelines = static_cast<int>(tapes.receives.size());
  const auto add = [&](int rank, int rank_class, int pipeline) {
    rank_at_.push_back(rank);
    slowdown_.push_back(SlowdownOf(rank, slow));
    pipeline_of_.push_back(pipeline);
    tape_of_.push_back(&tapes.Of(rank_class, pipeline));
  };
  if (ranks == kEvery) {
    for (int rank = 0; rank < placement.ranks(); ++rank) {
      place_of_.push_back(rank);
      add(rank, classes.ClassOf(rank), placement.CoordinatesOf(rank).pipeline);
    }
  } else {
    for (int pipeline = 0; pipeline < pipelines; ++pipeline) {
      for (int of = 0; of < classes.count(); ++of) {
        add(classes.Representative(of, pipeline), of, pipeline);
      }
    }
    for (int rank = 0; rank < placement.ranks(); ++rank) {
      place_of_.push_back(placement.CoordinatesOf(rank).pipeline *
                              classes.count() +
                          classes.ClassOf(rank));
    }
  }
  PriceCalls(price);
  PriceTransfers(price);
}

int64_t RankClock::CountItems() const {
  size_t items = 0;
  for (const auto* tape : tape_of_) items += tape->size();
  return static_cast<int64_t>(items);
}

int RankClock::PeerOf(int place, int pipeline) const {
  const int rank = rank_at_[static_cast<size_t>(place)];
  return place_of_[static_cast<size_t>(placement_.PeerOf(rank, pipeline))];
}

size_t RankClock::LineOf(GroupFamily family, bool gathers) {
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].family == family && lines_[i].gathers == gathers) return i;
  }
  Line line{.family = family,
            .gathers = gathers,
            .group_of = std::vector<int>(rank_at_.size(), -1),
            .members = {},
            .chips = {},
            .present = {},
            .latest = {}};
  for (size_t place = 0; place < rank_at_.size(); ++place) {
    if (line.group_of[place] >= 0) continue;
    const std::vector<int> ranks = placement_.Members(family, rank_at_[place]);
    // Between the stages that share an embedding there are others.
    if (std::find(ranks.begin(), ranks.end(), rank_at_[place]) == ranks.end()) {
      continue;
    }
    std::vector<int>& members = line.members.emplace_back();
    std::vector<int>& chips = line.chips.emplace_back();
    for (const int rank : ranks) {
      chips.push_back(placement_.ChipOf(rank));
      const int member = place_of_[static_cast<size_t>(rank)];
      int& group = line.group_of[static_cast<size_t>(member)];
      const auto own = static_cast<int>(line.members.size()) - 1;
      if (group == own) continue;  // it stands for several members
      stands_for_all_ &= group < 0;
      group = own;
      members.push_back(member);
    }
  }
  line.present.resize(line.members.size());
  line.latest.resize(line.members.size());
  lines_.push_back(std::move(line));
  return lines_.size() - 1;
}

void RankClock::PriceCalls(CallPrice price) {
  for (const TapeCall& call : tapes_.calls) {
    line_of_.push_back(LineOf(call.family, call.gathers));
    std::vector<double>& prices = price_.emplace_back();
    for (const std::vector<int>& chips : lines_[line_of_.back()].chips) {
      prices.push_back(call.ahead_s + price(call, chips));
      alike_ &= IsSame(prices.back(), prices.front());
    }
  }
}

void RankClock::PriceTransfers(CallPrice price) {
  const TapeCall transfer{.kind = CommunicationKind::kPointToPoint,
                          .bytes = tapes_.transfer};
  // By the two pipeline ranks, whichever way.
  absl::flat_hash_map<std::pair<int, int>, double> first;
  std::vector<std::vector<int>> peers(tapes_.receives.size());
  for (size_t of = 0; of < peers.size(); ++of) {
    for (const TapeItem& item : tapes_.Of(0, static_cast<int>(of))) {
      if (item.what == What::kSend &&
          std::find(peers[of].begin(), peers[of].end(), item.peer) ==
              peers[of].end()) {
        peers[of].push_back(item.peer);
      }
    }
  }
  for (size_t place = 0; place < rank_at_.size(); ++place) {
    const int rank = rank_at_[place];
    const int own = pipeline_of_[place];
    for (const int peer : peers[static_cast<size_t>(own)]) {
      const int chips[] = {placement_.ChipOf(rank),
                           placement_.ChipOf(placement_.PeerOf(rank, peer))};
      const double seconds = price(transfer, chips);
      transfers_[{static_cast<int>(place), peer}] = seconds;
      const auto known = first.try_emplace(
          {std::min(own, peer), std::max(own, peer)}, seconds);
      alike_ &= IsSame(seconds, known.first->second);
    }
  }
}

double RankClock::Run() {
  constexpr size_t kWays = 4;
  ranks_.assign(rank_at_.size(), {});
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank].transferred.assign(kWays, 0);
    ranks_[rank].arrivals.assign(
        static_cast<size_t>(
            tapes_.receives[static_cast<size_t>(pipeline_of_[rank])]),
        -1);
    ready_.push_back(static_cast<int>(rank));
  }
  while (!ready_.empty()) {
    const int rank = ready_.front();
    ready_.pop_front();
    Advance(rank);
  }
  double end = 0;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const Rank& rank = ranks_[i];
    CHECK(rank.next == TapeOf(static_cast<int>(i)).size() &&
          rank.reductions.empty())
        << "a tape waits for itself";
    end = std::max({end, rank.free, rank.reduced});
    for (const double sent : rank.transferred) end = std::max(end, sent);
  }
  return end;
}

void RankClock::Advance(int of) {
  Rank& rank = ranks_[static_cast<size_t>(of)];
  const std::vector<TapeItem>& tape = TapeOf(of);
  StartReduction(of);
  while (!rank.in_call && rank.next < tape.size() && Do(tape[rank.next], of)) {
    ++rank.next;
  }
}

// False: it has to wait.
bool RankClock::Do(const TapeItem& item, int of) {
  Rank& rank = ranks_[static_cast<size_t>(of)];
  switch (item.what) {
    case What::kWork:
      rank.free += item.seconds * slowdown_[static_cast<size_t>(of)];
      rank.worked = rank.free;
      return true;
    case What::kHost:
      if (item.flag) rank.host = std::max(rank.host, rank.free);
      rank.host += item.seconds;
      rank.free = std::max(rank.free, rank.host);
      return true;
    case What::kHostReceives:
      rank.host = std::max(rank.host, rank.received);
      return true;
    case What::kCall:
      rank.in_call = true;
      Join(item.index, of, rank.free);
      return true;
    case What::kReduce:
      rank.reductions.push_back(
          {item.index, item.flag ? rank.worked : rank.free});
      StartReduction(of);
      return true;
    case What::kAwaitReductions:
      if (!rank.reductions.empty()) return false;
      rank.free = std::max(rank.free, rank.reduced);
      return true;
    case What::kReceive: {
      const double arrival = rank.arrivals[static_cast<size_t>(item.index)];
      if (arrival < 0) return false;
      rank.received = arrival;
      rank.free = std::max(rank.free, arrival);
      return true;
    }
    case What::kSend:
      Send(item, of);
      return true;
    case What::kAwaitSends:
      rank.free = std::max(rank.free, rank.sent);
      return true;
    case What::kForgetCalls:
      rank.free = rank.worked;
      return true;
  }
  CHECK(false) << "no such item";
  return false;
}

void RankClock::StartReduction(int of) {
  Rank& rank = ranks_[static_cast<size_t>(of)];
  if (rank.in_reduction || rank.reductions.empty()) return;
  rank.in_reduction = true;
  const Reduction& first = rank.reductions.front();
  Join(first.call, of, std::max(first.ready, rank.reduced));
}

void RankClock::Join(int call, int of, double at) {
  const auto i = static_cast<size_t>(call);
  Line& line = lines_[line_of_[i]];
  const auto group =
      static_cast<size_t>(line.group_of[static_cast<size_t>(of)]);
  const std::vector<int>& members = line.members[group];
  line.latest[group] = std::max(line.latest[group], at);
  if (++line.present[group] < static_cast<int>(members.size())) return;
  const double end = line.latest[group] + price_[i][group];
  line.present[group] = 0;
  line.latest[group] = 0;
  for (const int member : members) {
    Rank& rank = ranks_[static_cast<size_t>(member)];
    const bool reduces =
        rank.in_reduction && rank.reductions.front().call == call;
    if (reduces) {
      rank.reduced = end;
      rank.reductions.pop_front();
      rank.in_reduction = false;
    } else {
      rank.free = end;
      rank.in_call = false;
    }
    ready_.push_back(member);
  }
}

void RankClock::Send(const TapeItem& item, int of) {
  Rank& rank = ranks_[static_cast<size_t>(of)];
  double& before = rank.transferred[item.way];
  before = std::max(before, rank.free) + transfers_.at({of, item.peer});
  rank.sent = std::max(rank.sent, before);
  const int receiver = PeerOf(of, item.peer);
  ranks_[static_cast<size_t>(receiver)]
      .arrivals[static_cast<size_t>(item.index)] = before;
  ready_.push_back(receiver);
}

}  // namespace orrery
