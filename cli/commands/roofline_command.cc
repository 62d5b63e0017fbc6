// orrery roofline: every op of a layer, timed by itself.
#include <string>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/scenario_parts.h"
#include "cli/commands/commands.h"
#include "cli/flags/chip_flags.h"
#include "cli/flags/number_flags.h"
#include "cli/page/answer.h"
#include "cli/print/op_table.h"
#include "cli/print/output.h"
#include "cost/kernel/op_size.h"
#include "cost/kernel/roofline.h"
#include "proto/model.pb.h"
#include "run/chip_with_kernels.h"
#include "workload/model/layer.h"

namespace orrery {
namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 40;

absl::StatusOr<LayerShape> ReadShape(const Arguments& arguments,
                                     const Model& model) {
  LayerShape shape;
  SequenceGroup group;
  ASSIGN_OR_RETURN(group.count, CountFlag(arguments, "batch", 1));
  ASSIGN_OR_RETURN(group.queries, CountFlag(arguments, "sequence", 4096));
  ASSIGN_OR_RETURN(const int64_t tensor, CountFlag(arguments, "tensor", 1));
  ASSIGN_OR_RETURN(shape.precision,
                   DTypeFlag(arguments, "dtype", DType::kBf16));
  if (group.count > kMaxTokens / group.queries) {
    return absl::InvalidArgumentError(
        "--batch times --sequence must be at most 2^40");
  }
  if (tensor > model.attention().heads ||
      model.attention().heads % tensor != 0 || model.hidden() % tensor != 0) {
    return absl::InvalidArgumentError(fmt::format(
        "--tensor {} must divide the model's {} heads and hidden size {}",
        tensor, model.attention().heads, model.hidden()));
  }
  shape.tensor = static_cast<int>(tensor);
  shape.expert_tensor = shape.tensor;
  if (Bits(shape.precision) > 16) shape.activation = shape.precision;
  if (arguments.Has("decode")) {
    RETURN_IF_ERROR(RefuseFlags(arguments, {"forward"},
                                "--decode, which has no gradients"));
    // One new token after a context of --sequence.
    shape.purpose = PassPurpose::kDecode;
    group = {.count = group.count, .queries = 1, .cached = group.queries - 1};
    shape.fusion = Fusion::kResidualNorm;
  }
  shape.groups = {group};
  return shape;
}

absl::StatusOr<ExitCode> Roofline(const Arguments& arguments) {
  const auto chip_name = arguments.Get("chip");
  const auto model_name = arguments.Get("model");
  if (!chip_name.has_value() || !model_name.has_value()) {
    return absl::InvalidArgumentError(
        "--chip and --model are needed ('orrery list' shows the presets)");
  }
  ASSIGN_OR_RETURN(const ChipWithKernels on,
                   LoadChip(*chip_name, arguments.Get("library").value_or(""),
                            arguments.All("set")));
  const Chip& chip = on.chip;
  ASSIGN_OR_RETURN(const KernelOptions options,
                   ReadKernelOptions(arguments, chip));
  ASSIGN_OR_RETURN(const KernelTimer timer,
                   KernelTimer::Create(chip, on.kernels, options));
  ASSIGN_OR_RETURN(const pb::Model proto, ResolveModel(Catalog(), *model_name));
  ASSIGN_OR_RETURN(const Model model, Model::FromProto(proto));
  ASSIGN_OR_RETURN(const LayerShape shape, ReadShape(arguments, model));
  RETURN_IF_ERROR(CheckMatrixFormat(shape.precision, chip));
  ASSIGN_OR_RETURN(const int64_t layer,
                   CountFlag(arguments, "layer", model.layers()));
  if (layer > model.layers()) {
    return absl::InvalidArgumentError(
        fmt::format("--layer must be at most {}", model.layers()));
  }
  const LayerOps ops = BuildLayer(model, static_cast<int>(layer) - 1, shape);
  std::vector<OpRow> rows;
  const auto add = [&](const std::vector<LayerStep>& steps) -> absl::Status {
    for (const LayerStep& step : steps) {
      if (step.op() == nullptr) continue;
      RETURN_IF_ERROR(CheckSize(*step.op()));
      rows.push_back(TimeRow(*step.op(), timer, chip));
      RETURN_IF_ERROR(CheckTime(rows.back()));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(add(ops.forward));
  if (!arguments.Has("forward")) {
    RETURN_IF_ERROR(add(ops.input_gradient));
    RETURN_IF_ERROR(add(ops.weight_gradient));
  }
  ASSIGN_OR_RETURN(const bool print, WriteRows(arguments, OpJson(rows)));
  if (!print) return ExitCode::kDone;
  return Print(fmt::format(
      "{} layer {} on {}: ridge at {:.0f} FLOP/B for {}\n\n{}", model.name(),
      layer, chip.name(), RidgePoint(chip, shape.precision),
      Name(shape.precision), OpTable(rows)));
}

}  // namespace

Command RooflineCommand() {
  std::vector<Flag> flags = {
      {.name = "chip", .value = "CHIP", .help = "a chip preset or file"},
      LibraryFlag(),
      {.name = "model", .value = "MODEL", .help = "a model preset or file"},
      {.name = "layer", .value = "N", .help = "counted from 1 (the last)"},
      {.name = "batch", .value = "B", .help = "sequences (1)"},
      {.name = "sequence", .value = "S", .help = "tokens of each (4096)"},
      {.name = "tensor", .value = "T", .help = "tensor-parallel ranks (1)"},
      {.name = "dtype", .value = "FORMAT", .help = "bf16 (default), fp8, ..."},
      {.name = "forward", .value = "", .help = "without the gradients"},
      {.name = "decode",
       .value = "",
       .help = "one new token after a context of --sequence"},
      SetChipFlag()};
  for (const Flag& flag : RowsFlags()) flags.push_back(flag);
  for (const Flag& flag : KernelOptionFlags()) flags.push_back(flag);
  return {.name = "roofline",
          .operands = "",
          .min_operands = 0,
          .max_operands = 0,
          .summary = "Time every op of a layer against the chip's roofline.",
          .details =
              "  orrery roofline --chip h100_sxm --model llama3_8b --sequence "
              "8192\n"
              "  orrery roofline --chip h200_sxm --model deepseek_v3 --decode "
              "--batch 128 --graph",
          .flags = std::move(flags),
          .run = Roofline};
}

}  // namespace orrery
