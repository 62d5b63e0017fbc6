#include "sim/network/routing_scratch.h"

#include "sim/sharing/keyed_sum.h"

namespace orrery {

std::vector<ResourceUse> UsesOf(const NetworkResources& resources,
                                absl::Span<const LinkShare> links,
                                bool one_of_alike) {
  std::vector<ResourceUse> uses;
  if (!one_of_alike) uses.reserve(links.size());
  for (const LinkShare& l : links) {
    const ResourceId resource = resources.of(l.link);
    if (one_of_alike && resources.first_alike(resource) != resource) continue;
    uses.push_back({resource, l.share});
  }
  return Canonical(std::move(uses));
}

void RoutingScratch::KeepTold(const NetworkResources& resources,
                              std::vector<ResourceLoad>& loads) const {
  if (!one_of_alike_) return;
  std::erase_if(loads, [&](const ResourceLoad& load) {
    return resources.first_alike(load.resource) != load.resource;
  });
}

SharedUses RoutingScratch::UsesOf(const RouteSet::Middle& middle,
                                  const NetworkResources& resources) {
  const auto make = [&] {
    return std::make_shared<std::vector<ResourceUse>>(
        orrery::UsesOf(resources, *middle.links, one_of_alike_));
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
