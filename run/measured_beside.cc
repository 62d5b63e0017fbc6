#include "run/measured_beside.h"

#include <optional>

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

}  // namespace orrery
