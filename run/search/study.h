#pragma once
// Study: a base scenario, axes, constraints and objectives, checked.
//
//   ASSIGN_OR_RETURN(const Study study, Study::FromProto(proto));
//   for (int64_t i = 0; i < study.points(); ++i) study.PointAt(i);
//
// Points are numbered; the last axis varies fastest, but axes that change more
// than the training plan vary slowest, so that machines are built once.
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/study.pb.h"
#include "run/expression.h"
#include "run/search/inference_space.h"
#include "run/search/plan_space.h"

namespace orrery {

struct StudyAxis {
  std::string name;
  // A field, or empty for cases.
  std::string path;
  // What it takes, as text; empty for an expression.
  std::vector<std::string> values;
  // Of each value: PATH=VALUE.
  std::vector<std::vector<std::string>> sets;
  std::optional<Expression> expression;
  // Of its numbers, "mm2"; empty for counts.
  std::string unit;
  // Changes nothing but the training plan.
  bool plan_only = false;
};

struct StudyObjective {
  Expression expression;
  bool maximize = false;
};

struct StudyColumn {
  std::string name;
  Expression expression;
};

// Whether PATH=VALUE is about the study's technology and not its scenario.
bool IsOfTechnology(std::string_view set);

class Study {
 public:
  // The error lists everything that is wrong.
  static absl::StatusOr<Study> FromProto(const pb::Study& proto);

  const std::string& name() const { return name_; }
  const std::string& scenario() const { return scenario_; }
  const std::vector<std::string>& sets() const { return sets_; }
  // How the scenario's chip is made, where it is made otherwise.
  const pb::Technology* technology() const {
    return technology_ ? &*technology_ : nullptr;
  }
  // In the order in which they vary, the slowest first.
  const std::vector<StudyAxis>& axes() const { return axes_; }
  const std::vector<Expression>& constraints() const { return constraints_; }
  const std::vector<StudyObjective>& objectives() const { return objectives_; }
  // The objectives first, then further ones.
  const std::vector<StudyColumn>& columns() const { return columns_; }
  pb::Study::Method method() const { return method_; }
  int simulate() const { return simulate_; }
  // Choices that TUNE leaves as they were said, of a training plan or of one
  // that serves; the error names one that such a plan has not.
  absl::StatusOr<std::vector<PlanAxis>> KeptOfTraining() const;
  absl::StatusOr<std::vector<ServingAxis>> KeptOfServing() const;

  // Whether an expression asks for money.
  bool needs_cost() const { return needs_cost_; }

  int64_t points() const { return points_; }
  // Of each axis, which of its values the point has; 0 for expressions.
  std::vector<int> PointAt(int64_t index) const;

 private:
  friend class StudyReader;
  Study() = default;

  std::string name_;
  std::string scenario_;
  std::vector<std::string> sets_;
  std::optional<pb::Technology> technology_;
  std::vector<StudyAxis> axes_;
  std::vector<Expression> constraints_;
  std::vector<StudyObjective> objectives_;
  std::vector<StudyColumn> columns_;
  pb::Study::Method method_ = pb::Study::ESTIMATE;
  int simulate_ = 0;
  std::vector<std::string> kept_;
  bool needs_cost_ = false;
  int64_t points_ = 1;
};

}  // namespace orrery
