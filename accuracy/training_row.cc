#include "accuracy/training_row.h"

#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>

#include <utility>

#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "proto/enum_names.h"

namespace orrery {
namespace {

constexpr int kLatest = 9999;
constexpr int64_t kMost = 1'000'000'000;

// Families of models, by how the names of their rows begin.
constexpr std::pair<absl::string_view, absl::string_view> kFamilies[] = {
    {"GPT", "gpt_22b"}, {"BLOOM", "bloom_176b"}};

class RowReader {
 public:
  RowReader(const MeasurementRow& row, const MeasurementTable& systems)
      : row_(row), systems_(systems) {}

  absl::StatusOr<TrainingRow> Read() {
    RETURN_IF_ERROR(ReadNumbers());
    RETURN_IF_ERROR(ReadDegrees());
    RETURN_IF_ERROR(ReadChoices());
    ASSIGN_OR_RETURN(const double measured, row_.Positive("step_time_s"));
    std::optional<double> memory;
    if (row_.Has("mem_gb")) {
      ASSIGN_OR_RETURN(memory, row_.Positive("mem_gb"));
    }
    ASSIGN_OR_RETURN(ResolvedScenario scenario, Scenario());
    return TrainingRow{
        .model = row_.Text("model"),
        .plan = fmt::format(
            "TP {} PP {} v {} DP {}{} b {}, {}{}", tensor_, pipeline_, pieces_,
            data_, context_ > 1 ? fmt::format(" CP {}", context_) : "",
            micro_batch_, row_.Text("recompute"), sequence_ ? ", SP" : ""),
        .measured_s = measured,
        .memory_gib = memory,
        .selective = recompute_ == pb::Training::RECOMPUTE_SELECTIVE,
        .scenario = std::move(scenario)};
  }

 private:
  absl::Status ReadNumbers() {
    const std::pair<const char*, int*> needed[] = {
        {"layers", &layers_},      {"hidden", &hidden_},
        {"heads", &heads_},        {"ffn", &width_},
        {"vocab", &vocabulary_},   {"seq_len", &length_},
        {"global_batch", &batch_}, {"micro_batch", &micro_batch_},
        {"tp", &tensor_},          {"pp", &pipeline_},
        {"num_gpus", &chips_},     {"gpus_per_node", &node_}};
    for (const auto& [column, value] : needed) {
      RETURN_IF_ERROR(ReadCount(column, value));
    }
    if (hidden_ % heads_ != 0)
      return row_.Wrong("heads", "a divisor of hidden");
    kv_heads_ = heads_;
    if (row_.Has("kv_heads")) {
      RETURN_IF_ERROR(ReadCount("kv_heads", &kv_heads_));
      if (heads_ % kv_heads_ != 0) {
        return row_.Wrong("kv_heads", "a divisor of heads");
      }
    }
    if (chips_ % node_ != 0) {
      return row_.Wrong("gpus_per_node", "a divisor of num_gpus");
    }
    return absl::OkStatus();
  }

  absl::Status ReadDegrees() {
    if (row_.Has("cp")) RETURN_IF_ERROR(ReadCount("cp", &context_));
    const int64_t split = int64_t{tensor_} * pipeline_;
    if (split > chips_ || chips_ % (split * context_) != 0) {
      return row_.Wrong("num_gpus", "a multiple of tp x pp x cp");
    }
    data_ = static_cast<int>(chips_ / (split * context_));
    if (row_.Has("dp")) {
      int stated = 0;
      RETURN_IF_ERROR(ReadCount("dp", &stated));
      if (stated != data_) {
        return row_.Wrong("dp",
                          fmt::format("num_gpus / (tp x pp x cp) = {}", data_));
      }
    }
    if (row_.Has("ep") && row_.Text("ep") != "1") {
      return row_.Wrong("ep", "1: a row cannot describe experts");
    }
    const std::string date = row_.Text("date");
    if (!absl::SimpleAtoi(date.substr(0, 4), &year_)) year_ = kLatest;
    pieces_ = UnstatedPieces();
    if (row_.Has("vp")) RETURN_IF_ERROR(ReadCount("vp", &pieces_));
    return absl::OkStatus();
  }

