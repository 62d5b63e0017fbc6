#include "accuracy/table/column_types.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/format.h"

namespace orrery {
namespace {

// A number in a range, or one of some words.
struct ColumnType {
  // Separated by blanks; the columns that are of this type.
  absl::string_view columns;
  double least = 0;
  double most = 0;
  bool whole = false;
  // Separated by "|"; the text begins with one of them.
  absl::string_view openings = {};
};

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr char kFormats[] =
    "bf16|bfloat16|fp16|fp32|float32|fp64|float64|fp8|fp4|nvfp4|mxfp4|int8|int4"
    "|amp_bf16";

constexpr ColumnType kTypes[] = {
    // Counts of parts, and the sizes of models and calls.
    {"num_gpus nodes gpus_per_node sms_used tp pp vp cp ep dp dp_attn", 1, 1e7,
     true},
    {"layers heads kv_heads q_heads head_dim groups grad_accum", 1, 1e6, true},
    {"hidden ffn vocab", 1, 1e9, true},
    {"seq_len seq_q seq_kv input_len output_len batch global_batch micro_batch "
     "batch_size concurrency num_requests",
     1, 1e9, true},
    {"m", 1e-6, 1e12},  // of a group of products it may be a mean
    {"n k", 1, 1e12, true},
    {"size_bytes", 1, 1e15, true},
    {"zero_stage", 0, 3, true},
    {"params_b active_params_b", 1e-6, 1e7},
    // Measured: no time is below a picosecond or above a hundred days.
    {"time_us", 1e-6, 1e13},
    {"ttft_ms tpot_ms e2e_latency_ms", 1e-9, 1e10},
    {"step_time_s", 1e-12, 1e7},
    {"tokens_per_s_per_gpu out_tok_s_total out_tok_s_per_gpu in_tok_s_total",
     1e-6, 1e12},
    {"tflops tflops_per_gpu mtflops_per_gpu", 1e-9, 1e7},
    {"flops_per_token_G", 1e-6, 1e12},
    {"GBps algbw_GBps busbw_GBps allreduce_GBps allgather_GBps "
     "reducescatter_GBps allreduce_intranode_GBps",
     1e-9, 1e8},
    {"mfu_pct hfu_pct", 0, 200},
    {"mem_gb mem_alloc_gb mem_reserved_gb", 1e-6, 1e6},
    {"request_rate", 1e-6, kEndless},
    {"expected", -1e15, 1e15},
    // Words.
    {"dtype kv_dtype weight_precision kv_precision precision", 0, 0, false,
     kFormats},
    {"causal step_time_derived", 0, 0, false, "yes|no"},
    {"seq_parallel", 0, 0, false, "yes|no"},
    {"after_pp_fix", 0, 0, false, "True|False"},
    {"direction", 0, 0, false, "fwd|bwd|prefill|decode"},
    {"tflops_kind", 0, 0, false, "model|hardware|not said"},
    {"mem_counts", 0, 0, false, "device|layers|reserved|tensors"},
    {"size_meaning", 0, 0, false, "nccl-tests|elements"},
};

const ColumnType* TypeOf(absl::string_view column) {
  static const auto* const types = [] {
    auto* made = new absl::flat_hash_map<std::string, const ColumnType*>;
    for (const ColumnType& type : kTypes) {
      for (const absl::string_view name : absl::StrSplit(type.columns, ' ')) {
        made->emplace(name, &type);
      }
    }
    return made;
  }();
  const auto found = types->find(column);
  return found == types->end() ? nullptr : found->second;
}

bool Holds(const ColumnType& type, const CsvTable::Row& row,
           const std::string& column, const std::string& text) {
  if (!type.openings.empty()) {
    return absl::c_any_of(
        std::vector<absl::string_view>(absl::StrSplit(type.openings, '|')),
        [&](absl::string_view word) { return absl::StartsWith(text, word); });
  }
  const std::optional<double> value = row.Number(column);
  return value && *value >= type.least && *value <= type.most &&
         (!type.whole || *value == std::floor(*value));
}

std::string Legal(const ColumnType& type) {
  if (!type.openings.empty()) {
    return "begin with one of " +
           absl::StrJoin(std::vector<absl::string_view>(
                             absl::StrSplit(type.openings, '|')),
                         ", ");
  }
  return type.most == kEndless
             ? fmt::format("be a number from {:g} on, or inf", type.least)
             : fmt::format("be a {}number from {:g} to {:g}",
                           type.whole ? "whole " : "", type.least, type.most);
}

}  // namespace

absl::Status CheckColumnTypes(const CsvTable& table, const CsvTable::Row& row) {
  constexpr size_t kLongestValue = 80;
  for (const std::string& column : table.columns()) {
    const ColumnType* const type = TypeOf(column);
    const std::optional<std::string> text = row.Get(column);
    if (type == nullptr || !text || Holds(*type, row, column, *text)) continue;
    return absl::InvalidArgumentError(
        fmt::format("column '{}' must {}, or be empty, got '{}'", column,
                    Legal(*type), text->substr(0, kLongestValue)));
  }
  return absl::OkStatus();
}

}  // namespace orrery
