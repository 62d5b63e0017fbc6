#include "run/measured_beside.h"

#include <absl/algorithm/container.h>

#include <optional>

#include "accuracy/trust/measured_rows.h"
#include "base/excerpt.h"
#include "base/format.h"
#include "catalog/nearest.h"
#include "run/report_value.h"

namespace orrery {

void AddMeasured(const pb::Scenario& scenario, pb::Report& report) {
  for (const pb::MeasuredValue& value : scenario.measured()) {
    pb::MeasuredBeside& beside = *report.add_measured();
    beside.set_quantity(value.report_field());
    beside.set_measured(value.value());
    beside.set_source(value.source());
    if (value.has_note()) beside.set_note(value.note());
    const std::optional<double> predicted =
        ReportValue(report, value.report_field());
    if (!predicted) continue;
    beside.set_predicted(*predicted);
    beside.set_error(*predicted / value.value() - 1);
  }
}

void CheckMeasured(const pb::Scenario& scenario, Violations* violations) {
  for (int i = 0; i < scenario.measured_size(); ++i) {
    const pb::MeasuredValue& value = scenario.measured(i);
    const std::string path = fmt::format("measured[{}]", i);
    const std::string& field = value.report_field();
    if (!absl::c_linear_search(ReportNames(), field)) {
      violations->Add(fmt::format(
          "{}.report_field: a report has no number '{}'{}; write a name that "
          "'orrery simulate SCENARIO --json -' prints, such as step_time_s",
          path, Excerpt(field), DidYouMean(field, ReportNames())));
    }
    if (!value.has_value()) {
      violations->Add(fmt::format(
          "{}.value: not set; write what was measured, for example 3.5", path));
    }
    violations->Add(CheckMeasuredRow(value.suite(), value.row()), path);
  }
}

}  // namespace orrery
