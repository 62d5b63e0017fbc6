// The closed form of every call on every machine of the catalogue against the
// simulator's time of the same call by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "analytic/collective/group_cost.h"
#include "base/format.h"
#include "catalog/resolve.h"
#include "sim/network/network.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

TEST(CollectiveForms, Explore) {
  std::vector<std::string> systems = {"a100_opa100x4","azure_nd_a100_v4","dgx_a100_hdr200","dgx_b200","dgx_h100_ib400","gb200_nvl72","gb300_nvl72","h200_ib400","h20_ib400","h800_ib400","mi300x_8x400","mi355x_8x400","tpu_v4_pod","tpu_v5e_pod","tpu_v5p_pod","tpu_v6e_pod","tpu_v7x_pod"};
  std::map<std::string, std::pair<int, int>> sums;
  for (const auto& name : systems) for (int nodes : {1, 2, 4, 8}) {
    auto proto = ResolveSystem(Catalog(), name, {fmt::format("system.nodes={}", nodes)});
    CHECK(proto.ok()) << proto.status().ToString();
    const System system = System::FromProto(*proto).value();
    Network network = Network::Make(system, {.fidelity = Fidelity::kClosedForm}).value();
    GroupCost cost(system);
    const int c = system.chips_per_node();
    std::map<std::string, std::vector<int>> groups;
    for (int i = 0; i < c; ++i) groups["node"].push_back(i);
    for (int i = 0; i < c/2; ++i) groups["half"].push_back(i);
    for (int i = 0; i < c * nodes; ++i) groups["all"].push_back(i);
    for (int i = 0; i < nodes; ++i) groups["rail"].push_back(i * c);
    for (const auto& [label, g] : groups) {
      if (g.size() < 2) continue;
      for (Kind kind : {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter, Kind::kAllToAll, Kind::kPointToPoint})
      for (int64_t bytes : {int64_t{4096}, int64_t{1} << 20, int64_t{1} << 28}) {
        if (kind == Kind::kPointToPoint && label == "half" && g.size()==2) {}
        CollectiveCall call{kind, Bytes(bytes), {}};
        for (int x : g) call.chips.push_back(static_cast<VertexId>(x));
        const auto plan = network.Plan(call);
        CHECK(plan.ok()) << plan.status().ToString();
        const double sim = ToSeconds(plan->solo);
        const double form = cost.Time(kind, Bytes(bytes), cost.Span(g)).count();
        const double off = form / sim - 1;
        auto& s = sums[name];
        ++s.second;
        if (std::abs(off) > 1e-3) {
          ++s.first;
          fmt::print("{} n{} {} {} {}: {:+.2f}% sim {:.2f}us {} {}\n", name, nodes, label, NameOf(kind), bytes, off * 100, sim*1e6, NameOf(plan->algorithm), plan->protocol);
        }
      }
    }
  }
  for (auto& [n, s] : sums) fmt::print("SUM {} {}/{}\n", n, s.first, s.second);
}

}  // namespace
}  // namespace orrery
