// orrery import: models described elsewhere, as ours.
#include "base/excerpt.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/hf_import.h"
#include "catalog/legal.h"
#include "catalog/textproto.h"
#include "cli/commands/commands.h"
#include "cli/print/output.h"
#include "cli/print/parameter_text.h"
#include "workload/model/model.h"

namespace orrery {
namespace {

// "models/Llama-3-8B/config.json" is named after its folder, others after the
// file.
std::string ModelName(const std::string& path) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : path) {
    if (c == '/') {
      if (!part.empty()) parts.push_back(part);
      part.clear();
    } else {
      part += c;
    }
  }
  const std::string file = part.substr(0, part.rfind('.'));
  if (file == "config" && !parts.empty() && parts.back() != ".") {
    return parts.back();
  }
  return file.empty() ? "imported" : file;
}

absl::StatusOr<ExitCode> Import(const Arguments& arguments) {
  const std::string& format = arguments.positional()[0];
  const std::string& path = arguments.positional()[1];
  if (format != "hf") {
    return absl::InvalidArgumentError(fmt::format(
        "cannot import '{}'; the one known format is hf (a Hugging Face "
        "config.json)",
        Excerpt(format)));
  }
  ASSIGN_OR_RETURN(const std::string text,
                   ReadFile(path == "-" ? "/dev/stdin" : path));
  const std::string name = arguments.Get("name").value_or(ModelName(path));
  const absl::StatusOr<pb::Model> model = ImportHuggingFace(text, name);
  if (!model.ok()) return Annotate(model.status(), path);
  // What is read again as a model must be one that can be read.
  RETURN_IF_ERROR(Annotate(CheckLegal(*model, "model"), path));
  const absl::StatusOr<Model> valid = Model::FromProto(*model);
  if (!valid.ok()) return Annotate(valid.status(), path);
  return Print(fmt::format(
      "# proto-file: proto/model.proto\n# proto-message: Model\n{}{}",
      ParameterComment(*valid), PrintTextproto(*model)));
}

}  // namespace

Command ImportCommand() {
  return {.name = "import",
          .operands = "hf FILE",
          .min_operands = 2,
          .max_operands = 2,
          .summary = "Turn a Hugging Face config.json into a model.",
          .details =
              "Prints the model as textproto: put it into a scenario's "
              "model { ... } block.\n\n"
              "  orrery import hf Llama-3-8B/config.json > llama.textproto",
          .flags = {{.name = "name",
                     .value = "NAME",
                     .help = "name of the model (default: from the path)"}},
          .run = Import};
}

}  // namespace orrery
