// orrery new: a scenario to start from, with comments.
#include <absl/strings/str_cat.h>

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/preset_file.h"
#include "catalog/resolve.h"
#include "cli/commands/commands.h"
#include "cli/flags/number_flags.h"
#include "cli/flags/scenario.h"
#include "cli/print/output.h"
#include "proto/inference.pb.h"
#include "proto/system.pb.h"
#include "proto/training.pb.h"
#include "run/scenario.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

// What the flags say; numbers have defaults that a first scenario can have.
struct Wishes {
  std::string model;
  std::string system;
  int64_t nodes = 1;
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t batch = 1;
  int64_t micro_batch = 1;
  int64_t sequence = 4096;
  int64_t output = 256;
};

// What could not be read is added to `wrong`.
Wishes ReadWishes(const Arguments& arguments, bool serves, Violations* wrong) {
  Wishes w;
  w.model = arguments.Get("model").value_or("llama3_8b");
  w.system = arguments.Get("system").value_or("dgx_h100_ib400");
  const gp::Descriptor& parallel = *pb::Parallel::descriptor();
  const gp::Descriptor& job =
      serves ? *pb::Inference::descriptor() : *pb::Training::descriptor();
  const auto read = [&](const char* flag, const gp::Descriptor& message,
                        const char* field, int64_t* to) {
    *to = wrong->Take(FieldFlag(arguments, flag, message, field, *to));
  };
  read("nodes", *pb::System::descriptor(), "nodes", &w.nodes);
  read("tensor", parallel, "tensor", &w.tensor);
  read("pipeline", parallel, "pipeline", &w.pipeline);
  w.batch = serves ? 32 : 64 * w.nodes;
  read("batch", job, serves ? "batch" : "global_batch", &w.batch);
  w.sequence = serves ? 1024 : 4096;
  read("sequence", job, serves ? "prompt" : "sequence", &w.sequence);
  if (serves) {
    read("output", job, "output", &w.output);
  } else {
    read("micro-batch", job, "micro_batch", &w.micro_batch);
  }
  return w;
}

// Every replica gets as many sequences, and whole micro-batches of them. Other
// mistakes are left to the scenario's own checks.
absl::Status CheckBatch(const Wishes& w, bool serves,
                        const pb::System& system) {
  const int64_t chips = w.nodes * system.chips_per_node();
  const int64_t ranks = w.tensor * w.pipeline;
  if (chips <= 0 || chips % ranks != 0) return absl::OkStatus();
  const int64_t unit = chips / ranks * (serves ? 1 : w.micro_batch);
  if (w.batch % unit == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "--batch {} is not a multiple of the {} replicas{}; write for example "
      "--batch {}",
      w.batch, chips / ranks,
      serves ? "" : fmt::format(" x --micro-batch {}", w.micro_batch),
      (w.batch / unit + 1) * unit));
}

std::string Machine(const Wishes& w, const std::string& name) {
  return fmt::format(
      "# proto-file: proto/scenario.proto\n"
      "# proto-message: Scenario\n"
      "# Simulate it:  orrery simulate {0}\n"
      "# See every default that is filled in:  orrery show {0}\n"
      "# Any field can be set from outside, too:  --set "
      "training.micro_batch=2\n"
      "\n"
      "# A preset ('orrery list models'), or a file; fields of it may be set "
      "here.\n"
      "model {{ preset: \"{1}\" }}\n"
      "# A machine ('orrery list systems'), and how many nodes of it.\n"
      "system {{ preset: \"{2}\" nodes: {3} }}\n",
      name, w.model, w.system, w.nodes);
}

std::string TrainingText(const Wishes& w) {
  return fmt::format(
      "\ntraining {{\n"
      "  # Sequences of a step, of a pass, and tokens of a sequence.\n"
      "  global_batch: {}\n  micro_batch: {}\n  sequence: {}\n"
      "  # Degrees; data ranks take the chips that are left. 'orrery tune' "
      "finds better ones.\n"
      "  parallel {{ tensor: {} pipeline: {} }}\n"
      "  # ONE_F_ONE_B, INTERLEAVED_1F1B (with virtual_stages), ZB_H1, ZB_V, "
      "DUAL_PIPE, GPIPE\n"
      "  schedule: ONE_F_ONE_B\n"
      "  # ZERO_0 (nothing) to ZERO_3 (optimizer, gradients and weights)\n"
      "  sharding: ZERO_1\n"
      "  # RECOMPUTE_NONE, RECOMPUTE_SELECTIVE (attention), RECOMPUTE_FULL\n"
      "  recompute: RECOMPUTE_NONE\n"
      "  # Of matrix products: BF16, FP8, ...\n"
      "  precision: BF16\n"
      "}}\n",
      w.batch, w.micro_batch, w.sequence, w.tensor, w.pipeline);
}

