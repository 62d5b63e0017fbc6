#include "sim/folding/replica_loads.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "sim/folding/link_profiles.h"
#include "sim/folding/replica_shapes.h"

namespace orrery {
namespace {

std::vector<VertexId> ToChips(const std::vector<int>& ranks) {
  std::vector<VertexId> chips;
  for (int rank : ranks) chips.push_back(static_cast<VertexId>(rank));
  return chips;
}

// Steps alike but for the resources they use.
bool AlikeButForLinks(const PlannedCall& a, const PlannedCall& b) {
  if (a.algorithm != b.algorithm || a.protocol != b.protocol ||
      a.plan.steps.size() != b.plan.steps.size() ||
      a.plan.orders.size() != b.plan.orders.size()) {
    return false;
  }
  // What a flow carries is a mean over sums, equal up to rounding.
  constexpr double kRounding = 1e-12;
  for (size_t i = 0; i < a.plan.steps.size(); ++i) {
    const TransferStep& x = a.plan.steps[i];
    const TransferStep& y = b.plan.steps[i];
    if (x.latency != y.latency || x.work != y.work ||
        std::abs(x.penalty - y.penalty) > kRounding * x.penalty) {
      return false;
    }
  }
  return true;
}

class Comparison {
 public:
  Comparison(const PlacedProgram& placed, const System& system,
             CallPlanner& planner)
      : placed_(placed),
        system_(system),
        network_(planner.network()),
        planner_(planner),
        scratch_(network_, planner.options()),
        profiles_(network_.resources().capacities()),
        shapes_(system, network_, NeverBlocks(system, network_.graph())),
        counts_(network_.resources().capacities().size(), true),
        own_nodes_(static_cast<size_t>(system.nodes()), false) {
    if (NeverBlocks(system, network_.graph())) CountPortsOnly();
  }

  absl::StatusOr<FoldingVerdict> Run() {
    const Program& program = placed_.program;
    using Key = std::tuple<GroupId, CommunicationKind, CallShape, int64_t>;
    absl::flat_hash_map<Key, double> seen;
    // Calls of the same chips that ask for the same load the same links.
    const IdVector<GroupId, GroupId> like = FirstAlike(placed_.groups);
    IdVector<CallId, double> stands_for;
    for (const CallId id : program.calls().ids()) {
      const Call& call = program.calls()[id];
      const Communication& what = call.what;
      const auto [known, is_new] = seen.try_emplace(
          {like[call.group], what.kind, what.shape, what.bytes.value()});
      if (!is_new) {
        stands_for.Add(known->second);
        continue;
      }
      ASSIGN_OR_RETURN(
          const bool alike,
          AddCall(call, placed_.groups[like[call.group]], known->second));
      stands_for.Add(known->second);
      const std::string& family =
          program.name(program.groups()[call.group].family);
      if (!alike) {
        return FoldingVerdict{fmt::format(
            "{} groups are not joined alike by the network", family)};
      }
      if (profiles_.size() > kMostUses) {
        return FoldingVerdict{
            "there are too many messages to compare what groups meet"};
      }
      names_.resize(profiles_.rows(), family);
      calls_.resize(profiles_.rows(), id);
    }
    const std::optional<int32_t> uneven = profiles_.FindUnevenRow();
    if (!uneven) {
      FoldingVerdict verdict{std::nullopt, profiles_.Needed()};
      verdict.stands_for = std::move(stands_for);
      return verdict;
    }
    std::string why =
        fmt::format("{} groups meet different traffic on their links",
                    names_[static_cast<size_t>(*uneven)]);
    if (std::optional<FoldingVerdict> verdict = WithSomeApart()) {
      verdict->unless_apart = std::move(why);
      verdict->stands_for = std::move(stands_for);
      return *std::move(verdict);
    }
    return FoldingVerdict{std::move(why)};
  }

 private:
  // 32 bytes each.
  static constexpr size_t kMostUses = 8'000'000;

