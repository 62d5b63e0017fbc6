#include "accuracy/inference/inference_row.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "accuracy/inference/trtllm_bench.h"
#include "base/check.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"

namespace orrery {
namespace {

constexpr int64_t kMost = 1'000'000'000;

// Of inference_runs.csv, that say which rows a line holds for.
constexpr const char* kRunColumns[] = {"framework", "source_id", "model",
                                       "weight_precision"};

// Engines, by how the names of frameworks begin.
constexpr std::pair<absl::string_view, absl::string_view> kEngines[] = {
    {"FasterTransformer", "fastertransformer"},
    {"TensorRT-LLM 0.5", "tensorrt_llm_2023"},
    {"TensorRT-LLM 0.6", "tensorrt_llm_2023"},
    {"TensorRT-LLM 0.19", "tensorrt_llm_pytorch"},
    {"TensorRT-LLM 0.2", "tensorrt_llm_pytorch"},
    {"TensorRT-LLM 1", "tensorrt_llm_pytorch"},
    {"TensorRT-LLM", "tensorrt_llm"},
    {"vLLM", "vllm"},
    {"SGLang", "sglang"},
    {"gpt-fast", "gpt_fast"},
    {"NeMo", "nemo_trtllm_2023"},
    {"DeepSeek", "deepseek_2025"}};

// Models whose names in tables are not those of their presets: releases of the
// same architecture.
constexpr std::pair<absl::string_view, absl::string_view> kModels[] = {
    {"gpt_3_175b", "gpt3_175b"},
    {"gpt_175b", "gpt3_175b"},
    {"gpt_20b", "gpt3_20b"},
    {"gpt_j", "gpt_j_6b"},
    {"llama3_1_8b", "llama3_8b"},
    {"llama3_1_70b", "llama3_70b"},
    {"llama3_1_405b", "llama3_405b"},
    {"llama3_3_70b", "llama3_70b"},
    {"deepseek_r1", "deepseek_v3"},
    {"mixtral_8x7b_v0_1", "mixtral_8x7b"},
    {"mixtral_8x22b_v0_1", "mixtral_8x22b"}};

// "Llama3.1-8B" as presets are spelled: llama3_1_8b. A hyphen between a family
// and its generation does not count: "Llama-3.1-8B" is the same.
std::string SpelledAsPreset(absl::string_view name) {
  std::string spelled;
  for (const char c : name) {
    spelled += absl::ascii_isalnum(static_cast<unsigned char>(c))
                   ? absl::ascii_tolower(static_cast<unsigned char>(c))
                   : '_';
  }
  constexpr absl::string_view kLlama = "llama_";
  if (absl::StartsWith(spelled, kLlama)) {
    spelled.erase(kLlama.size() - 1, 1);
  }
  return spelled;
}

class RowReader {
 public:
  RowReader(const MeasurementRow& row, const InferenceRules& rules)
      : row_(row), rules_(rules) {}

  absl::StatusOr<InferenceRow> Read() {
    RETURN_IF_ERROR(ReadScenario());
    RETURN_IF_ERROR(ReadSizes());
    RETURN_IF_ERROR(ReadFormats());
    return Finish();
  }

 private:
  absl::Status ReadCount(const char* column, int* value) const {
    ASSIGN_OR_RETURN(const int64_t count, row_.Whole(column, 1, kMost));
    *value = static_cast<int>(count);
    return absl::OkStatus();
  }
  absl::Status ReadOptional(const char* column, int* value) const {
    if (!row_.Has(column)) return absl::OkStatus();
    return ReadCount(column, value);
  }