std::string InferenceText(const Wishes& w) {
  return fmt::format(
      "\ninference {{\n"
      "  # Sequences at a time, over all replicas; tokens in and out of each.\n"
      "  batch: {}\n  prompt: {}\n  output: {}\n"
      "  # Degrees; replicas (data) take the chips that are left.\n"
      "  parallel {{ tensor: {} pipeline: {} }}\n"
      "  # Of matrix products, and of the cache.\n"
      "  precision: BF16\n  kv_precision: BF16\n"
      "  # The software ('orrery list engines').\n"
      "  engine {{ preset: \"vllm\" }}\n"
      "}}\n",
      w.batch, w.sequence, w.output, w.tensor, w.pipeline);
}

absl::StatusOr<ExitCode> WriteScenario(const Arguments& arguments) {
  const std::string& file = arguments.positional()[0];
  const bool serves = arguments.Has("inference");
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    return absl::InvalidArgumentError(fmt::format(
        "new: '{}' is a folder; name a file in it, such as {}mine.textproto",
        file, absl::StrCat(file, file.back() == '/' ? "" : "/")));
  }
  for (const char* flag : {"output", "micro-batch"}) {
    if (!arguments.Has(flag) || serves == (std::string(flag) == "output")) {
      continue;
    }
    return absl::InvalidArgumentError(fmt::format(
        "--{} is for {}", flag, serves ? "training" : "--inference"));
  }
  Violations wrong;
  const Wishes wishes = ReadWishes(arguments, serves, &wrong);
  const Catalog catalog;
  if (!LooksLikePath(wishes.model)) {
    wrong.Add(catalog.Model(wishes.model).status(), "--model");
  }
  if (!LooksLikePath(wishes.system)) {
    wrong.Add(catalog.System(wishes.system).status(), "--system");
  }
  RETURN_IF_ERROR(wrong.ToStatus());
  const std::string text =
      Machine(wishes, file) +
      (serves ? InferenceText(wishes) : TrainingText(wishes));
  // It must be legal before anybody relies on it.
  ASSIGN_OR_RETURN(pb::Scenario scenario,
                   ResolveScenarioText(catalog, text, file, {}));
  RETURN_IF_ERROR(CheckBatch(wishes, serves, scenario.system()));
  absl::StatusOr<ResolvedScenario> legal = MakeScenario(std::move(scenario));
  if (!legal.ok()) return Annotate(legal.status(), "new");
  if (file != "-" && std::filesystem::exists(file, error)) {
    return absl::InvalidArgumentError(fmt::format(
        "new: '{}' is there already; remove it or write another", file));
  }
  RETURN_IF_ERROR(WriteFile(file, text));
  return ExitCode::kDone;
}

Flag Number(absl::string_view name, absl::string_view help) {
  return {.name = name, .value = "N", .help = help};
}

}  // namespace

Command NewCommand() {
  return {.name = "new",
          .operands = "FILE",
          .min_operands = 1,
          .max_operands = 1,
          .summary = "Write a scenario to start from, with comments.",
          .details =
              "Checked before it is written (- is stdout): what the model and "
              "the machine do not\nallow is refused with the reason.\n\n"
              "  orrery new mine.textproto --model llama3_70b --nodes 8 "
              "--tensor 8\n"
              "  orrery new serve.textproto --inference --model llama3_70b "
              "--tensor 8",
          .flags = {{.name = "model",
                     .value = "NAME",
                     .help = "a preset or a file (llama3_8b)"},
                    {.name = "system",
                     .value = "NAME",
                     .help = "a preset or a file (dgx_h100_ib400)"},
                    {.name = "inference",
                     .value = "",
                     .help = "serve requests instead of training"},
                    Number("nodes", "of the machine (1)"),
                    Number("tensor", "ranks that split every layer (1)"),
                    Number("pipeline", "stages (1)"),
                    Number("batch", "sequences of a step, or at a time"),
                    Number("micro-batch", "sequences of a pass (1)"),
                    Number("sequence", "tokens of a sequence, or of a prompt"),
                    Number("output", "inference: tokens to generate (256)")},
          .run = WriteScenario};
}

}  // namespace orrery
