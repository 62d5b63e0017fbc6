#include "accuracy/training/training_columns.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <utility>

#include "base/format.h"
#include "base/status.h"

namespace orrery {
namespace {

using pb::Training;

constexpr int64_t kMost = 1'000'000'000;

absl::Status ReadCount(const MeasurementRow& row, const char* column,
                       int* value) {
  ASSIGN_OR_RETURN(const int64_t count, row.Whole(column, 1, kMost));
  *value = static_cast<int>(count);
  return absl::OkStatus();
}

absl::Status ReadOptional(const MeasurementRow& row, const char* column,
                          int* value) {
  return row.Has(column) ? ReadCount(row, column, value) : absl::OkStatus();
}

absl::Status ReadSizes(const MeasurementRow& row, TrainingColumns* to) {
  const std::pair<const char*, int*> needed[] = {
      {"layers", &to->layers},
      {"hidden", &to->hidden},
      {"heads", &to->heads},
      {"ffn", &to->width},
      {"vocab", &to->vocabulary},
      {"seq_len", &to->sequence},
      {"global_batch", &to->global_batch},
      {"tp", &to->tensor},
      {"pp", &to->pipeline},
      {"num_gpus", &to->chips}};
  for (const auto& [column, value] : needed) {
    RETURN_IF_ERROR(ReadCount(row, column, value));
  }
  to->kv_heads = to->heads;
  RETURN_IF_ERROR(ReadOptional(row, "kv_heads", &to->kv_heads));
  if (to->heads % to->kv_heads != 0) {
    return row.Wrong("kv_heads", "a divisor of heads");
  }
  if (row.Has("micro_batch")) {
    RETURN_IF_ERROR(ReadCount(row, "micro_batch", &to->micro_batch.emplace()));
  }
  if (row.Has("gpus_per_node")) {
    RETURN_IF_ERROR(
        ReadCount(row, "gpus_per_node", &to->chips_per_node.emplace()));
  }
  return absl::OkStatus();
}

// "ICI within slice, DCN between 4 slice(s)".
absl::Status ReadSlices(const MeasurementRow& row, TrainingColumns* to) {
  const std::string text = row.Text("interconnect");
  const size_t at = text.find(" slice(s)");
  if (at == std::string::npos) return absl::OkStatus();
  const size_t space = text.rfind(' ', at - 1);
  const std::string number = text.substr(space + 1, at - space - 1);
  if (!absl::SimpleAtoi(number, &to->slices) || to->slices < 1 ||
      to->chips % to->slices != 0) {
    return row.Wrong("interconnect", "of slices that divide num_gpus");
  }
  return absl::OkStatus();
}

absl::Status ReadDegrees(const MeasurementRow& row,
                         const FrameworkRule& framework, TrainingColumns* to) {
  RETURN_IF_ERROR(ReadOptional(row, "cp", &to->context));
  RETURN_IF_ERROR(ReadOptional(row, "ep", &to->expert));
  const int64_t split = int64_t{to->tensor} * to->pipeline * to->context;
  if (split > to->chips || to->chips % split != 0) {
    return row.Wrong("num_gpus", "a multiple of tp x pp x cp");
  }
  to->data = static_cast<int>(to->chips / split);
  if (row.Has("dp")) {
    int stated = 0;
    RETURN_IF_ERROR(ReadCount(row, "dp", &stated));
    if (stated != to->data) {
      return row.Wrong("dp",
                       fmt::format("num_gpus / (tp x pp x cp) = {}", to->data));
    }
  }
  if (row.Has("vp")) return ReadCount(row, "vp", &to->virtual_stages);
  if (!framework.interleaves || to->pipeline == 1 ||
      to->layers % to->pipeline != 0) {
    return absl::OkStatus();
  }
  const int stage = to->layers / to->pipeline;
  for (int pieces = 2; pieces <= stage; ++pieces) {
    if (stage % pieces == 0) {
      to->virtual_stages = pieces;
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status ReadSharding(const MeasurementRow& row,
                          const FrameworkRule& framework, TrainingColumns* to) {
  if (row.Has("zero_stage")) {
    ASSIGN_OR_RETURN(to->sharding,
                     row.Choice<Training::Sharding>("zero_stage",
                                                    {{"0", Training::ZERO_0},
                                                     {"1", Training::ZERO_1},
                                                     {"2", Training::ZERO_2},
                                                     {"3", Training::ZERO_3}}));
    return absl::OkStatus();
  }
  constexpr absl::string_view kMegatronFsdp = "megatron-fsdp ";
  std::string text = row.Get("sharding").value_or(framework.sharding);
  if (absl::StartsWith(text, kMegatronFsdp)) {
    to->sharding = Training::ZERO_3;
    if (!absl::SimpleAtoi(text.substr(kMegatronFsdp.size()),
                          &to->sharding_group.emplace()) ||
        *to->sharding_group < 1) {
      return row.Wrong("sharding", "megatron-fsdp with a number of ranks");
    }
    return absl::OkStatus();
  }
  if (absl::StartsWith(text, "fsdp within slice")) {
    to->sharding = Training::ZERO_3;
    if (to->slices > 1 && to->data % to->slices == 0) {
      to->sharding_group = to->data / to->slices;
    }
    return absl::OkStatus();
  }
  if (!row.Has("sharding")) {
    to->sharding = text == "zero1" ? Training::ZERO_1 : Training::ZERO_0;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(to->sharding,
                   row.Choice<Training::Sharding>(
                       "sharding", {{"none", Training::ZERO_0},
                                    {"zero1", Training::ZERO_1},
                                    {"distributed optimizer", Training::ZERO_1},
                                    {"zero2", Training::ZERO_2},
                                    {"zero3", Training::ZERO_3},
                                    {"fsdp", Training::ZERO_3},
                                    {"fsdp2", Training::ZERO_3},
                                    {"fsdp FULL_SHARD", Training::ZERO_3}}));
  return absl::OkStatus();
}

// The words of recipes for what is recomputed.
absl::Status ReadRecompute(const MeasurementRow& row, TrainingColumns* to) {
  constexpr absl::string_view kModules = "selective: ";
  const std::string text = row.Text("recompute");
  using Module = Training::Module;
  const auto modules = [&](std::vector<Module> chosen) {
    to->recompute = Training::RECOMPUTE_PER_MODULE;
    to->modules = std::move(chosen);
    return absl::OkStatus();
  };
  if (absl::StartsWith(text, kModules)) {
    std::vector<Module> chosen;
    const std::string names(absl::StripPrefix(text, kModules));
    const std::string list = names.substr(0, names.find(" ("));
    for (absl::string_view name : absl::StrSplit(list, ", ")) {
      // Of alternatives the first: "mla_up_proj or mlp", "a/b or none".
      name = name.substr(0, name.find(" or "));
      name = name.substr(0, name.find('/'));
      if (name == "mla_up_proj") {
        chosen.push_back(Training::MLA_UP_PROJECTION);
      } else if (name == "mlp") {
        chosen.push_back(Training::MLP);
      } else if (name == "moe_act") {
        chosen.push_back(Training::MLP_ACTIVATION);
      } else if (name == "layernorm") {
        chosen.push_back(Training::NORM);
      } else if (name == "core_attn") {
        chosen.push_back(Training::ATTENTION_CORE);
      } else {
        return row.Wrong("recompute", "of modules we know");
      }
    }
    return modules(std::move(chosen));
  }
  // "full on 5 of 32 layers": of each stage, as the recipes count.
  constexpr absl::string_view kSome = "full on ";
  if (absl::StartsWith(text, kSome)) {
    const std::string count =
        text.substr(kSome.size(), text.find(" of ") - kSome.size());
    if (!absl::SimpleAtoi(count, &to->recompute_layers.emplace()) ||
        *to->recompute_layers < 1) {
      return row.Wrong("recompute", "full on a number of layers");
    }
    to->recompute = Training::RECOMPUTE_FULL;
    return absl::OkStatus();
  }
  if (absl::StartsWith(text, "recipe default") ||
      absl::StartsWith(text, "none/selective")) {
    return absl::OkStatus();
  }
  // MaxText: "minimal" keeps the products' outputs; "custom" and
  // "qkv_proj_offloaded" keep queries, keys and values, on the host.
  if (text == "minimal") {
    return modules(
        {Training::ATTENTION_CORE, Training::NORM, Training::MLP_ACTIVATION});
  }
  if (text == "custom" || text == "qkv_proj_offloaded") {
    return modules({Training::ATTENTION_CORE, Training::NORM, Training::MLP});
  }
  ASSIGN_OR_RETURN(
      to->recompute,
      row.Choice<Training::Recompute>(
          "recompute", {{"none", Training::RECOMPUTE_NONE},
                        {"selective", Training::RECOMPUTE_SELECTIVE},
                        {"full", Training::RECOMPUTE_FULL},
                        {"per op", Training::RECOMPUTE_PER_OP},
                        {"", Training::RECOMPUTE_NONE}}));
  return absl::OkStatus();
}

absl::Status ReadChoices(const MeasurementRow& row,
                         const FrameworkRule& framework, TrainingColumns* to) {
  enum class Sequence { kNo, kYes, kIfTensor };
  Sequence sequence = framework.sequence_parallel == "yes if TP>1"
                          ? Sequence::kIfTensor
                          : Sequence::kNo;
  if (row.Has("seq_parallel")) {
    ASSIGN_OR_RETURN(
        sequence, row.Choice<Sequence>("seq_parallel",
                                       {{"yes", Sequence::kYes},
                                        {"no", Sequence::kNo},
                                        {"yes if TP>1", Sequence::kIfTensor}}));
  }
  to->sequence_parallel = sequence == Sequence::kYes ||
                          (sequence == Sequence::kIfTensor && to->tensor > 1);
  RETURN_IF_ERROR(ReadSharding(row, framework, to));
  RETURN_IF_ERROR(ReadRecompute(row, to));
  if (row.Has("zero_stage")) to->precision = DType::kBf16;
  if (row.Text("precision") == "amp_bf16") {
    // Composer reduces what autocast computed in FP32.
    to->precision = DType::kBf16;
    to->gradient = DType::kFp32;
  } else if (absl::StrContains(row.Text("precision"), "fp8")) {
    to->precision = DType::kFp8;  // "mxfp8", "fp8-cs"
  } else if (row.Has("precision")) {
    ASSIGN_OR_RETURN(to->precision, row.Format("precision"));
    if (absl::StrContains(row.Text("precision"), "fp32 grad")) {
      to->gradient = DType::kFp32;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainingColumns> TrainingColumns::Read(
    const MeasurementRow& row, const FrameworkRule& framework) {
  TrainingColumns columns;
  RETURN_IF_ERROR(ReadSizes(row, &columns));
  RETURN_IF_ERROR(ReadSlices(row, &columns));
  RETURN_IF_ERROR(ReadDegrees(row, framework, &columns));
  RETURN_IF_ERROR(ReadChoices(row, framework, &columns));
  return columns;
}

}  // namespace orrery
