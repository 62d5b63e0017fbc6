#pragma once
// How far an answer can be trusted: which measured runs are near a scenario,
// and how far off predictions of those were.
//
//   const pb::Trust trust = TrustIn(scenario);
//   trust.text()  "mean error 5 %, 2 % too slow, over 12 measured steps of
//   dense
//                  models on h100_sxm with megatron_core_2024"
//
// Measured runs are those of the suites `training` and `inference` (their
// errors by kind are kept in validation/*_errors.csv). Every field of the
// machine and of the software that is not as the presets of measured runs have
// it is a difference. A difference is within what was measured if a measured
// machine has such a value; then the error to expect is that of the kind of run
// whose predictions are furthest off. With one that is not, there is no error
// to expect. The same holds for the sizes of the run and of its model, on both
// sides of what was measured.
#include <absl/container/flat_hash_map.h>

#include <string>
#include <tuple>

#include "proto/report.pb.h"
#include "proto/scenario.pb.h"

namespace orrery {

// Requires: presets are merged in and defaults are filled.
pb::Trust TrustIn(const pb::Scenario& scenario);

// The same for many training plans on one machine.
class PlanTrust {
 public:
  // Requires: as above; only the training plan varies.
  explicit PlanTrust(pb::Scenario scenario) : scenario_(std::move(scenario)) {}
  // Requires: defaults are filled.
  const pb::Trust& Of(const pb::Training& training);

 private:
  pb::Scenario scenario_;
  // By what of a plan matters.
  absl::flat_hash_map<std::tuple<int, int, int, int>, pb::Trust> known_;
};

// "measured", "near", "extrapolated".
std::string LevelText(pb::Trust::Level level);

// Sets `trust` and `trust_basis`.
void FillTrust(const pb::Trust& trust, pb::Report& report);

}  // namespace orrery