  // What was measured, and how requests came.
  absl::Status ReadScenario() {
    const std::string text = row_.Text("scenario");
    const auto says = [&](const char* word) {
      return absl::StrContains(text, word);
    };
    if (row_.Has("request_rate") || says("online")) {
      return row_.Wrong(row_.Has("request_rate") ? "request_rate" : "scenario",
                        "unset: a rate of arrivals needs a simulation of "
                        "serving, with its queue");
    }
    if (row_.Has("concurrency")) {
      return row_.Wrong("concurrency",
                        "unset: users in a closed loop need a simulation of "
                        "serving, with its queue");
    }
    halves_ = says("two micro-batches");
    if (says("max throughput")) {
      quantity_ = InferenceQuantity::kOutputRate;
    } else if (absl::StartsWith(text, "prefill")) {
      quantity_ = InferenceQuantity::kPrefillRate;
    } else if (says("prefill")) {
      quantity_ = InferenceQuantity::kFirstToken;
    } else if (says("decode")) {
      quantity_ = InferenceQuantity::kPerToken;
    } else if (says("static batch")) {
      quantity_ = InferenceQuantity::kEndToEnd;
    } else {
      return row_.Wrong("scenario",
                        "one of static batch, prefill, decode or offline max "
                        "throughput");
    }
    return absl::OkStatus();
  }

  absl::Status ReadSizes() {
    RETURN_IF_ERROR(ReadCount("num_gpus", &chips_));
    RETURN_IF_ERROR(ReadCount("tp", &tensor_));
    RETURN_IF_ERROR(ReadOptional("pp", &pipeline_));
    RETURN_IF_ERROR(ReadOptional("dp_attn", &data_));
    RETURN_IF_ERROR(ReadOptional("ep", &expert_));
    RETURN_IF_ERROR(ReadOptional("num_requests", &requests_));
    if (int64_t{tensor_} * pipeline_ * data_ != chips_) {
      return row_.Wrong("num_gpus", "tp x pp x dp_attn");
    }
    RETURN_IF_ERROR(ReadCount("input_len", &prompt_));
    output_ = 1;
    RETURN_IF_ERROR(ReadOptional("output_len", &output_));
    batch_ = 1;
    if (quantity_ == InferenceQuantity::kPrefillRate &&
        !row_.Has("batch_size")) {
      // "16K tokens per GPU".
      const std::string text = row_.Text("scenario");
      const size_t at = text.find("K tokens per GPU");
      int thousands = 0;
      const size_t from = text.rfind(' ', at) + 1;
      if (at == std::string::npos ||
          !absl::SimpleAtoi(text.substr(from, at - from), &thousands)) {
        return row_.Wrong("batch_size", "set");
      }
      batch_ = thousands * 1024 / prompt_;
      if (batch_ < 1) return row_.Wrong("input_len", "within a step");
    } else if (quantity_ != InferenceQuantity::kOutputRate) {
      RETURN_IF_ERROR(ReadCount("batch_size", &batch_));
    }
    batch_ *= data_;
    return absl::OkStatus();
  }

