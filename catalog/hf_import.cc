#include "catalog/hf_import.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/json.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/hf_config.h"
#include "catalog/hf_families.h"
#include "catalog/nearest.h"

namespace orrery {
namespace {

std::string DigitsOf(std::string text) {
  std::erase_if(text, [](char c) { return c < '0' || c > '9'; });
  return text;
}

absl::StatusOr<const HfFamily*> FindFamily(HfConfig& config) {
  const std::string model_type = config.TextOr("model_type", "");
  const std::vector<std::string> architectures = config.Texts("architectures");
  RETURN_IF_ERROR(config.status());
  if (model_type.empty() && architectures.empty()) {
    return absl::InvalidArgumentError(
        "neither 'model_type' nor 'architectures' is there: this is not the "
        "config.json of a model");
  }
  for (const HfFamily& family : HfFamilies()) {
    if (model_type.empty() ? architectures.front() == family.architecture
                           : model_type == family.model_type) {
      return &family;
    }
  }
  const std::string wanted =
      model_type.empty() ? architectures.front() : model_type;
  // Another generation is another architecture: "llama4" is no slip of the
  // keyboard for "llama".
  std::vector<std::string> alike = HuggingFaceModelTypes();
  std::erase_if(alike, [&](const std::string& type) {
    return DigitsOf(type) != DigitsOf(wanted);
  });
  const std::vector<std::string> presets =
      NearestNames(wanted, Catalog().Names("models"));
  return absl::InvalidArgumentError(fmt::format(
      "cannot import model type '{}'{}; known: {}{}", Excerpt(wanted),
      DidYouMean(wanted, alike), absl::StrJoin(HuggingFaceModelTypes(), ", "),
      presets.empty() ? std::string("; begin with a model of 'orrery list "
                                    "models' and say what differs")
                      : fmt::format("; the catalogue has {} ready",
                                    absl::StrJoin(presets, ", "))));
}

}  // namespace

std::vector<std::string> HuggingFaceModelTypes() {
  std::vector<std::string> types;
  for (const HfFamily& family : HfFamilies()) {
    types.emplace_back(family.model_type);
  }
  return types;
}

absl::StatusOr<pb::Model> ImportHuggingFace(absl::string_view json,
                                            absl::string_view name) {
  ASSIGN_OR_RETURN(const JsonValue root, ParseJson(json));
  if (root.object() == nullptr) {
    return absl::InvalidArgumentError(fmt::format(
        "a config.json holds an object, this is {}", root.Describe()));
  }
  HfConfig outer(root);
  ASSIGN_OR_RETURN(const HfFamily* const family, FindFamily(outer));
  // Models that also see images keep the language model's keys inside.
  const JsonValue* text_config = root.Find("text_config");
  const bool nested =
      text_config != nullptr && text_config->object() != nullptr;
  HfConfig config(nested ? *text_config : root);

  pb::Model model;
  model.set_name(std::string(name));
  model.set_description(fmt::format(
      "Imported from a Hugging Face config.json ({})", family->model_type));
  family->read(config, model);
  RETURN_IF_ERROR(config.status());
  pb::Source& source = *model.add_source();
  source.set_title(fmt::format("Hugging Face config.json of {}", name));
  source.set_covers("all");
  return model;
}

}  // namespace orrery
