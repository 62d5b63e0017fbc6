#pragma once
// ExpertTraffic: who sends how much to whom when tokens go to their experts.
//
// Every rank of a group has the same number of tokens and sends k copies of
// each; `share` of all copies goes to each rank. Sent directly, a copy crosses
// the network by itself. Sent by island, a token crosses to each island it
// needs once, to the chip at the same place there, and is passed on inside to
// each rank that needs it, once however many of its experts are there
// (DeepSeek-V3, arXiv 2412.19437, section 3.2.2); on the way back what experts
// of one rank, then of one island computed is added up before it goes on.
//
// Amounts are in units of what a rank sends without de-duplication, its own
// part included: the bytes of a call.
#include <optional>
#include <vector>

namespace orrery {

struct ExpertTraffic {
  int experts = 1;
  int experts_per_token = 1;
  // By member, in the group's order; sums to 1.
  std::vector<double> share;
  bool by_island = false;
  // The most islands one token goes to, if routing limits them.
  std::optional<int> most_islands = std::nullopt;

  // Whether every member gets the same.
  bool even() const;
  friend bool operator==(const ExpertTraffic&, const ExpertTraffic&) = default;
};

// The part of all tokens that need at least one expert of a set that has `part`
// of the experts' load, with the experts spread over `islands`.
//
// Even load: k of E experts are drawn without repetition, of the M islands a
// token may go to, (M / N) (1 - C(n - m, k) / C(n, k)) with m experts in the
// set and n = E M / N to choose from. Uneven load: k draws, 1 - (1 - part)^k,
// and no more than M islands on the mean.
double TokensThatNeed(const ExpertTraffic& traffic, double part, int islands);

// Of all tokens, the part that each island and each rank needs, for ranks that
// lie island after island, the same number on each.
struct TokenAmounts {
  std::vector<double> island;
  std::vector<double> rank;
};
TokenAmounts AmountsByIsland(const ExpertTraffic& traffic, int islands);

// What a rank sends straight to each rank: its share of all copies, or by
// island each token once, in units of what a rank sends without
// de-duplication. The experts are spread over `islands`.
std::vector<double> AmountsByRank(const ExpertTraffic& traffic, int islands);

}  // namespace orrery