  // Leaves out the calls that send least, size by size, until the rest is even;
  // nothing if too many would have to be, or one is not even by itself.
  std::optional<FoldingVerdict> WithSomeApart() {
    constexpr size_t kMostSizes = 3;
    constexpr size_t kMostApart = 64;
    const auto bytes_of = [&](size_t row) {
      return placed_.program.calls()[calls_[row]].what.bytes.value();
    };
    std::vector<int64_t> sizes;
    for (size_t row = 0; row < calls_.size(); ++row) {
      sizes.push_back(bytes_of(row));
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    std::vector<char> left_out(calls_.size(), false);
    for (size_t i = 0; i + 1 < sizes.size() && i < kMostSizes; ++i) {
      FoldingVerdict verdict;
      for (size_t row = 0; row < calls_.size(); ++row) {
        left_out[row] = bytes_of(row) <= sizes[i];
        if (!left_out[row]) continue;
        if (!verdict.apart.empty() &&
            verdict.apart.back().call == calls_[row]) {
          continue;
        }
        verdict.apart.push_back({calls_[row], {}});
      }
      if (verdict.apart.size() > kMostApart) return std::nullopt;
      if (profiles_.FindUnevenRow(left_out)) continue;
      verdict.kept = profiles_.Needed();
      for (ApartCall& apart : verdict.apart) {
        for (size_t row = 0; row < calls_.size(); ++row) {
          left_out[row] = calls_[row] != apart.call;
        }
        if (profiles_.FindUnevenRow(left_out)) return std::nullopt;
        verdict.kept = std::max(verdict.kept, profiles_.Needed());
        for (const int32_t row : profiles_.FindOthersMet()) {
          const CallId other = calls_[static_cast<size_t>(row)];
          if (apart.from.empty() || apart.from.back() != other) {
            apart.from.push_back(other);
          }
        }
      }
      return verdict;
    }
    return std::nullopt;
  }

  // Links that a chip or a NIC ends at.
  void CountPortsOnly() {
    const Graph& graph = network_.graph();
    for (LinkId id : graph.links()) {
      const Link& link = graph.link(id);
      counts_[network_.resources().of(id)] =
          graph.kind(link.from) != VertexKind::kSwitch ||
          graph.kind(link.to) != VertexKind::kSwitch ||
          graph.island(link.from).has_value();
    }
  }

  // Which replicas share a node with the group.
  std::vector<KeptReplicas> NearnessOf(const PlacedGroup& group) {
    const auto node_of = [&](int chip) {
      return static_cast<size_t>(chip / system_.chips_per_node());
    };
    for (const int chip : group.members) own_nodes_[node_of(chip)] = true;
    std::vector<KeptReplicas> nearness;
    for (const std::vector<int>& members : group.replicas) {
      const bool near =
          std::any_of(members.begin(), members.end(),
                      [&](int chip) { return own_nodes_[node_of(chip)]; });
      nearness.push_back(near ? KeptReplicas::kNeighbours : KeptReplicas::kAll);
    }
    nearness.front() = KeptReplicas::kNone;
    for (const int chip : group.members) own_nodes_[node_of(chip)] = false;
    return nearness;
  }

  // How a replica that others lie like is planned.
  struct Known {
    double sent_by_chips;
    ReplicaShapes::Movable uses;
  };

  // Plans every replica of the call, and adds its uses; false if one is planned
  // otherwise than the first. `stands_for`: see FoldingVerdict.
  absl::StatusOr<bool> AddCall(const Call& call, const PlacedGroup& group,
                               double& stands_for) {
    stands_for = static_cast<double>(group.replicas.size());
    if (group.members.size() < 2) return true;
    shapes_.LookAt(group.replicas);
    const std::vector<KeptReplicas> nearness = NearnessOf(group);
    double sent = 0;
    std::optional<PlannedCall> first;
    absl::flat_hash_map<int32_t, Known> by_chips;
    absl::flat_hash_map<int32_t, Known> by_nodes;
    int32_t first_row = 0;
    const auto find = [](auto& shapes, std::optional<int32_t> shape) {
      const auto found = shape ? shapes.find(*shape) : shapes.end();
      return found == shapes.end() ? nullptr : &found->second;
    };
    for (size_t r = 0; r < group.replicas.size(); ++r) {
      const auto add = [&](ResourceId resource, size_t step, double weight) {
        profiles_.Add(resource, first_row + static_cast<int32_t>(step),
                      static_cast<int32_t>(r), weight, nearness[r]);
      };
      const Known* known = find(by_chips, shapes_.ByChips(r));
      if (known == nullptr) known = find(by_nodes, shapes_.ByNodes(r));
      if (known != nullptr) {
        sent += known->sent_by_chips;
        shapes_.Move(known->uses, r, add);
        continue;
      }
      if (r > 0) scratch_.ForgetIfMany();
      ASSIGN_OR_RETURN(PlannedCall planned,
                       (r == 0 ? planner_ : scratch_)
                           .Plan({.kind = call.what.kind,
                                  .bytes = call.what.bytes,
                                  .chips = ToChips(group.replicas[r]),
                                  .shape = call.what.shape,
                                  .traffic = placed_.traffic ? &*placed_.traffic
                                                             : nullptr}));
      if (!first) {
        first = planned;
        first_row =
            profiles_.AddRows(planned.plan.steps.size(), group.replicas.size());
      } else if (!AlikeButForLinks(*first, planned)) {
        return false;
      }
      sent += planned.sent_by_chips;
      for (size_t s = 0; s < planned.plan.steps.size(); ++s) {
        for (const ResourceUse& use : planned.plan.steps[s].uses) {
          if (counts_[use.resource]) add(use.resource, s, use.weight);
        }
      }
      std::optional<ReplicaShapes::Movable> movable =
          shapes_.MovableUses(r, planned.plan, counts_);
      if (!movable) continue;
      const int32_t shape =
          movable->by_chips ? *shapes_.ByChips(r) : *shapes_.ByNodes(r);
      (movable->by_chips ? by_chips : by_nodes)
          .emplace(shape, Known{planned.sent_by_chips, *std::move(movable)});
    }
    if (first->sent_by_chips > 0) stands_for = sent / first->sent_by_chips;
    return true;
  }

  const PlacedProgram& placed_;
  const System& system_;
  const Network& network_;
  CallPlanner& planner_;
  CallPlanner scratch_;  // of replicas, which the run will not plan
  LinkProfiles profiles_;
  ReplicaShapes shapes_;
  // Where the fabric never blocks, ports cover the links between switches.
  IdVector<ResourceId, char> counts_;
  std::vector<char> own_nodes_;     // none but while they are looked at
  std::vector<std::string> names_;  // families, by row
  std::vector<CallId> calls_;       // by row, the first that asks for it
};

}  // namespace

absl::StatusOr<FoldingVerdict> CompareReplicas(const PlacedProgram& placed,
                                               const System& system,
                                               CallPlanner& planner) {
  return Comparison(placed, system, planner).Run();
}

}  // namespace orrery
