#pragma once
// StepTape: writes the tapes of pipeline ranks, one after the other.
//
//   StepTape tape(placement, prices, tapes);
//   tape.Begin();
//   tape.AddStep(step);
#include "analytic/step/price_list.h"
#include "analytic/step/rank_tape.h"
#include "workload/model/layer.h"
#include "workload/plan/placement.h"

namespace orrery {

class StepTape {
 public:
  // All must outlive it.
  StepTape(const Placement& placement, PriceList& prices, RankTapes& tapes)
      : placement_(placement), prices_(prices), tapes_(tapes) {}

  // The tape of the next pipeline rank.
  void Begin() { tapes_.of_rank.emplace_back(); }
  std::vector<TapeItem>& tape() { return tapes_.of_rank.back(); }

  void Add(const TapeItem& item) { tape().push_back(item); }
  // Grows the work before it, if there is one.
  void AddWork(double seconds);
  // Nothing where the group is of one rank.
  void AddCall(TapeCall call, TapeItem::What what = TapeItem::What::kCall,
               bool flag = false);
  // An op or an exchange of a layer.
  void AddStep(const LayerStep& step);

 private:
  const Placement& placement_;
  PriceList& prices_;
  RankTapes& tapes_;
};

}  // namespace orrery
