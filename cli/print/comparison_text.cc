#include "cli/print/comparison_text.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/csv.h"
#include "base/format.h"
#include "base/units_text.h"
#include "cli/print/cost_text.h"
#include "cli/print/tuning_text.h"

namespace orrery {
namespace {

constexpr int kNameWidth = 34;
constexpr size_t kLeastWidth = 12;
constexpr size_t kMostWidth = 26;
// Less rounds to 0.0 %.
constexpr double kWorthSaying = 0.0005;

bool IsMoney(const std::string& field) {
  if (!absl::StartsWith(field, "cost.") ||
      absl::StartsWith(field, "cost.factors[")) {
    return false;
  }
  for (const char* other :
       {"_days", "_steps", "_share", "chips", "_per_chip"}) {
    if (absl::EndsWith(field, other)) return false;
  }
  return true;
}

// By what the schema's names end in or say.
std::string NumberText(const std::string& field, double value) {
  if (absl::EndsWith(field, "_s") && !absl::EndsWith(field, "_per_s")) {
    return SecondsText(value);
  }
  if (absl::EndsWith(field, "_bytes")) {
    return BytesText(static_cast<int64_t>(value));
  }
  if (IsMoney(field)) return DollarsText(value);
  if (absl::EndsWith(field, "fits")) return value != 0 ? "yes" : "NO";
  if (field == "mfu" || field == "hfu" || field == "mfu_causal") {
    return fmt::format("{:.1f} %", 100 * value);
  }
  if (value == std::floor(value) && std::abs(value) < 1e7) {
    return fmt::format("{:.0f}", value);
  }
  return fmt::format("{:.4g}", value);
}

// "breakdown.tensor_exposed_s" is "tensor exposed".
std::string NameText(const std::string& field) {
  std::string name = field.substr(field.find('.') + 1);
  if (absl::EndsWith(name, "_s") && !absl::EndsWith(name, "_per_s")) {
    name.resize(name.size() - 2);
  }
  if (absl::EndsWith(name, "_bytes")) name.resize(name.size() - 6);
  return absl::StrReplaceAll(name, {{"_", " "}});
}

// Titles of what stands before the first dot, in the order of the report.
std::string SectionText(const std::string& field) {
  const size_t dot = field.find('.');
  const std::string section =
      dot == std::string::npos ? "" : field.substr(0, dot);
  if (section.empty()) return "";
  if (section == "breakdown") return "where the time goes";
  if (section == "estimate") return "closed form";
  return section;
}

class SideBySide {
 public:
  explicit SideBySide(const pb::Comparison& comparison)
      : comparison_(comparison) {
    for (const auto& side : comparison.sides()) {
      widths_.push_back(
          std::clamp(side.name().size(), kLeastWidth, kMostWidth));
    }
  }

  std::string Header() const {
    std::string text = std::string(kNameWidth + 2, ' ');
    for (int i = 0; i < comparison_.sides_size(); ++i) {
      const std::string& name = comparison_.sides(i).name();
      const size_t width = widths_[static_cast<size_t>(i)];
      // The end of a path tells more than its beginning.
      const std::string shown =
          name.size() > width ? ".." + name.substr(name.size() - width + 2)
                              : name;
      text += fmt::format("  {:>{}}", shown, width);
    }
    return text + "\n";
  }

  std::string Line(const pb::Comparison::Row& row) const {
    std::string text =
        fmt::format("  {:<{}}", NameText(row.field()), kNameWidth);
    for (int i = 0; i < row.values_size(); ++i) {
      text += fmt::format("  {:>{}}",
                          row.values(i).has_number()
                              ? NumberText(row.field(), row.values(i).number())
                              : "-",
                          widths_[static_cast<size_t>(i)]);
    }
    if (row.values_size() == 2 && row.values(0).number() != 0 &&
        row.values(1).has_number()) {
      const double ratio = row.values(1).number() / row.values(0).number();
      if (std::abs(ratio - 1) >= kWorthSaying) {
        text += fmt::format("  {:+7.1f} %", 100 * (ratio - 1));
      }
    }
    return text + "\n";
  }