  absl::Status ReadChoices() {
    using Training = pb::Training;
    ASSIGN_OR_RETURN(
        sequence_,
        row_.Choice<bool>("seq_parallel",
                          {{"yes", true}, {"no", false}, {"", false}}));
    ASSIGN_OR_RETURN(sharding_, row_.Choice<Training::Sharding>(
                                    "sharding", {{"none", Training::ZERO_0},
                                                 {"zero1", Training::ZERO_1},
                                                 {"zero2", Training::ZERO_2},
                                                 {"zero3", Training::ZERO_3},
                                                 {"", Training::ZERO_0}}));
    ASSIGN_OR_RETURN(
        recompute_,
        row_.Choice<Training::Recompute>(
            "recompute", {{"none", Training::RECOMPUTE_NONE},
                          {"selective", Training::RECOMPUTE_SELECTIVE},
                          {"full", Training::RECOMPUTE_FULL},
                          {"", Training::RECOMPUTE_NONE}}));
    if (row_.Has("precision")) {
      ASSIGN_OR_RETURN(precision_, row_.Format("precision"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadCount(const char* column, int* value) const {
    ASSIGN_OR_RETURN(const int64_t count, row_.Whole(column, 1, kMost));
    *value = static_cast<int>(count);
    return absl::OkStatus();
  }

  int UnstatedPieces() const {
    if (row_.Text("framework") != "Megatron-LM" || pipeline_ == 1) return 1;
    if (layers_ % pipeline_ != 0) return 1;
    const int stage = layers_ / pipeline_;
    for (int pieces = 2; pieces <= stage; ++pieces) {
      if (stage % pieces == 0) return pieces;
    }
    return 1;
  }

  absl::StatusOr<std::string> Model() const {
    for (const auto& [prefix, preset] : kFamilies) {
      if (absl::StartsWith(row_.Text("model"), prefix)) {
        return std::string(preset);
      }
    }
    return row_.Wrong("model", "of a known family: GPT... or BLOOM...");
  }

  absl::StatusOr<std::string> System() const {
    if (const auto named = row_.Get("system")) return *named;
    const std::string interconnect = row_.Text("interconnect");
    bool known_hardware = false;
    for (const MeasurementRow& known : systems_.rows()) {
      if (known.Text("hardware") != row_.Text("hardware")) continue;
      known_hardware = true;
      const std::string word = known.Text("interconnect");
      if (word.empty() ? interconnect.empty()
                       : absl::StrContains(interconnect, word)) {
        return known.Text("system");
      }
    }
    return row_.Wrong(known_hardware ? "interconnect" : "hardware",
                      "that of a known system (a column 'system' may name a "
                      "preset instead)");
  }

  std::string LayersPerStage() const {
    if (layers_ % (int64_t{pipeline_} * pieces_) == 0) return "";
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

  std::string ScenarioText(const std::string& model,
                           const std::string& system) const {
    const bool of_2021 =
        year_ <= 2021 || row_.Text("framework") == "Megatron-DeepSpeed";
    return fmt::format(
        R"(name: "{}"
        model {{ preset: "{}" layers: {} hidden: {} vocabulary: {}
          attention {{ kind: {} heads: {} kv_heads: {} head_dimension: {} }}
          mlp {{ width: {} }} }}
        system {{ preset: "{}" nodes: {} }}
        training {{ global_batch: {} micro_batch: {} sequence: {}
          parallel {{ tensor: {} context: {} pipeline: {} data: {}
            sequence_parallel: {} }}
          schedule: {} virtual_stages: {} sharding: {} recompute: {}
          attention_kernel: {} precision: {} gradient_precision: FP32
          overlap_pipeline: {} overlap_gradient_reduction: {}
          overlap_weight_gradient: {} fuse_gradient_accumulation: {} {}
        }})",
        absl::CEscape(row_.id()), model, layers_, hidden_, vocabulary_,
        kv_heads_ == heads_ ? "MHA"
        : kv_heads_ == 1    ? "MQA"
                            : "GQA",
        heads_, kv_heads_, hidden_ / heads_, width_, absl::CEscape(system),
        chips_ / node_, batch_, micro_batch_, length_, tensor_, context_,
        pipeline_, data_, sequence_,
        pieces_ > 1 ? "INTERLEAVED_1F1B" : "ONE_F_ONE_B", pieces_,
        EnumName(sharding_), EnumName(recompute_),
        context_ > 1 ? "FLASH" : "UNFUSED", Name(precision_), year_ > 2022,
        year_ > 2022, !of_2021, !of_2021, LayersPerStage());
  }

  absl::StatusOr<ResolvedScenario> Scenario() const {
    ASSIGN_OR_RETURN(const std::string model, Model());
    ASSIGN_OR_RETURN(const std::string system, System());
    ASSIGN_OR_RETURN(pb::Scenario proto,
                     ResolveScenarioText(Catalog(), ScenarioText(model, system),
                                         "as a scenario", {}));
    if (proto.system().chips_per_node() != node_) {
      return row_.Wrong(
          "gpus_per_node",
          fmt::format("{}, as on {}", proto.system().chips_per_node(), system));
    }
    return MakeScenario(std::move(proto));
  }

  const MeasurementRow& row_;
  const MeasurementTable& systems_;
  int layers_ = 0, hidden_ = 0, heads_ = 0, kv_heads_ = 0, width_ = 0;
  int vocabulary_ = 0, length_ = 0, batch_ = 0, micro_batch_ = 0;
  int tensor_ = 0, context_ = 1, pipeline_ = 0, data_ = 0, pieces_ = 0;
  int chips_ = 0, node_ = 0, year_ = 0;
  bool sequence_ = false;
  pb::Training::Sharding sharding_ = pb::Training::ZERO_0;
  pb::Training::Recompute recompute_ = pb::Training::RECOMPUTE_NONE;
  DType precision_ = DType::kFp16;
};

}  // namespace

absl::StatusOr<MeasurementTable> OpenTrainingTable(
    const std::optional<std::string>& file) {
  return MeasurementTable::Open(
      file, "training.csv",
      {"model", "layers", "hidden", "heads", "ffn", "vocab", "seq_len",
       "global_batch", "micro_batch", "tp", "pp", "num_gpus", "gpus_per_node",
       "step_time_s", "system|hardware"});
}

absl::StatusOr<MeasurementTable> OpenTrainingSystems() {
  return MeasurementTable::Open(std::nullopt, "training_systems.csv",
                                {"hardware", "interconnect", "system"});
}

absl::StatusOr<TrainingRow> ReadTrainingRow(const MeasurementRow& row,
                                            const MeasurementTable& systems) {
  return RowReader(row, systems).Read();
}

}  // namespace orrery
