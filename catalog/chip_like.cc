#include "catalog/chip_like.h"

#include <absl/strings/str_join.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/merge.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

// A chip that lacks fewer fields was meant to say everything.
constexpr int kMissing = 3;

// Fields that say who a chip is, not what it does.
bool IsIdentity(const gp::FieldDescriptor& field) {
  return field.name() == "name" || field.name() == "description" ||
         field.name() == "preset" || field.name() == "like" ||
         field.name() == "source" || field.name() == "vendor" ||
         field.name() == "year";
}

std::optional<double> Bf16Rate(const pb::Chip& chip) {
  for (const pb::Rate& peak : chip.peak()) {
    if (peak.dtype() != pb::BF16) continue;
    const auto rate = ParseFlopsPerSecond(peak.rate());
    if (rate.ok() && rate->value() > 0) return rate->value();
  }
  return std::nullopt;
}

std::optional<double> MemoryRate(const pb::Chip& chip) {
  const auto rate = ParseBytesPerSecond(chip.memory_bandwidth());
  if (!rate.ok() || rate->value() <= 0) return std::nullopt;
  return rate->value();
}

}  // namespace

absl::Status CompleteLike(const Catalog& catalog, pb::Chip* chip) {
  if (!chip->has_like()) {
    if (!chip->has_matrix_efficiency()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "chip.matrix_efficiency: stands beside chip.like only; otherwise set "
        "kernels.matrix_efficiency");
  }
  absl::StatusOr<pb::Chip> base = catalog.Chip(chip->like());
  if (!base.ok()) return Annotate(base.status(), "chip.like");
  if (!chip->has_name() || chip->name() == base->name()) {
    return absl::InvalidArgumentError(fmt::format(
        "chip.name: a chip that is like '{}' needs a name of its own",
        chip->like()));
  }
  std::vector<std::string> taken;
  std::vector<const gp::FieldDescriptor*> fields;
  base->GetReflection()->ListFields(*base, &fields);
  for (const gp::FieldDescriptor* field : fields) {
    const gp::Reflection& own = *chip->GetReflection();
    if (IsIdentity(*field)) {
      base->GetReflection()->ClearField(&*base, field);
      continue;
    }
    const bool said = field->is_repeated() ? own.FieldSize(*chip, field) > 0
                                           : own.HasField(*chip, field);
    if (!said) taken.push_back(field->name());
  }
  // A clock that is not the one its rates were stated at would rescale them.
  if (chip->has_clock() && !chip->has_sustained_clock()) {
    base->clear_sustained_clock();
    std::erase(taken, "sustained_clock");
  }
  if (chip->has_clock() && !chip->has_burst_clock()) {
    base->clear_burst_clock();
    std::erase(taken, "burst_clock");
  }
  if (chip->has_vector_rate() && !chip->has_vector_clock()) {
    base->clear_vector_clock();
    std::erase(taken, "vector_clock");
  }
  MergeOver(*chip, &*base);
  *chip = *std::move(base);
  if (taken.empty()) return absl::OkStatus();
  pb::Source& source = *chip->add_source();
  source.set_title(fmt::format("Taken over from chip {}", chip->like()));
  source.set_covers(absl::StrJoin(taken, ", "));
  source.set_estimate(true);
  return absl::OkStatus();
}

std::string SuggestLike(const Catalog& catalog, const pb::Chip& chip) {
  if (chip.has_like() || chip.has_preset()) return "";
  const std::optional<double> peak = Bf16Rate(chip);
  const std::optional<double> memory = MemoryRate(chip);
  if (!peak && !memory) return "";
  std::string nearest;
  double least = 0;
  for (const std::string& name : catalog.Names("chips")) {
    const absl::StatusOr<pb::Chip> other = catalog.Chip(name);
    if (!other.ok()) continue;
    const std::optional<double> other_peak = Bf16Rate(*other);
    const std::optional<double> other_memory = MemoryRate(*other);
    if ((peak && !other_peak) || (memory && !other_memory)) continue;
    double distance = 0;
    if (peak) distance += std::abs(std::log(*peak / *other_peak));
    if (memory) distance += std::abs(std::log(*memory / *other_memory));
    if (!nearest.empty() && distance >= least) continue;
    nearest = name;
    least = distance;
  }
  if (nearest.empty()) return "";
  int missing = 0;
  const pb::Chip base = *catalog.Chip(nearest);
  std::vector<const gp::FieldDescriptor*> fields;
  base.GetReflection()->ListFields(base, &fields);
  for (const gp::FieldDescriptor* field : fields) {
    if (IsIdentity(*field) || field->is_repeated()) continue;
    missing += !chip.GetReflection()->HasField(chip, field);
  }
  if (missing < kMissing) return "";
  return fmt::format(
      "to take over what the chip does not say from a preset, add like: "
      "\"{}\" (the nearest in rates)",
      nearest);
}

}  // namespace orrery
