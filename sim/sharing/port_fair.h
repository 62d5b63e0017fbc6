#pragma once
// Rates where switches arbitrate between input ports, not between flows.
//
// Credit-based fabrics serve the ports that want an output in turn: each port
// gets the same share of it, ports that want less leave the rest to the others,
// and what came in together by one port shares the port's part in proportion to
// how it arrived; what starts at an end point is one port there and shares it
// flow by flow. In a parking lot, where one more sender joins at every switch
// on the way to a common sink, the last to join gets a half, the one before a
// quarter, and so on; max-min gives all the same.
//
// This gives the rates that activities reach if none of them ever gives way to
// what happens to others further down: each at most what it asks for, no
// resource oversubscribed. Used as weights of a max-min solve (fair_share.h, at
// a penalty of 1 / rate) the others then get what is left over, because a
// switch with credits and a queue per output holds back only who is held up.
//
// An activity that uses many links at once (a phase of a collective) enters a
// link by several ports and goes at the pace of its slowest part.
#include <absl/types/span.h>

#include <cstdint>
#include <vector>

namespace orrery {

struct PortFairProblem {
  // `weight` of a resource per unit of rate, come in from another resource.
  struct Use {
    int32_t resource;  // place in `capacities`
    int32_t port;      // place in `capacities`, or -1: starts here
    double weight;     // > 0
  };

  std::vector<double> capacities;  // > 0
  std::vector<double> wanted;      // per activity: rate with all to itself
  std::vector<int32_t> uses_end;   // per activity, into `uses`
  std::vector<Use> uses;  // of an activity by resource, then port; none twice

  void Clear();
};

// Keeps its working memory between problems.
class PortFairSolver {
 public:
  // One rate per activity, > 0. Valid until the next call.
  // Cost: O(uses x sweeps); a sweep per hop of the longest path, and where
  // paths go around in circles until rates settle, or kMostSweeps.
  absl::Span<const double> Solve(const PortFairProblem& problem);

 private:
  static constexpr int kMostSweeps = 64;

  // Uses of one resource that come in by one port, places in `by_port_`.
  struct Port {
    int32_t resource;
    int32_t begin;
    int32_t end;
    double wanted = 0;
    double granted = 0;
  };

  void Prepare(const PortFairProblem& problem);
  // Equal parts of `capacity` to ports [begin, end), none more than it wants.
  void Divide(double capacity, size_t begin, size_t end);
  // The rate that uses of a port that start there may have at the most.
  double LevelOf(const PortFairProblem& problem, const Port& port);

  // Per use: its activity, where its bytes were before, and its rates.
  std::vector<int32_t> activity_;
  std::vector<int32_t> before_begin_;
  std::vector<int32_t> before_end_;
  std::vector<double> arriving_;
  std::vector<double> passing_;
  std::vector<int32_t> by_port_;
  std::vector<Port> ports_;
  std::vector<int32_t> order_;
  std::vector<double> rates_;
};

}  // namespace orrery
