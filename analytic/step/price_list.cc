#include "analytic/step/price_list.h"

#include "base/status.h"

namespace orrery {
namespace {

// Some hundred bytes each: beyond this the list starts anew.
constexpr size_t kMostRemembered = size_t{1} << 20;

}  // namespace

absl::StatusOr<PriceList> PriceList::Create(const System& system,
                                            const Kernels& kernels,
                                            Others others) {
  ASSIGN_OR_RETURN(KernelTimer timer,
                   KernelTimer::Create(system.chip(), kernels));
  ASSIGN_OR_RETURN(GroupCost groups, GroupCost::Create(system, others));
  return PriceList(std::move(timer), std::move(groups));
}

PriceList::KernelPrice PriceList::Kernel(const Op& op) {
  if (kernels_.size() >= kMostRemembered) kernels_.clear();
  const auto [entry, added] = kernels_.try_emplace(op);
  KernelPrice& price = entry->second;
  if (added) {
    const OpTime time = timer_.Time(op);
    price = {ToSeconds(time.time), time.flops};
  }
  return {price.seconds * slowness_, price.flops};
}

PriceList::KernelPrice PriceList::KernelOnce(const Op& op) const {
  const OpTime time = timer_.Time(op);
  return {ToSeconds(time.time) * slowness_, time.flops};
}

PriceList::CallPrice PriceList::PriceOf(CommunicationKind kind, Bytes bytes,
                                        const GroupSpan& span) {
  if (span.ranks < 2) return {};
  if (calls_.size() >= kMostRemembered) calls_.clear();
  const auto [entry, added] =
      calls_.try_emplace(CallKey(kind, bytes.value(), span.number));
  if (added) {
    const GroupCost::Price price = groups_.PriceOf(kind, bytes, span);
    entry->second = Of(price, groups_.LeastOf(kind, bytes, span, price));
  }
  return entry->second;
}

PriceList::CallPrice PriceList::RingStep(Bytes bytes, const GroupSpan& span) {
  // More than two do nothing else.
  if (span.ranks != 2)
    return PriceOf(CommunicationKind::kPointToPoint, bytes, span);
  if (ring_steps_.size() >= kMostRemembered) ring_steps_.clear();
  const auto [entry, added] =
      ring_steps_.try_emplace({bytes.value(), span.number});
  if (added) {
    const GroupCost::Price price = groups_.PriceOfRingStep(bytes, span);
    entry->second = Of(price, groups_.LeastOf(CommunicationKind::kPointToPoint,
                                              bytes, span, price));
  }
  return entry->second;
}

PriceList::CallPrice PriceList::ExpertCall(Bytes bytes, const GroupSpan& span,
                                           const ExpertTraffic& traffic,
                                           bool combine) {
  if (span.ranks < 2) return {};
  if (traffic != expert_traffic_) {
    expert_traffic_ = traffic;
    expert_forms_.clear();
    expert_calls_.clear();
  }
  if (expert_calls_.size() >= kMostRemembered) expert_calls_.clear();
  const auto [entry, added] =
      expert_calls_.try_emplace({bytes.value(), span.number, combine});
  if (!added) return entry->second;
  const auto [forms, are_new] = expert_forms_.try_emplace(span.number);
  if (are_new) {
    forms->second = {groups_.ExpertForm(span, traffic, /*combine=*/false),
                     groups_.ExpertForm(span, traffic, /*combine=*/true)};
  }
  const GroupCost::Price price =
      groups_.PriceOf(forms->second[combine ? 1 : 0],
                      CommunicationKind::kAllToAll, bytes, span);
  entry->second = Of(price, groups_.LeastOfExperts(price));
  return entry->second;
}

}  // namespace orrery
