#include "workload/plan/training_plan_rules.h"

#include <algorithm>
#include <string>

#include "base/format.h"

namespace orrery {
namespace {

constexpr double kMostTokens = 1e18;

}  // namespace

ExpertRouting ReadRouting(const pb::Training& proto, const Model& model,
                          const FieldReader& fields) {
  ExpertRouting routing;
  const int loads = proto.expert_load_size();
  if (!model.moe()) {
    const auto refuse = [&](const char* field) {
      fields.Refuse(
          field, fmt::format("{} has no experts; leave it out", model.name()));
    };
    if (loads > 0) refuse("expert_load");
    if (proto.expert_imbalance() > 1) refuse("expert_imbalance");
    // A width that all tensors have changes nothing.
    if (proto.has_dispatch_precision() &&
        proto.dispatch_precision() != pb::BF16 &&
        proto.dispatch_precision() != pb::FP16 &&
        proto.dispatch_precision() != pb::FP32) {
      refuse("dispatch_precision");
    }
    if (proto.dispatch_method() > pb::Training::DISPATCH_DIRECT) {
      refuse("dispatch_method");
    }
    return routing;
  }
  const int experts = model.moe()->experts;
  if (proto.has_expert_imbalance()) {
    const double imbalance = fields.Real("expert_imbalance", 1, experts);
    if (imbalance >= 1 && imbalance <= experts) {
      routing = ExpertRouting::OneHot(experts, imbalance);
    }
  }
  if (loads == 0) return routing;
  if (proto.has_expert_imbalance()) {
    fields.Refuse("expert_load",
                  "is set beside expert_imbalance; leave out one of them");
  }
  if (loads != experts) {
    fields.Refuse("expert_load",
                  fmt::format("has {} entries; write one for each expert: {} "
                              "has {}",
                              loads, model.name(), experts));
  }
  double sum = 0;
  for (int i = 0; i < loads; ++i) {
    const double load = proto.expert_load(i);
    if (load >= 0 && load <= kMostTokens) {
      sum += load;
      continue;
    }
    fields.Refuse(fmt::format("expert_load[{}]", i),
                  fmt::format("{} must be from 0 to {:g}", load, kMostTokens));
    return routing;
  }
  if (sum <= 0) {
    fields.Refuse("expert_load", "some expert must get tokens");
  } else if (loads == experts) {
    routing =
        ExpertRouting({proto.expert_load().begin(), proto.expert_load().end()});
  }
  return routing;
}

std::vector<int> ReadRankMap(const pb::Training& proto, int64_t chips,
                             const FieldReader& fields) {
  const auto& map = proto.parallel().rank_map();
  if (map.empty()) return {};
  if (map.size() != chips) {
    fields.Refuse(
        "parallel.rank_map",
        fmt::format("has {} entries; write one for each of the {} chips",
                    map.size(), chips));
    return {};
  }
  std::vector<int> rank_on(static_cast<size_t>(chips), -1);
  for (int rank = 0; rank < map.size(); ++rank) {
    const int chip = map[rank];
    const std::string entry = fmt::format("parallel.rank_map[{}]", rank);
    if (chip < 0 || chip >= chips) {
      fields.Refuse(entry, fmt::format("there is no chip {}; they are 0 to "
                                       "{}",
                                       chip, chips - 1));
    } else if (int& other = rank_on[static_cast<size_t>(chip)]; other >= 0) {
      fields.Refuse(entry,
                    fmt::format("chip {} has rank {} already", chip, other));
    } else {
      other = rank;
    }
  }
  // The usual order is no map.
  if (std::is_sorted(map.begin(), map.end())) return {};
  return {map.begin(), map.end()};
}

}  // namespace orrery
