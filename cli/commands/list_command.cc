// orrery list: the presets there are, one line each.
#include <absl/strings/str_join.h>

#include <algorithm>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/nearest.h"
#include "cli/commands/commands.h"
#include "cli/page/answer.h"
#include "cli/print/json.h"
#include "cli/print/output.h"

namespace orrery {
namespace {

struct Entry {
  std::string kind;
  std::string name;
  std::string description;
};

absl::StatusOr<std::string> Describe(const Catalog& catalog,
                                     const std::string& kind,
                                     const std::string& name) {
  if (kind == "chips") {
    ASSIGN_OR_RETURN(const pb::Chip chip, catalog.Chip(name));
    return chip.description();
  }
  if (kind == "engines") {
    ASSIGN_OR_RETURN(const pb::Engine engine, catalog.Engine(name));
    return engine.description();
  }
  if (kind == "frameworks") {
    ASSIGN_OR_RETURN(const pb::Framework framework, catalog.Framework(name));
    return framework.description();
  }
  if (kind == "kernels") {
    ASSIGN_OR_RETURN(const pb::Kernels kernels, catalog.Kernels(name));
    return kernels.description();
  }
  if (kind == "models") {
    ASSIGN_OR_RETURN(const pb::Model model, catalog.Model(name));
    return model.description();
  }
  if (kind == "studies") {
    ASSIGN_OR_RETURN(const pb::Study study, catalog.Study(name));
    return study.description();
  }
  if (kind == "systems") {
    ASSIGN_OR_RETURN(const pb::System system, catalog.System(name));
    return system.description();
  }
  if (kind == "processes") {
    ASSIGN_OR_RETURN(const pb::Process process, catalog.Process(name));
    return process.description();
  }
  if (kind == "packaging") {
    ASSIGN_OR_RETURN(const pb::Packaging packaging, catalog.Packaging(name));
    return packaging.description();
  }
  if (kind == "packages") {
    ASSIGN_OR_RETURN(const pb::Package package, catalog.Package(name));
    return package.description();
  }
  if (kind == "prices") {
    ASSIGN_OR_RETURN(const pb::PriceList prices, catalog.Prices(name));
    return prices.description();
  }
  if (kind == "cost_models") return "Parameters of a published cost model";
  ASSIGN_OR_RETURN(const pb::Scenario scenario, catalog.Scenario(name));
  return fmt::format("{}: {}",
                     scenario.has_inference() ? "inference" : "training",
                     scenario.description());
}

std::string Table(absl::Span<const Entry> entries) {
  size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, entry.name.size());
  std::string text;
  std::string kind;
  for (const Entry& entry : entries) {
    if (entry.kind != kind) {
      text += fmt::format("{}{}\n", kind.empty() ? "" : "\n", entry.kind);
      kind = entry.kind;
    }
    text += fmt::format("  {:<{}}  {}\n", entry.name, width, entry.description);
  }
  return text;
}

std::string Json(absl::Span<const Entry> entries) {
  std::vector<std::string> rows;
  for (const Entry& entry : entries) {
    rows.push_back(
        fmt::format("  {{\"kind\": {}, \"name\": {}, \"description\": {}}}",
                    JsonString(entry.kind), JsonString(entry.name),
                    JsonString(entry.description)));
  }
  return fmt::format("[\n{}\n]\n", absl::StrJoin(rows, ",\n"));
}

absl::StatusOr<ExitCode> List(const Arguments& arguments) {
  const Catalog catalog;
  std::vector<std::string> kinds = catalog.Kinds();
  if (!arguments.positional().empty()) {
    const std::string& kind = arguments.positional()[0];
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      return absl::InvalidArgumentError(fmt::format(
          "there is no kind '{}' of presets; there are {}{}", Excerpt(kind),
          absl::StrJoin(kinds, ", "), DidYouMean(kind, kinds)));
    }
    kinds = {kind};
  }
  std::vector<Entry> entries;
  for (const std::string& kind : kinds) {
    for (const std::string& name : catalog.Names(kind)) {
      ASSIGN_OR_RETURN(std::string description, Describe(catalog, kind, name));
      entries.push_back({kind, name, std::move(description)});
    }
  }
  ASSIGN_OR_RETURN(const bool print, WriteRows(arguments, Json(entries)));
  return print ? Print(Table(entries)) : ExitCode::kDone;
}

}  // namespace

Command ListCommand() {
  return {
      .name = "list",
      .operands = "[KIND]",
      .min_operands = 0,
      .max_operands = 1,
      .summary =
          "List the presets: models, systems, chips, scenarios, and others.",
      .details = "  orrery list\n  orrery list models --json -",
      .flags = RowsFlags(),
      .run = List};
}

}  // namespace orrery
