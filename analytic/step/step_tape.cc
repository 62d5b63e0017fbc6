#include "analytic/step/step_tape.h"

#include <algorithm>

#include "workload/plan/exchange_family.h"

namespace orrery {
namespace {

using What = TapeItem::What;

}  // namespace

void StepTape::AddWork(double seconds) {
  if (!tape().empty() && tape().back().what == What::kWork) {
    tape().back().seconds += seconds;
    return;
  }
  Add({.what = What::kWork, .seconds = seconds});
}

void StepTape::AddCall(TapeCall call, What what, bool flag) {
  if (placement_.Size(call.family) == 1) return;
  call.bytes = std::max(Bytes(1), call.bytes);
  const auto known = std::find(tapes_.calls.begin(), tapes_.calls.end(), call);
  const auto index = known - tapes_.calls.begin();
  if (known == tapes_.calls.end()) tapes_.calls.push_back(call);
  Add({.what = what, .flag = flag, .index = static_cast<int32_t>(index)});
}

void StepTape::AddStep(const LayerStep& step) {
  if (const Op* op = step.op()) {
    AddWork(prices_.Kernel(*op).seconds);
    return;
  }
  const Exchange& exchange = *step.exchange();
  AddCall({.family = FamilyOf(exchange.group),
           .kind = CommunicationKindOf(exchange.kind),
           .bytes = exchange.bytes,
           .steps = exchange.steps,
           .shape = exchange.kind == ExchangeKind::kRing
                        ? CallShape::kAroundTheRing
                        : exchange.shape});
}

}  // namespace orrery
