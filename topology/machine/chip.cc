#include "topology/machine/chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "base/units_text.h"
#include "proto/chip.pb.h"
#include "topology/machine/field_reader.h"

namespace orrery {
namespace {

constexpr int kMaxComputeUnits = 100'000;
constexpr int kMaxLinks = 10'000;
constexpr int kMaxDies = 1'000;
// Per mm2: some three times what the densest processes reach.
constexpr double kMostTransistors = 1e9;
// Units that compute draw more than all that idles; a value below a tenth of it
// is a slip.
constexpr double kLeastMatrix = 0.1;

CacheLevel ReadCacheLevel(const FieldReader& fields, int compute_units) {
  CacheLevel level{.name = fields.Text("name"),
                   .per_unit = fields.Flag("per_unit"),
                   .size = fields.Positive<Bytes>("size"),
                   .total_size = Bytes(0),
                   .bandwidth = fields.Positive<BytesPerSecond>("bandwidth")};
  if (level.size > Bytes(int64_t{1} << 40)) {
    fields.Refuse("size",
                  fmt::format("{} is more than 1 TiB", ToText(level.size)));
    return level;
  }
  level.total_size = level.per_unit ? level.size * compute_units : level.size;
  return level;
}

LinkPort ReadLinkPort(const FieldReader& fields) {
  return {.name = fields.Text("name"),
          .count = fields.Count("count", 1, kMaxLinks),
          .bandwidth = fields.Positive<BytesPerSecond>("bandwidth")};
}

Die ReadDie(const FieldReader& fields) {
  Die die{.node = fields.Text("node"),
          .area = fields.Positive<SquareMillimetres>("area"),
          .compute_dies = fields.Count("compute_dies", 1, kMaxDies),
          .transistors = fields.OptionalReal("transistors", 1e6, 1e15)};
  const double area = die.area.value() * die.compute_dies;
  if (die.transistors && area > 0 &&
      *die.transistors > kMostTransistors * area) {
    fields.Refuse(
        "transistors",
        fmt::format("{:g} on {:g} mm2 are more than {:g} per mm2, which no "
                    "process reaches; write fewer, or a larger area",
                    *die.transistors, area, kMostTransistors));
  }
  return die;
}

PowerDraw ReadPowerDraw(const FieldReader& fields) {
  PowerDraw draw{.idle = fields.Positive<Watts>("idle"),
                 .matrix = {},
                 .memory = fields.Positive<Watts>("memory"),
                 .clock_exponent = fields.Real("clock_exponent", 1, 3)};
  draw.matrix.fill(fields.Positive<Watts>("matrix"));
  if (draw.matrix[0] < draw.idle * kLeastMatrix) {
    fields.Refuse("matrix",
                  fmt::format("{} is less than a tenth of the {} that the chip "
                              "draws when it idles; write what its units draw "
                              "at their peak",
                              ToText(draw.matrix[0]), ToText(draw.idle)));
  }
  for (const FieldReader& format : fields.Each("format")) {
    const auto dtype = format.Enum<pb::DType>("dtype");
    const auto watts = format.Positive<Watts>("matrix");
    if (dtype == pb::DTYPE_UNSPECIFIED) continue;
    draw.matrix[static_cast<size_t>(orrery::FromProto(dtype))] = watts;
  }
  return draw;
}

// The clock at which a rate is stated is near that of the chip: a rate is
// rescaled from one to the other.
void CheckStatedAt(const FieldReader& fields, const char* name, Hertz stated,
                   Hertz clock) {
  if (fields.IsRefused(name) || clock.value() <= 0) return;
  const double ratio = stated.value() / clock.value();
  if (ratio >= 0.5 && ratio <= 2) return;
  fields.Refuse(name, fmt::format("{} is not between half and twice the clock "
                                  "of the chip, {}; write the clock at which "
                                  "the rate is stated",
                                  ToText(stated, 4), ToText(clock, 4)));
}

}  // namespace

absl::StatusOr<Chip> Chip::FromProto(const pb::Chip& proto,
                                     std::string_view path) {
  Violations violations;
  const FieldReader fields(proto, std::string(path), &violations);
  Chip chip;
  chip.name_ = fields.Text("name");
  chip.description_ = fields.OptionalText("description");

  chip.clock_ = fields.Positive<Hertz>("clock");
  const std::vector<FieldReader> peaks = fields.Each("peak");
  if (peaks.empty()) {
    fields.Refuse("peak",
                  "not set; write for example { dtype: BF16 rate: "
                  "\"989.4 TFLOP/s\" }");
  }
  for (const FieldReader& peak : peaks) {
    const auto dtype = peak.Enum<pb::DType>("dtype");
    const auto rate = peak.Positive<FlopsPerSecond>("rate");
    if (dtype == pb::DTYPE_UNSPECIFIED) continue;
    auto& slot = chip.peaks_[static_cast<size_t>(orrery::FromProto(dtype))];
    if (slot.has_value()) {
      peak.Refuse("dtype", fmt::format("{} is given twice; leave one out",
                                       Name(orrery::FromProto(dtype))));
    }
    slot = rate;
    if (const auto clock = peak.OptionalPositive<Hertz>("clock")) {
      chip.peak_clocks_[static_cast<size_t>(orrery::FromProto(dtype))] = *clock;
      CheckStatedAt(peak, "clock", *clock, chip.clock_);
    }
  }
  chip.vector_rate_ = fields.Positive<FlopsPerSecond>("vector_rate");
  chip.sfu_rate_ = fields.Positive<OpsPerSecond>("sfu_rate");

  chip.compute_units_ = fields.Count("compute_units", 1, kMaxComputeUnits);
  chip.sustained_clock_ = fields.OptionalPositive<Hertz>("sustained_clock");
  chip.burst_clock_ = fields.OptionalPositive<Hertz>("burst_clock");

  chip.vector_clock_ =
      fields.OptionalPositive<Hertz>("vector_clock").value_or(chip.clock_);
  for (Hertz& clock : chip.peak_clocks_) {
    if (clock == Hertz()) clock = chip.clock_;
  }
  CheckStatedAt(fields, "vector_clock", chip.vector_clock_, chip.clock_);
  // A clock above those of the peaks would make kernels beat the peaks.
  const Hertz highest = chip.highest_clock();
  const auto check_held = [&](const char* name, std::optional<Hertz> clock) {
    if (!clock || *clock <= highest || fields.IsRefused("clock")) return;
    fields.Refuse(name,
                  fmt::format("{} is above {}, the highest clock at which the "
                              "chip states a rate; write at most that",
                              ToText(*clock, 4), ToText(highest, 4)));
  };
  check_held("sustained_clock", chip.sustained_clock_);
  check_held("burst_clock", chip.burst_clock_);

  chip.memory_ = fields.Positive<Bytes>("memory");
  chip.memory_bandwidth_ = fields.Positive<BytesPerSecond>("memory_bandwidth");
  chip.memory_latency_ = fields.Positive<Duration>("memory_latency");
  chip.memory_kind_ = fields.OptionalText("memory_kind");
  for (const FieldReader& level : fields.Each("cache")) {
    chip.caches_.push_back(ReadCacheLevel(level, chip.compute_units_));
    const Bytes size = chip.caches_.back().total_size;
    if (chip.memory_ > Bytes(0) && size > chip.memory_) {
      level.Refuse("size", fmt::format("{} over all units are more than the "
                                       "chip's memory, {}; write less",
                                       ToText(size), ToText(chip.memory_)));
    }
  }
  for (const FieldReader& port : fields.Each("port")) {
    LinkPort read = ReadLinkPort(port);
    if (!read.name.empty() &&
        std::any_of(chip.ports_.begin(), chip.ports_.end(),
                    [&](const LinkPort& p) { return p.name == read.name; })) {
      port.Refuse("name", fmt::format("'{}' is there twice; write one port "
                                      "with the count of both",
                                      read.name));
    }
    chip.ports_.push_back(std::move(read));
  }

  chip.power_ = fields.OptionalPositive<Watts>("power");
  if (const auto draw = fields.Optional("power_draw")) {
    chip.power_draw_ = ReadPowerDraw(*draw);
    if (chip.power_.has_value() && *chip.power_ <= chip.power_draw_->idle) {
      draw->Refuse(
          "idle",
          fmt::format("{} leaves nothing of the chip's power; write "
                      "less than {}, or raise power",
                      ToText(chip.power_draw_->idle), ToText(*chip.power_)));
    }
  }
  if (const auto die = fields.Optional("die")) chip.die_ = ReadDie(*die);
  RETURN_IF_ERROR(violations.ToStatus());
  return chip;
}

Hertz Chip::highest_clock() const {
  Hertz highest = std::max(clock_, vector_clock_);
  for (const Hertz clock : peak_clocks_) highest = std::max(highest, clock);
  return highest;
}

}  // namespace orrery
