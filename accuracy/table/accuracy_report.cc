#include "accuracy/table/accuracy_report.h"

#include <variant>

#include "base/overload.h"

namespace orrery {
namespace {

void Write(const AccuracyGroup& group, pb::AccuracySuite::Group* out) {
  const ErrorStatistics& errors = group.errors;
  const AccuracyBars& bars = group.bars;
  out->set_subject(group.key.subject);
  if (!group.key.part.empty()) out->set_part(group.key.part);
  out->set_rows(errors.rows);
  out->set_fitted(errors.fitted);
  out->set_refused(group.refused);
  out->set_mean(errors.mean);
  out->set_median(errors.median);
  if (errors.held_out_median.has_value()) {
    out->set_held_out_median(*errors.held_out_median);
  }
  out->set_p90(errors.ninetieth);
  out->set_worst(errors.worst);
  out->set_bias(errors.bias);
  if (bars.mean.has_value()) out->set_mean_bar(*bars.mean);
  if (bars.median.has_value()) out->set_median_bar(*bars.median);
  if (bars.worst.has_value()) out->set_worst_bar(*bars.worst);
  out->set_met(group.met());
  if (group.rank_correlation.has_value()) {
    out->set_rank_correlation(*group.rank_correlation);
    out->set_ranked_rows(group.ranked_rows);
  }
  if (group.fit.has_value()) {
    auto* fit = out->mutable_fit();
    fit->set_fits_and_did(group.fit->fits_and_did);
    fit->set_fits_but_did_not(group.fit->fits_but_did_not);
    fit->set_does_not_but_did(group.fit->does_not_but_did);
    fit->set_does_not_and_did_not(group.fit->does_not_and_did_not);
  }
}

void Write(const AccuracyRow& row, pb::AccuracySuite::Row* out) {
  out->set_id(row.id);
  out->set_line(row.line);
  out->set_source(row.source);
  out->set_measured_s(row.measured);
  out->set_predicted_s(row.predicted);
  out->set_error(row.error());
  out->set_fitted(row.fitted);
  std::visit(
      Overload{
          [&](const MeasuredKernel& facts) {
            out->mutable_kernel()->set_chip(facts.chip);
            out->mutable_kernel()->set_kernel(facts.kernel);
          },
          [&](const MeasuredCollective& facts) {
            out->set_measured_s(facts.measured_s);
            out->set_predicted_s(facts.predicted_s);
            auto* collective = out->mutable_collective();
            collective->set_system(facts.system);
            collective->set_collective(std::string(NameOf(facts.kind)));
            collective->set_nodes(facts.nodes);
            collective->set_chips(facts.chips);
            collective->set_size_bytes(facts.bytes.value());
            collective->set_measured_busbw_gbps(row.measured / 1e9);
            collective->set_predicted_busbw_gbps(row.predicted / 1e9);
            collective->set_algorithm(facts.algorithm);
          },
          [&](const MeasuredStep& facts) {
            auto* training = out->mutable_training();
            training->set_model(facts.model);
            training->set_plan(facts.plan);
            if (facts.measured_gib.has_value()) {
              training->set_measured_memory_gib(*facts.measured_gib);
            }
            training->set_predicted_memory_gib(facts.predicted_gib);
            if (facts.measured_reserved_gib.has_value()) {
              training->set_measured_reserved_gib(*facts.measured_reserved_gib);
            }
            training->set_predicted_reserved_gib(facts.predicted_reserved_gib);
            training->set_chip(facts.kind.chip);
            training->set_framework(facts.kind.software);
          },
          [&](const MeasuredCost& facts) {
            auto* money = out->mutable_money();
            money->set_model(facts.model);
            money->set_inputs(facts.inputs);
            money->set_quantity(facts.quantity);
            money->set_unit(facts.unit);
          },
          [&](const MeasuredRequest& facts) {
            auto* request = out->mutable_inference();
            request->set_model(facts.model);
            request->set_plan(facts.plan);
            request->set_quantity(facts.quantity);
          }},
      row.facts);
}

}  // namespace

pb::AccuracySuite ToProto(const AccuracyTable& table) {
  pb::AccuracySuite proto;
  proto.set_suite(std::string(Name(table.suite())));
  proto.set_table(table.origin());
  proto.set_met(table.met());
  proto.set_rows_predicted(static_cast<int>(table.rows().size()));
  proto.set_rows_refused(static_cast<int>(table.refused().size()));
  for (const AccuracyGroup& group : table.groups()) {
    Write(group, proto.add_groups());
  }
  for (const AccuracyRow& row : table.rows()) Write(row, proto.add_rows());
  for (const RefusedRow& refused : table.refused()) {
    auto* out = proto.add_refused();
    out->set_line(refused.line);
    out->set_id(refused.id);
    out->set_reason(refused.reason);
  }
  return proto;
}

}  // namespace orrery
