#include "run/improve_system.h"

#include <absl/strings/numbers.h>

#include "base/format.h"
#include "base/status.h"

namespace orrery {
namespace {

// Scales quantities in place and keeps the first error.
class Scaler {
 public:
  explicit Scaler(double factor) : factor_(factor) {}
  void Faster(std::string* rate) { Apply(rate, factor_); }
  void Shorter(std::string* time) { Apply(time, 1 / factor_); }
  const absl::Status& status() const { return status_; }

 private:
  void Apply(std::string* text, double factor) {
    if (text->empty()) return;
    absl::StatusOr<std::string> scaled = ScaledQuantity(*text, factor);
    if (scaled.ok()) {
      *text = *std::move(scaled);
    } else if (status_.ok()) {
      status_ = scaled.status();
    }
  }

  double factor_;
  absl::Status status_;
};

// Fields that are not set stay so: touching them would set them.
#define ORRERY_SCALE(message, field, how) \
  if ((message).has_##field()) scaler.how((message).mutable_##field())

void ImproveCompute(pb::Chip& chip, Scaler& scaler) {
  // With the clocks at which rates are stated: a rate is rescaled from its own
  // clock to that of the chip, and would otherwise grow twice.
  for (pb::Rate& peak : *chip.mutable_peak()) {
    ORRERY_SCALE(peak, rate, Faster);
    ORRERY_SCALE(peak, clock, Faster);
  }
  ORRERY_SCALE(chip, vector_rate, Faster);
  ORRERY_SCALE(chip, sfu_rate, Faster);
  ORRERY_SCALE(chip, clock, Faster);
  ORRERY_SCALE(chip, vector_clock, Faster);
  ORRERY_SCALE(chip, sustained_clock, Faster);
}

void ImproveBandwidth(pb::Fabric& fabric, Scaler& scaler) {
  if (fabric.has_link()) {
    ORRERY_SCALE(*fabric.mutable_link(), bandwidth, Faster);
  }
  if (!fabric.has_links()) return;
  for (pb::LinkList::Link& link : *fabric.mutable_links()->mutable_link()) {
    ORRERY_SCALE(link, bandwidth, Faster);
  }
}

void ImproveLatency(pb::Fabric& fabric, Scaler& scaler) {
  if (fabric.has_link()) {
    ORRERY_SCALE(*fabric.mutable_link(), latency, Shorter);
  }
  if (!fabric.has_links()) return;
  for (pb::LinkList::Link& link : *fabric.mutable_links()->mutable_link()) {
    ORRERY_SCALE(link, latency, Shorter);
  }
}

void ImproveLatency(pb::System& system, Scaler& scaler) {
  if (system.has_scale_up()) {
    ImproveLatency(*system.mutable_scale_up()->mutable_fabric(), scaler);
  }
  if (system.has_scale_out()) {
    pb::ScaleOut& out = *system.mutable_scale_out();
    ImproveLatency(*out.mutable_fabric(), scaler);
    ORRERY_SCALE(out, nic_latency, Shorter);
  }
  if (!system.has_collectives()) return;
  pb::CollectiveCalibration& library = *system.mutable_collectives();
  ORRERY_SCALE(library, base_latency, Shorter);
  for (auto& protocol : *library.mutable_protocol()) {
    ORRERY_SCALE(protocol, step_latency, Shorter);
    ORRERY_SCALE(protocol, fill_latency, Shorter);
    ORRERY_SCALE(protocol, base_latency, Shorter);
  }
}

void ImproveLaunch(pb::Kernels& kernels, Scaler& scaler) {
  ORRERY_SCALE(kernels, launch, Shorter);
  ORRERY_SCALE(kernels, graph_launch, Shorter);
  ORRERY_SCALE(kernels, grouped_launch, Shorter);
  ORRERY_SCALE(kernels, quantize_launch, Shorter);
}

}  // namespace

bool ImprovesNetwork(Improvement improvement) {
  switch (improvement) {
    case Improvement::kScaleUpBandwidth:
    case Improvement::kScaleOutBandwidth:
    case Improvement::kLatency:
      return true;
    case Improvement::kCompute:
    case Improvement::kMemoryBandwidth:
    case Improvement::kCacheBandwidth:
    case Improvement::kLaunch:
      return false;
  }
  return true;
}

std::string_view Name(Improvement improvement) {
  switch (improvement) {
    case Improvement::kCompute:
      return "compute";
    case Improvement::kMemoryBandwidth:
      return "HBM bandwidth";
    case Improvement::kCacheBandwidth:
      return "L2 bandwidth";
    case Improvement::kScaleUpBandwidth:
      return "scale-up bandwidth";
    case Improvement::kScaleOutBandwidth:
      return "scale-out bandwidth";
    case Improvement::kLatency:
      return "network latency";
    case Improvement::kLaunch:
      return "launch overhead";
  }
  return "";
}

absl::StatusOr<std::string> ScaledQuantity(const std::string& text,
                                           double factor) {
  const size_t unit = text.find_first_not_of("0123456789.eE+-");
  double value = 0;
  if (unit == std::string::npos ||
      !absl::SimpleAtod(text.substr(0, unit), &value)) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is not a number with a unit", text));
  }
  return fmt::format("{:.12g}{}", value * factor, text.substr(unit));
}

absl::StatusOr<pb::Scenario> Improved(const pb::Scenario& scenario,
                                      Improvement improvement, double factor) {
  pb::Scenario result = scenario;
  pb::System& better = *result.mutable_system();
  Scaler scaler(factor);
  switch (improvement) {
    case Improvement::kCompute:
      ImproveCompute(*better.mutable_chip(), scaler);
      break;
    case Improvement::kMemoryBandwidth:
      ORRERY_SCALE(*better.mutable_chip(), memory_bandwidth, Faster);
      break;
    case Improvement::kCacheBandwidth:
      for (pb::CacheLevel& cache : *better.mutable_chip()->mutable_cache()) {
        if (cache.per_unit()) continue;
        ORRERY_SCALE(cache, bandwidth, Faster);
      }
      break;
    case Improvement::kScaleUpBandwidth:
      if (!better.has_scale_up()) break;
      ImproveBandwidth(*better.mutable_scale_up()->mutable_fabric(), scaler);
      ORRERY_SCALE(*better.mutable_scale_up(), chip_bandwidth, Faster);
      break;
    case Improvement::kScaleOutBandwidth:
      if (!better.has_scale_out()) break;
      ImproveBandwidth(*better.mutable_scale_out()->mutable_fabric(), scaler);
      ORRERY_SCALE(*better.mutable_scale_out(), nic_bandwidth, Faster);
      break;
    case Improvement::kLatency:
      ImproveLatency(better, scaler);
      break;
    case Improvement::kLaunch:
      ImproveLaunch(*result.mutable_kernels(), scaler);
      break;
  }
  RETURN_IF_ERROR(scaler.status());
  return result;
}
#undef ORRERY_SCALE

}  // namespace orrery