 private:
  const pb::Comparison& comparison_;
  std::vector<size_t> widths_;
};

bool AllZero(const pb::Comparison::Row& row) {
  return std::all_of(row.values().begin(), row.values().end(),
                     [](const auto& v) { return v.number() == 0; });
}

std::string CauseText(const pb::Comparison::Cause& cause) {
  std::string text;
  for (int i = 0; i < cause.changes_size(); ++i) {
    text += fmt::format("  {:<66}", cause.changes(i));
    if (i == 0 && cause.has_effect_s()) {
      text += fmt::format(" {:>13}", SignedSecondsText(cause.effect_s()));
    }
    text += "\n";
  }
  if (cause.has_problem()) {
    text +=
        fmt::format("    cannot be measured by itself: {}\n", cause.problem());
  }
  return text;
}

std::string AgainstText(const pb::Comparison& comparison,
                        const pb::Comparison::Against& against) {
  const std::string& first = comparison.sides(0).name();
  const std::string& second = comparison.sides(against.side()).name();
  std::string text = fmt::format(
      "\n{} of {} against {}: {} ({:+.1f} %)\n", comparison.quantity(), second,
      first, SignedSecondsText(against.second_s() - against.first_s()),
      100 * (against.second_s() / against.first_s() - 1));
  if (against.terms_size() > 0) {
    google::protobuf::RepeatedPtrField<pb::Difference> swapped;
    for (const pb::Difference& term : against.terms()) {
      pb::Difference& each = *swapped.Add();
      each.set_term(term.term());
      each.set_first_s(term.second_s());
      each.set_second_s(term.first_s());
    }
    if (comparison.quantity() != "step time") {
      text += "  of the decode step in the middle of the output:\n";
    }
    text +=
        DifferencesText(swapped, comparison.sides(0).report().step_time_s());
  }
  if (against.causes_size() == 0) return text;
  text += fmt::format(
      "differences of the input{}\n",
      against.causes(0).has_effect_s() || against.causes(0).has_problem()
          ? fmt::format(", each applied to {} by itself", first)
          : "");
  for (const auto& cause : against.causes()) text += CauseText(cause);
  if (against.causes_size() > 1 && against.has_together_s()) {
    text += fmt::format("  {:<66} {:>13}\n", "together, beyond that",
                        SignedSecondsText(against.together_s()));
  }
  return text;
}

}  // namespace

std::string ComparisonText(const pb::Comparison& comparison) {
  const SideBySide table(comparison);
  std::string text = table.Header();
  // Sections in the order in which they first appear, the answer itself first.
  std::vector<std::string> order;
  absl::flat_hash_map<std::string, std::string> sections;
  for (const pb::Comparison::Row& row : comparison.rows()) {
    if (AllZero(row)) continue;
    const std::string section = SectionText(row.field());
    const auto [place, is_new] = sections.try_emplace(section);
    if (is_new) order.push_back(section);
    place->second += table.Line(row);
  }
  for (const std::string& section : order) {
    if (!section.empty()) text += section + "\n";
    text += sections[section];
  }
  for (const auto& side : comparison.sides()) {
    if (!side.report().has_trust()) continue;
    text +=
        fmt::format("trust in {}: {}\n", side.name(), side.report().trust());
  }
  for (const auto& against : comparison.against()) {
    text += AgainstText(comparison, against);
  }
  for (const std::string& note : comparison.notes()) {
    text += fmt::format("note: {}\n", note);
  }
  return text;
}

std::string ComparisonCsv(const pb::Comparison& comparison) {
  std::string text = "field";
  for (const auto& side : comparison.sides()) {
    absl::StrAppend(&text, ",", CsvField(side.name()));
  }
  text += "\n";
  for (const pb::Comparison::Row& row : comparison.rows()) {
    absl::StrAppend(&text, CsvField(row.field()));
    for (const auto& value : row.values()) {
      text += ",";
      if (value.has_number()) text += fmt::format("{}", value.number());
    }
    text += "\n";
  }
  return text;
}

}  // namespace orrery
