#pragma once
// PriceList: what kernels and calls cost a system, each worked out once.
//
//   ASSIGN_OR_RETURN(PriceList prices, PriceList::Create(system, kernels));
//   prices.Kernel(op).seconds;
//   prices.Call(CommunicationKind::kAllReduce, bytes, prices.Span(chips));
//
// A step repeats few kernels and calls many times, and so do the plans that are
// tried on one machine. The answers are those of KernelTimer and GroupCost, to
// the last bit, whatever was asked before.
#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include <array>
#include <tuple>
#include <utility>

#include "analytic/collective/group_cost.h"
#include "base/units.h"
#include "cost/kernel/kernel_timer.h"
#include "topology/machine/kernels.h"
#include "topology/machine/system.h"
#include "workload/model/op.h"

namespace orrery {

class PriceList {
 public:
  struct KernelPrice {
    double seconds = 0;
    Flops flops;
  };

  // The system must outlive the list.
  static absl::StatusOr<PriceList> Create(const System& system,
                                          const Kernels& kernels,
                                          Others others);

  KernelPrice Kernel(const Op& op);
  // The same for one that is not asked for again.
  KernelPrice KernelOnce(const Op& op) const;
  // Kernels asked for from now on take so many times as long.
  void SetSlowness(double slowness) { slowness_ = slowness; }
  double slowness() const { return slowness_; }
  // See GroupCost::Blocks.
  std::vector<int> Blocks() const { return groups_.Blocks(); }
  // Groups are alike only where they have the same chips.
  bool has_faults() const { return groups_.has_faults(); }
  // The group of these chips, for calls; see GroupCost::Span.
  GroupSpan Span(absl::Span<const int> chips) { return groups_.Span(chips); }
  // Seconds of a call as asked for by `others`, for how many of them its
  // busiest line is; and what it takes at least, with the links to itself and
  // less what a formula may be off.
  struct CallPrice {
    double seconds = 0;
    double wire = 0;
    double least = 0;
  };
  CallPrice PriceOf(CommunicationKind kind, Bytes bytes, const GroupSpan& span);
  double Call(CommunicationKind kind, Bytes bytes, const GroupSpan& span) {
    return PriceOf(kind, bytes, span).seconds;
  }
  // Everyone sends to the next, the last to the first: a step around a ring.
  CallPrice RingStep(Bytes bytes, const GroupSpan& span);
  // The same for tokens that are routed; see GroupCost::ExpertForm.
  CallPrice ExpertCall(Bytes bytes, const GroupSpan& span,
                       const ExpertTraffic& traffic, bool combine);

 private:
  using CallKey = std::tuple<CommunicationKind, int64_t, int>;

  CallPrice Of(const GroupCost::Price& price, Seconds least) const {
    return {.seconds = groups_.Chosen(price).count(),
            .wire = groups_.ChosenWire(price).count(),
            .least = least.count()};
  }

  PriceList(KernelTimer timer, GroupCost groups)
      : timer_(std::move(timer)), groups_(std::move(groups)) {}

  KernelTimer timer_;
  absl::flat_hash_map<Op, KernelPrice, OpHash> kernels_;  // of a mean chip
  double slowness_ = 1;
  GroupCost groups_;
  absl::flat_hash_map<CallKey, CallPrice> calls_;
  // Of pairs, by bytes and span.
  absl::flat_hash_map<std::pair<int64_t, int>, CallPrice> ring_steps_;
  // Of the routing asked for last: forms by span, there and back, and prices by
  // bytes, span and direction.
  ExpertTraffic expert_traffic_;
  absl::flat_hash_map<int, std::array<CollectiveForm, 2>> expert_forms_;
  absl::flat_hash_map<std::tuple<int64_t, int, bool>, CallPrice> expert_calls_;
};

}  // namespace orrery
