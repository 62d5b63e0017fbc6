#include "sim/network/routing_scratch.h"

#include "sim/sharing/keyed_sum.h"

namespace orrery {

std::vector<ResourceUse> UsesOf(const NetworkResources& resources,
                                absl::Span<const LinkShare> links) {
  std::vector<ResourceUse> uses;
  uses.reserve(links.size());
  for (const LinkShare& l : links) {
    uses.push_back({resources.of(l.link), l.share});
  }
  return Canonical(std::move(uses));
}

SharedUses RoutingScratch::UsesOf(const RouteSet::Middle& middle,
                                  const NetworkResources& resources) {
  const auto make = [&] {
    return std::make_shared<std::vector<ResourceUse>>(
        orrery::UsesOf(resources, *middle.links));
  };
  if (!middle.kept) return make();
  // 64 MB of them.
  constexpr size_t kMostKeptUses = 4 << 20;
  if (kept_uses_ > kMostKeptUses) {
    uses_.clear();
    kept_uses_ = 0;
  }
  auto& [links, uses] = uses_[middle.links.get()];
  if (uses == nullptr) {
    links = middle.links;
    uses = make();
    kept_uses_ += uses->size();
  }
  return uses;
}

}  // namespace orrery
