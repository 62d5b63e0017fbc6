#pragma once
// Compare: two or more answers side by side, and why they differ.
//
// Term by term from their reports. Of scenarios also by what was said
// otherwise: each part that differs is put into the first by itself and
// simulated, so that its effect is measured and not guessed; parts that are
// only legal together are changed together. What is left is what the parts do
// to each other.
//
//   ASSIGN_OR_RETURN(const pb::Comparison comparison,
//                    Compare({{.name = "a", .said = a},
//                             {.name = "b", .said = b}}, {}));
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "proto/report.pb.h"
#include "proto/scenario.pb.h"
#include "proto/search.pb.h"
#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// One of the two.
struct ComparedSide {
  std::string name;
  // Before defaults were filled in (MergeScenario).
  std::optional<pb::Scenario> said = std::nullopt;
  std::optional<pb::Report> saved = std::nullopt;
};

struct CompareOptions {
  // Whether to simulate what each part does by itself.
  bool causes = true;
  // Of runs; nothing: as each scenario says.
  std::function<absl::StatusOr<RunOptions>(const ResolvedScenario&)> run = {};
  std::function<void(std::string_view stage, double done)> progress = {};
};

// The error names the side.
absl::StatusOr<pb::Comparison> Compare(absl::Span<const ComparedSide> sides,
                                       const CompareOptions& options);

// Every number that one of the reports has, by its JSON name; entries of the
// bill by what they are.
std::vector<pb::Comparison::Row> RowsOf(
    absl::Span<const pb::Report* const> reports);

}  // namespace orrery