  absl::Status ReadFormats() {
    ASSIGN_OR_RETURN(weight_, row_.Format("weight_precision"));
    const bool whole = weight_ == DType::kInt8 || weight_ == DType::kInt4;
    precision_ = whole ? DType::kBf16 : weight_;
    cache_ = whole || weight_ == DType::kFp4 ? DType::kBf16 : weight_;
    if (row_.Has("kv_precision")) {
      ASSIGN_OR_RETURN(cache_, row_.Format("kv_precision"));
    } else if (weight_ == DType::kFp8) {
      cache_ = DType::kBf16;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Model(const Catalog& catalog) const {
    std::string name = row_.Text("model");
    if (catalog.Has("models", name)) return name;
    name = SpelledAsPreset(name);
    for (const auto& [alias, preset] : kModels) {
      if (name == alias) name = std::string(preset);
    }
    if (catalog.Has("models", name)) return name;
    return row_.Wrong("model",
                      "the name of a preset ('orrery list models' shows them), "
                      "in any spelling");
  }

  absl::StatusOr<std::string> Engine() const {
    const std::string text = row_.Text("framework");
    std::string known;
    for (const auto& [name, preset] : kEngines) {
      if (absl::StartsWith(text, name)) return std::string(preset);
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
    return row_.Wrong("framework", "one of " + known);
  }

  absl::StatusOr<std::string> System() const {
    if (const auto named = row_.Get("system")) return *named;
    for (const MeasurementRow& known : rules_.systems.rows()) {
      if (known.Text("hardware") == row_.Text("hardware")) {
        return known.Text("system");
      }
    }
    return row_.Wrong("hardware",
                      "that of a known system (a column 'system' may name a "
                      "preset instead)");
  }

  // What the row's source says of how it ran.
  std::vector<std::string> Sets() const {
    std::vector<std::string> sets;
    for (const MeasurementRow& run : rules_.runs.rows()) {
      const bool fits = std::all_of(
          std::begin(kRunColumns), std::end(kRunColumns),
          [&](const char* column) {
            return absl::StartsWith(row_.Text(column), run.Text(column));
          });
      const std::string until = run.Text("until");
      const std::string year = row_.Text("date").substr(0, 4);
      if (!fits || (!until.empty() && (year.empty() || year > until))) continue;
      for (const absl::string_view set :
           absl::StrSplit(run.Text("set"), "; ", absl::SkipEmpty())) {
        sets.emplace_back(set);
      }
    }
    return sets;
  }

  std::string Fraction() const {
    constexpr std::string_view kWords = "KV memory fraction ";
    const std::string notes = row_.Text("notes");
    const size_t at = notes.find(kWords);
    if (at == std::string::npos) return "";
    double fraction = 0;
    std::string text = notes.substr(at + kWords.size());
    text = text.substr(0, text.find_first_not_of("0123456789."));
    if (!absl::SimpleAtod(text, &fraction)) return "";
    return fmt::format("memory_fraction: {}", fraction);
  }

  absl::StatusOr<ResolvedScenario> Scenario() const {
    const Catalog catalog;
    ASSIGN_OR_RETURN(const std::string model, Model(catalog));
    ASSIGN_OR_RETURN(const std::string engine, Engine());
    ASSIGN_OR_RETURN(const std::string system, System());
    ASSIGN_OR_RETURN(const pb::System machine, catalog.System(system));
    // A part of a node is a smaller node.
    const int node = std::min(chips_, machine.chips_per_node());
    if (chips_ % node != 0) {
      return row_.Wrong(
          "num_gpus",
          fmt::format("a multiple of {}, a node of {}", node, system));
    }
    const bool decodes = quantity_ == InferenceQuantity::kPerToken;
    const std::string text = fmt::format(
        R"(name: "{}"
        model {{ preset: "{}" }}
        system {{ preset: "{}" nodes: {} chips_per_node: {} }}
        inference {{ batch: {} prompt: {} output: {}
          parallel {{ tensor: {} pipeline: {} data: {} expert: {}
            expert_tensor: {} }}
          precision: {} kv_precision: {} {} {}
          overlap_halves: {}
          engine {{ preset: "{}" {} }} }})",
        absl::CEscape(row_.id()), model, absl::CEscape(system), chips_ / node,
        node, batch_, prompt_, decodes && output_ == 1 ? 2 : output_, tensor_,
        pipeline_, data_, expert_, expert_ > 1 ? 1 : tensor_, Name(precision_),
        Name(cache_),
        weight_ != precision_
            ? fmt::format("weight_precision: {}", Name(weight_))
            : "",
        expert_ > 1 && weight_ == DType::kFp8 ? "dispatch_precision: FP8" : "",
        halves_, engine, Fraction());
    ASSIGN_OR_RETURN(
        pb::Scenario proto,
        ResolveScenarioText(catalog, text, "as a scenario", Sets()));
    if (proto.model().moe().experts() == 0) {
      proto.mutable_inference()->mutable_parallel()->set_expert_tensor(1);
    }
    // TensorRT-LLM attends to all tokens unless max_attention_window_size says
    // otherwise, whatever window a model was trained with
    // (triton-inference-server/tensorrtllm_backend, docs/model_config.md:
    // "default=max_sequence_length"). No row of a table says so.
    if (absl::StartsWith(engine, "tensorrt_llm") &&
        !proto.model().attention().has_global_every()) {
      proto.mutable_model()->mutable_attention()->clear_window();
    }
    ASSIGN_OR_RETURN(ResolvedScenario made, MakeScenario(std::move(proto)));
    if (engine != "tensorrt_llm_pytorch" || requests_ == 0) return made;
    return RunByTrtllmBench(made);
  }

  absl::StatusOr<InferenceRow> Finish() {
    double measured = 0;
    double rate = 0;
    const auto seconds = [&](const char* column) -> absl::Status {
      ASSIGN_OR_RETURN(measured, row_.Positive(column));
      measured /= 1000;
      return absl::OkStatus();
    };
    switch (quantity_) {
      case InferenceQuantity::kEndToEnd:
        RETURN_IF_ERROR(seconds("e2e_latency_ms"));
        break;
      case InferenceQuantity::kFirstToken:
        RETURN_IF_ERROR(seconds("ttft_ms"));
        break;
      case InferenceQuantity::kPerToken:
        RETURN_IF_ERROR(seconds("tpot_ms"));
        break;
      case InferenceQuantity::kOutputRate: {
        ASSIGN_OR_RETURN(rate, row_.Positive("out_tok_s_total"));
        break;
      }
      case InferenceQuantity::kPrefillRate: {
        ASSIGN_OR_RETURN(rate, row_.Positive("in_tok_s_total"));
        break;
      }
    }
    ASSIGN_OR_RETURN(ResolvedScenario scenario, Scenario());
    return InferenceRow{
        .model = row_.Text("model"),
        .plan = fmt::format("{} x {}, TP {}{}, {}{} + {}, {}", chips_,
                            scenario.system.chip().name(), tensor_,
                            expert_ > 1 ? fmt::format(" EP {}", expert_) : "",
                            quantity_ == InferenceQuantity::kOutputRate
                                ? ""
                                : fmt::format("batch {}, ", batch_),
                            prompt_, output_, Name(weight_)),
        .quantity = quantity_,
        .measured_s = measured,
        .measured_rate = rate,
        .requests = requests_,
        .scenario = std::move(scenario)};
  }

  const MeasurementRow& row_;
  const InferenceRules& rules_;
  InferenceQuantity quantity_{};
  bool halves_ = false;
  int chips_ = 1, tensor_ = 1, pipeline_ = 1, data_ = 1, expert_ = 1;
  int prompt_ = 1, output_ = 1, batch_ = 1, requests_ = 0;
  DType weight_ = DType::kBf16;
  DType precision_ = DType::kBf16;
  DType cache_ = DType::kBf16;
};

}  // namespace

std::string_view Name(InferenceQuantity quantity) {
  switch (quantity) {
    case InferenceQuantity::kEndToEnd:
      return "end to end";
    case InferenceQuantity::kFirstToken:
      return "first token";
    case InferenceQuantity::kPerToken:
      return "per token";
    case InferenceQuantity::kOutputRate:
      return "output rate";
    case InferenceQuantity::kPrefillRate:
      return "prefill rate";
  }
  CHECK(false) << "no such quantity";
  return {};
}

absl::StatusOr<MeasurementTable> OpenInferenceTable(
    const std::optional<std::string>& file) {
  return MeasurementTable::Open(
      file, "inference.csv",
      {"model", "framework", "weight_precision", "tp", "num_gpus", "scenario",
       "input_len", "system|hardware"});
}

absl::StatusOr<InferenceRules> OpenInferenceRules() {
  ASSIGN_OR_RETURN(MeasurementTable systems,
                   MeasurementTable::Open(std::nullopt, "inference_systems.csv",
                                          {"hardware", "system"}));
  ASSIGN_OR_RETURN(
      MeasurementTable runs,
      MeasurementTable::Open(std::nullopt, "inference_runs.csv",
                             {"framework", "until", "source_id", "model",
                              "weight_precision", "set"}));
  return InferenceRules{std::move(systems), std::move(runs)};
}

absl::StatusOr<InferenceRow> ReadInferenceRow(const MeasurementRow& row,
                                              const InferenceRules& rules) {
  return RowReader(row, rules).Read();
}

}  // namespace orrery
