#include "sim/folding/replica_loads.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/format.h"
#include "base/overload.h"
#include "base/status.h"
#include "sim/folding/chip_links.h"
#include "sim/folding/link_profiles.h"
#include "sim/folding/node_resources.h"

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

// Whether groups that lie alike on nodes of a tree, or of one switch, are
// planned alike, as they are if the tree is even and sprayed over.
bool LikeNodesAreAlike(const System& system) {
  return system.scale_out() && !std::holds_alternative<FullyConnectedFabric>(
                                   system.scale_out()->fabric.kind);
}

// Whether what is routed inside a node is routed so inside every other: no hash
// tells pairs apart.
bool SameOnEveryNode(const System& system) {
  if (!system.scale_up()) return true;
  const Routing routing = system.scale_up()->fabric.routing;
  return routing != Routing::kEcmp && routing != Routing::kValiant &&
         routing != Routing::kAdaptive;
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
        nodes_(system, network_),
        profiles_(network_.resources().capacities()),
        ports_only_(NeverBlocks(system, network_.graph())),
        like_nodes_(ports_only_ && LikeNodesAreAlike(system)),
        by_shape_(like_nodes_ && SameOnEveryNode(system)),
        one_island_((!system.scale_up() || !system.scale_up()->spans_nodes) &&
                    SameOnEveryNode(system)),
        chips_(system, network_, nodes_, like_nodes_) {
    if (ports_only_) MarkPorts();
  }

  absl::StatusOr<FoldingVerdict> Run() {
    const Program& program = placed_.program;
    using Key = std::tuple<GroupId, CommunicationKind, CallShape, int64_t>;
    absl::flat_hash_map<Key, double> seen;
    IdVector<CallId, double> stands_for;
    for (const CallId id : program.calls().ids()) {
      const Call& call = program.calls()[id];
      const Communication& what = call.what;
      const auto [known, is_new] = seen.try_emplace(
          {call.group, what.kind, what.shape, what.bytes.value()});
      if (!is_new) {
        stands_for.Add(known->second);
        continue;
      }
      ASSIGN_OR_RETURN(const bool alike, AddCall(call, known->second));
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
  void MarkPorts() {
    const Graph& graph = network_.graph();
    is_port_.resize(network_.resources().capacities().size());
    for (LinkId id : graph.links()) {
      const Link& link = graph.link(id);
      is_port_[network_.resources().of(id)] =
          graph.kind(link.from) != VertexKind::kSwitch ||
          graph.kind(link.to) != VertexKind::kSwitch ||
          graph.island(link.from).has_value();
    }
  }

  KeptReplicas Nearness(const PlacedGroup& group,
                        const std::vector<int>& members) {
    const int node = system_.chips_per_node();
    own_nodes_.clear();
    for (int chip : group.members) own_nodes_.insert(chip / node);
    const bool near =
        std::any_of(members.begin(), members.end(),
                    [&](int chip) { return own_nodes_.contains(chip / node); });
    return near ? KeptReplicas::kNeighbours : KeptReplicas::kAll;
  }

  // A replica that others lie like, and how it is planned.
  struct Known {
    std::vector<int> members;
    PlannedCall planned;
  };
  using Map =
      std::variant<std::monostate, NodeResources::NodeMap, ChipLinks::Map>;
  using Shapes = absl::flat_hash_map<std::vector<int32_t>, Known>;

  // Whether all that counts of a plan is of its members' chips, or of a grid
  // that they are shifted in.
  bool OfChips(const PlannedCall& planned,
               const std::vector<int>& members) const {
    const ChipLinks::Map same = chips_.MapOf(members, members);
    for (const TransferStep& step : planned.plan.steps) {
      for (const ResourceUse& use : step.uses) {
        if (ports_only_ && !is_port_[use.resource]) continue;
        if (!chips_.Moves(use.resource, same)) return false;
      }
    }
    return true;
  }

  // Plans every replica of the call, and adds its uses; false if one is planned
  // otherwise than the first. `stands_for`: see FoldingVerdict.
  absl::StatusOr<bool> AddCall(const Call& call, double& stands_for) {
    const PlacedGroup& group = placed_.groups[call.group];
    stands_for = static_cast<double>(group.replicas.size());
    if (group.members.size() < 2) return true;
    double sent = 0;
    std::optional<PlannedCall> first;
    Shapes by_chips;
    Shapes by_nodes;
    int32_t first_row = 0;
    for (size_t r = 0; r < group.replicas.size(); ++r) {
      const std::vector<int>& members = group.replicas[r];
      const auto replica = static_cast<int32_t>(r);
      const KeptReplicas nearness =
          r == 0 ? KeptReplicas::kNone : Nearness(group, members);
      const std::optional<std::vector<int32_t>> lies = chips_.ShapeOf(members);
      if (lies) {
        const auto known = by_chips.find(*lies);
        if (known != by_chips.end()) {
          sent += known->second.planned.sent_by_chips;
          AddUses(known->second.planned, first_row, replica, nearness,
                  chips_.MapOf(known->second.members, members));
          continue;
        }
      }
      const bool has_shape =
          (by_shape_ || (one_island_ && nodes_.OnOneNode(members))) &&
          nodes_.OnWholeNodes(members);
      const std::vector<int32_t> shape =
          has_shape ? nodes_.ShapeOf(members) : std::vector<int32_t>();
      if (has_shape) {
        const auto known = by_nodes.find(shape);
        if (known != by_nodes.end()) {
          sent += known->second.planned.sent_by_chips;
          AddUses(known->second.planned, first_row, replica, nearness,
                  nodes_.MapOf(known->second.members, members));
          continue;
        }
      }
      if (r > 0) scratch_.ForgetIfMany();
      ASSIGN_OR_RETURN(PlannedCall planned,
                       (r == 0 ? planner_ : scratch_)
                           .Plan({.kind = call.what.kind,
                                  .bytes = call.what.bytes,
                                  .chips = ToChips(members),
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
      AddUses(planned, first_row, replica, nearness, Map());
      if (lies && OfChips(planned, members)) {
        by_chips.emplace(*lies, Known{members, std::move(planned)});
      } else if (has_shape && (by_shape_ || nodes_.Holds(planned.plan))) {
        by_nodes.emplace(shape, Known{members, std::move(planned)});
      }
    }
    if (first->sent_by_chips > 0) stands_for = sent / first->sent_by_chips;
    return true;
  }

  // `map`: where the uses are of a group that lies alike.
  void AddUses(const PlannedCall& planned, int32_t first_row, int32_t replica,
               KeptReplicas nearness, const Map& map) {
    const auto moved =
        Overload{[](std::monostate, ResourceId resource) { return resource; },
                 [&](const NodeResources::NodeMap& nodes, ResourceId resource) {
                   return nodes_.Moved(resource, nodes);
                 },
                 [&](const ChipLinks::Map& chips, ResourceId resource) {
                   return chips_.Moved(resource, chips);
                 }};
    std::visit(
        [&](const auto& each) {
          for (size_t s = 0; s < planned.plan.steps.size(); ++s) {
            const int32_t row = first_row + static_cast<int32_t>(s);
            for (const ResourceUse& use : planned.plan.steps[s].uses) {
              if (ports_only_ && !is_port_[use.resource]) continue;
              profiles_.Add(moved(each, use.resource), row, replica, use.weight,
                            nearness);
            }
          }
        },
        map);
  }

  const PlacedProgram& placed_;
  const System& system_;
  const Network& network_;
  CallPlanner& planner_;
  CallPlanner scratch_;  // of replicas, which the run will not plan
  NodeResources nodes_;
  LinkProfiles profiles_;
  bool ports_only_;
  bool like_nodes_;  // the fabric tells nodes that lie alike not apart
  bool by_shape_;
  bool one_island_;  // what is inside a node stays there, the same in each
  ChipLinks chips_;
  IdVector<ResourceId, char> is_port_;
  absl::flat_hash_set<int> own_nodes_;
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
