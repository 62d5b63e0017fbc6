#pragma once
// A published inference measurement as a scenario.
//
// A column that is set is honoured, or the row is refused with the column's
// name. A row needs hardware (inference_systems.csv) or `system` (a preset),
// model, framework, weight_precision, tp, num_gpus, input_len, and what was
// measured: the scenario says which of e2e_latency_ms, ttft_ms, tpot_ms,
// out_tok_s_total or in_tok_s_total that is.
//
// What a row does not say is filled in by one rule for all rows:
//  - the engine is that of the framework (kEngines); what a source says of
//    how it ran besides is in validation/inference_runs.csv, as overrides;
//  - kv_precision: that of 16-bit weights, FP8 for FP8, otherwise BF16;
//  - products are in the weights' format where the chip has it and the format
//    is a float; INT8 and INT4 are of weights alone, with BF16 products;
//  - "two micro-batches" are two halves that take turns, tokens travel to
//    experts in FP8 if weights are, and routing is even;
//  - "KV memory fraction x" in the notes is the engine's memory_fraction;
//  - a decode row without a prompt to prefill is at its context, input_len; the
//    batch of a row with dp_attn is that of one chip.
// Rows of a rate of arrivals are refused: they need a simulation of serving.
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "accuracy/table/measurement_table.h"
#include "run/scenario.h"

namespace orrery {

enum class InferenceQuantity : uint8_t {
  kEndToEnd,
  kFirstToken,
  kPerToken,
  kOutputRate,  // continuous batching, offline
  kPrefillRate,
};
std::string_view Name(InferenceQuantity quantity);

struct InferenceRow {
  std::string model;
  std::string plan;  // "TP 8 batch 32, 128 + 8", for people
  InferenceQuantity quantity{};
  // Seconds, also of a rate: what the tokens of a batch take at it.
  double measured_s = 0;
  // Of a rate: tokens per second, and of how many requests; 0 if nothing says.
  double measured_rate = 0;
  int64_t requests = 0;
  ResolvedScenario scenario;
};

// The user's file if there is one, else validation/inference.csv.
absl::StatusOr<MeasurementTable> OpenInferenceTable(
    const std::optional<std::string>& file);

// What holds for all rows that begin like a line of them.
struct InferenceRules {
  MeasurementTable systems;
  MeasurementTable runs;
};
absl::StatusOr<InferenceRules> OpenInferenceRules();

absl::StatusOr<InferenceRow> ReadInferenceRow(const MeasurementRow& row,
                                              const InferenceRules& rules);

}  // namespace orrery
