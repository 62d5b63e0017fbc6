#include "cli/training_row.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>

#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"

namespace orrery {
namespace {

constexpr int kLatest = 9999;

class RowReader {
 public:
  explicit RowReader(const CsvTable::Row& row) : row_(row) {}

  absl::StatusOr<TrainingRow> Read() {
    RETURN_IF_ERROR(ReadNumbers());
    ASSIGN_OR_RETURN(ResolvedScenario scenario, Scenario());
    return TrainingRow{
        .id = Text("id"),
        .source = Text("source_id"),
        .model = Text("model"),
        .plan = fmt::format("TP {} PP {} v {} DP {} b {}, {}{}", tensor_,
                            pipeline_, pieces_, data_, micro_batch_,
                            Text("recompute"), sequence_ ? ", SP" : ""),
        .measured_s = *row_.Number("step_time_s"),
        .memory_gib = row_.Number("mem_gb"),
        .selective = absl::StartsWith(Text("recompute"), "selective"),
        .scenario = std::move(scenario)};
  }

 private:
  absl::StatusOr<ResolvedScenario> Scenario() const {
    ASSIGN_OR_RETURN(
        pb::Scenario proto,
        ResolveScenarioText(Catalog(), ScenarioText(), Text("id"), {}));
    return MakeScenario(std::move(proto));
  }

  std::string Text(const char* column) const {
    return row_.Get(column).value_or("");
  }

  absl::Status ReadNumbers() {
    const std::pair<const char*, int*> needed[] = {
        {"layers", &layers_},      {"hidden", &hidden_},
        {"heads", &heads_},        {"ffn", &width_},
        {"vocab", &vocabulary_},   {"seq_len", &length_},
        {"global_batch", &batch_}, {"micro_batch", &micro_batch_},
        {"tp", &tensor_},          {"pp", &pipeline_},
        {"num_gpus", &chips_},     {"gpus_per_node", &node_}};
    for (const auto& [column, value] : needed) {
      const auto number = row_.Number(column);
      if (!number || *number < 1) {
        return absl::InvalidArgumentError(
            fmt::format("'{}' is missing", column));
      }
      *value = static_cast<int>(std::lround(*number));
    }
    if (!row_.Number("step_time_s")) {
      return absl::InvalidArgumentError("'step_time_s' is missing");
    }
    data_ = chips_ / tensor_ / pipeline_;
    sequence_ = Text("seq_parallel") == "yes";
    if (!absl::SimpleAtoi(Text("date").substr(0, 4), &year_)) year_ = kLatest;
    pieces_ = static_cast<int>(row_.Number("vp").value_or(0));
    if (pieces_ == 0) pieces_ = UnstatedPieces();
    return absl::OkStatus();
  }

  int UnstatedPieces() const {
    if (Text("framework") != "Megatron-LM" || pipeline_ == 1) return 1;
    if (layers_ % pipeline_ != 0) return 1;
    const int stage = layers_ / pipeline_;
    for (int pieces = 2; pieces <= stage; ++pieces) {
      if (stage % pieces == 0) return pieces;
    }
    return 1;
  }

  std::string LayersPerStage() const {
    if (layers_ % (pipeline_ * pieces_) == 0) return "";
    const bool ends = (layers_ + 2) % pipeline_ == 0;
    std::string text;
    for (int stage = 0; stage < pipeline_; ++stage) {
      int count = layers_ / pipeline_;
      if (ends) {
        const bool end = stage == 0 || stage == pipeline_ - 1;
        count = (layers_ + 2) / pipeline_ - (end ? 1 : 0);
      } else if (stage < layers_ % pipeline_) {
        ++count;
      }
      text += fmt::format(" layers_per_stage: {}", count);
    }
    return text;
  }

  std::string ScenarioText() const {
    const bool bloom = absl::StartsWith(Text("model"), "BLOOM");
    const bool omni_path = absl::StrContains(Text("interconnect"), "Omni-Path");
    const std::string recompute = Text("recompute");
    const bool of_2021 =
        year_ <= 2021 || Text("framework") == "Megatron-DeepSpeed";
    return fmt::format(
        R"(name: "{}"
        model {{ preset: "{}" layers: {} hidden: {} vocabulary: {}
          attention {{ heads: {} kv_heads: {} head_dimension: {} }}
          mlp {{ width: {} }} }}
        system {{ preset: "{}" nodes: {} }}
        training {{ global_batch: {} micro_batch: {} sequence: {}
          parallel {{ tensor: {} pipeline: {} data: {} sequence_parallel: {} }}
          schedule: {} virtual_stages: {} sharding: {} recompute: {}
          attention_kernel: UNFUSED precision: {} gradient_precision: FP32
          overlap_pipeline: {} overlap_gradient_reduction: {}
          overlap_weight_gradient: {} fuse_gradient_accumulation: {} {}
        }})",
        Text("id"), bloom ? "bloom_176b" : "gpt_22b", layers_, hidden_,
        vocabulary_, heads_, heads_, hidden_ / heads_, width_,
        omni_path ? "a100_opa100x4" : "dgx_a100_hdr200", chips_ / node_, batch_,
        micro_batch_, length_, tensor_, pipeline_, data_, sequence_,
        pieces_ > 1 ? "INTERLEAVED_1F1B" : "ONE_F_ONE_B", pieces_,
        Text("sharding") == "zero1" ? "ZERO_1" : "ZERO_0",
        recompute == "full"                        ? "RECOMPUTE_FULL"
        : absl::StartsWith(recompute, "selective") ? "RECOMPUTE_SELECTIVE"
                                                   : "RECOMPUTE_NONE",
        absl::StartsWith(Text("precision"), "bf16") ? "BF16" : "FP16",
        year_ > 2022, year_ > 2022, !of_2021, !of_2021, LayersPerStage());
  }

  const CsvTable::Row& row_;
  int layers_ = 0, hidden_ = 0, heads_ = 0, width_ = 0, vocabulary_ = 0;
  int length_ = 0, batch_ = 0, micro_batch_ = 0;
  int tensor_ = 0, pipeline_ = 0, data_ = 0, pieces_ = 0;
  int chips_ = 0, node_ = 0, year_ = 0;
  bool sequence_ = false;
};

}  // namespace

absl::StatusOr<TrainingRow> ReadTrainingRow(const CsvTable::Row& row) {
  if (!row.whole()) {
    return absl::InvalidArgumentError(
        "the row has not as many fields as the "
        "header");
  }
  return RowReader(row).Read();
}

}  // namespace orrery
