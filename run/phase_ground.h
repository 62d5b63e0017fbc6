#pragma once
// PhaseGrounds: where the phases of an inference plan run: machine, network and
// kernels of each.
//
//   ASSIGN_OR_RETURN(const PhaseGrounds grounds, PhaseGrounds::Make(scenario));
//   RunInference(grounds.of(PassPurpose::kPrefill),
//                grounds.of(PassPurpose::kDecode), plan, {});
//
// One machine for both; or with separate pools the nodes of each, of one
// machine or of two. Pools do not meet on the network but for the cache that
// moves from one to the other (kv_transfer.h).
#include <absl/status/statusor.h>

#include <memory>

#include "run/scenario.h"
#include "run/training_run.h"
#include "sim/network/network.h"
#include "workload/model/pass_purpose.h"

namespace orrery {

class PhaseGrounds {
 public:
  // The scenario must outlive what is made.
  static absl::StatusOr<PhaseGrounds> Make(const ResolvedScenario& scenario);

  TrainingGround of(PassPurpose phase) const {
    const Place& place =
        phase == PassPurpose::kDecode && decode_ ? *decode_ : *prefill_;
    const bool apart = phase != PassPurpose::kDecode && scenario_->prefill;
    return {scenario_->model, place.system,
            apart ? scenario_->prefill->kernels : scenario_->kernels,
            place.network};
  }

 private:
  struct Place {
    System system;
    Network network;
  };
  static absl::StatusOr<std::unique_ptr<Place>> MakePlace(
      const pb::System& system, const pb::Inference& inference, int64_t chips);

  explicit PhaseGrounds(const ResolvedScenario& scenario)
      : scenario_(&scenario) {}

  const ResolvedScenario* scenario_;
  std::unique_ptr<Place> prefill_;
  std::unique_ptr<Place> decode_;
};

}  // namespace orrery
