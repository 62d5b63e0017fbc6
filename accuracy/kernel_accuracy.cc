#include "accuracy/kernel_accuracy.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"
#include "base/format.h"

namespace orrery {
namespace {

constexpr double kLargeProduct = 1e12;
constexpr double kLargeGemmBar = 0.05;

double BarOf(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::kGemm:
      return 0.12;
    case KernelClass::kGroupedGemm:
      return 0.10;
    case KernelClass::kAttention:
    case KernelClass::kPrefillAttention:
      return 0.10;
    case KernelClass::kDecodeAttention:
    case KernelClass::kMemoryBound:
      return 0.15;
  }
  CHECK(false) << "no such class";
  return 0;
}

// Groups sort by chip, then class, then the narrower ones after the whole.
struct GroupKey {
  std::string chip;
  KernelClass kernel_class;
  int part;
  auto operator<=>(const GroupKey&) const = default;
};

std::string Describe(const GroupKey& key) {
  const std::string name(Name(key.kernel_class));
  if (key.part == 0) return name;
  return key.kernel_class == KernelClass::kGemm ? name + " above 1 TFLOP"
                                                : name + ", not host-bound";
}

AccuracyGroup Summarise(const GroupKey& key,
                        const std::vector<const KernelPrediction*>& members) {
  std::vector<double> errors;
  std::vector<double> held_out;
  AccuracyGroup group;
  for (const KernelPrediction* member : members) {
    errors.push_back(std::abs(member->error()));
    if (!member->fitted) held_out.push_back(std::abs(member->error()));
  }
  group.chip = key.chip;
  group.what = Describe(key);
  group.rows = static_cast<int>(errors.size());
  group.fitted = group.rows - static_cast<int>(held_out.size());
  group.worst = *std::max_element(errors.begin(), errors.end());
  group.median = Percentile(errors, 0.5);
  group.ninetieth = Percentile(errors, 0.9);
  if (!held_out.empty()) group.held_out_median = Percentile(held_out, 0.5);
  group.bar = key.kernel_class == KernelClass::kGemm && key.part == 1
                  ? kLargeGemmBar
                  : BarOf(key.kernel_class);
  return group;
}

}  // namespace

std::vector<AccuracyGroup> SummariseAccuracy(
    absl::Span<const KernelPrediction> predictions) {
  std::map<GroupKey, std::vector<const KernelPrediction*>> groups;
  for (const KernelPrediction& prediction : predictions) {
    const KernelMeasurement& row = *prediction.row;
    groups[{row.chip, row.kernel_class, 0}].push_back(&prediction);
    const bool outlasts = row.harness.has_value() &&
                          prediction.predicted_seconds > 2 * *row.harness;
    const bool memory = row.kernel_class == KernelClass::kMemoryBound;
    if (IsLargeProduct(row) ||
        (memory && (outlasts || !row.harness.has_value()))) {
      groups[{row.chip, row.kernel_class, 1}].push_back(&prediction);
    }
  }
  std::vector<AccuracyGroup> result;
  for (const auto& [key, members] : groups) {
    result.push_back(Summarise(key, members));
  }
  return result;
}

bool IsLargeProduct(const KernelMeasurement& row) {
  return row.kernel_class == KernelClass::kGemm &&
         MatrixFlops(row.ops.back()).value() > kLargeProduct;
}

double Percentile(std::vector<double> values, double share) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto index = static_cast<size_t>(std::max(0.0, rank - 1));
  // The median of an even number lies between the middle two.
  if (share == 0.5 && values.size() % 2 == 0) {
    return (values[index] + values[index + 1]) / 2;
  }
  return values[index];
}

}  // namespace orrery
