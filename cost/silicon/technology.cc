#include "cost/silicon/technology.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "cost/silicon/reticle.h"
#include "cost/silicon/voltage_rule.h"

namespace orrery {
namespace {

// Interfaces on the die, 5 to 7 nm class (LLMCompass cost_model.py): a memory
// stack with its controller, a link between chips.
constexpr double kStackInterface = 15;
constexpr double kLinkInterface = 1.6;
// Edge they take along a side.
constexpr Millimetres kStackEdge{8};
constexpr Millimetres kLinkEdge{0.6};
// Of a unit's area, what is SRAM and scales as such.
constexpr double kSramShare = 0.25;
// Driving memory: about 4 pJ a bit at both ends.
constexpr double kMemoryJoulesPerByte = 32e-12;
// Of a link, 1.3 pJ a bit.
constexpr double kLinkJoulesPerByte = 10.4e-12;

// The first die of the package that has units, or the first.
const pb::DieDesign* ComputeDie(const pb::Assembly& assembly, int& count) {
  const pb::DieDesign* first = nullptr;
  int first_count = 0;
  for (const auto& part : assembly.part()) {
    int inner = 1;
    const pb::DieDesign* die = part.has_die() ? &part.die()
                               : part.has_assembly()
                                   ? ComputeDie(part.assembly(), inner)
                                   : nullptr;
    if (die == nullptr) continue;
    const int many = inner * (part.has_count() ? part.count() : 1);
    if (first == nullptr || (first->units() == 0 && die->units() > 0)) {
      first = die;
      first_count = many;
    }
  }
  if (first != nullptr) count *= first_count;
  return first;
}

SquareMillimetres AreaOf(const pb::DieDesign& die) {
  if (die.has_width_mm()) {
    return SquareMillimetres(die.width_mm() * die.height_mm());
  }
  const auto area = ParseSquareMillimetres(die.area());
  return area.ok() ? *area : SquareMillimetres(0);
}

// Links between chips: the ports that are not PCIe.
pb::LinkPort* ChipPort(pb::Chip& chip) {
  for (auto& port : *chip.mutable_port()) {
    if (port.name().find("PCIe") == std::string::npos) return &port;
  }
  return nullptr;
}

// Area of a unit, over that in the known process.
double UnitScale(const pb::Process& from, const pb::Process& to) {
  const double logic = from.density() / to.density();
  const double sram = to.sram_mm2_per_mib() / from.sram_mm2_per_mib();
  return (1 - kSramShare) * logic + kSramShare * sram;
}

double UnitArea(const TechnologyBudget& budget, int links) {
  return budget.dies * budget.area.value() - budget.stacks * kStackInterface -
         links * kLinkInterface;
}

// Every quantity of the chip that is text is scaled as text.
template <class Q>
std::string Scaled(const std::string& text, double factor,
                   absl::StatusOr<Q> (*parse)(absl::string_view)) {
  const absl::StatusOr<Q> value = parse(text);
  if (!value.ok()) return text;
  constexpr int kDigits = 5;
  if constexpr (std::is_same_v<Q, Bytes>) {
    // Whole mebibytes, so that the text is a whole number of bytes.
    constexpr double kMiB = 1 << 20;
    const double size = static_cast<double>(value->value()) * factor / kMiB;
    return fmt::format("{} MiB", std::max<int64_t>(1, std::llround(size)));
  } else {
    return ToText(*value * factor, kDigits);
  }
}

// What a chip draws, by what of it there is more or less of.
struct DrawFactors {
  double matrix = 1;  // units x their power at the new nominal clock
  double memory = 1;  // bandwidth
  double area = 1;    // leakage and clocks
  Watts links{};      // more of them
};

absl::Status ScaleDraw(const DrawFactors& by, Watts limit, pb::Chip& chip) {
  pb::PowerDraw& draw = *chip.mutable_power_draw();
  ASSIGN_OR_RETURN(Watts idle, ParseWatts(draw.idle()));
  idle = idle * by.area + by.links;
  draw.set_idle(ToText(idle, 5));
  draw.set_matrix(Scaled(draw.matrix(), by.matrix, ParseWatts));
  draw.set_memory(Scaled(draw.memory(), by.memory, ParseWatts));
  for (auto& format : *draw.mutable_format()) {
    format.set_matrix(Scaled(format.matrix(), by.matrix, ParseWatts));
  }
  ASSIGN_OR_RETURN(const Watts memory, ParseWatts(draw.memory()));
  if (limit <= idle + memory) {
    return absl::InvalidArgumentError(fmt::format(
        "power: memory and links alone take {:.0f} W, with what leaks",
        (idle + memory).value()));
  }
  return absl::OkStatus();
}

void AddSource(pb::Chip& chip, const std::string& covers,
               const std::string& note) {
  auto& source = *chip.add_source();
  source.set_title("Derived by 'orrery derive'");
  source.set_covers(covers);
  source.set_estimate(true);
  source.set_note(note);
}

}  // namespace

absl::StatusOr<TechnologyBudget> BudgetOf(const pb::Chip& chip,
                                          const pb::Package& package) {
  TechnologyBudget budget;
  int dies = 1;
  const pb::DieDesign* die = ComputeDie(package.assembly(), dies);
  if (die == nullptr) {
    return absl::InvalidArgumentError(
        fmt::format("package '{}' has no die", package.name()));
  }
  budget.process = die->process();
  budget.dies = dies;
  budget.area = AreaOf(*die);
  budget.link_share = die->link_share();
  for (const auto& part : package.assembly().part()) {
    if (!part.has_memory()) continue;
    budget.stacks += part.has_count() ? part.count() : 1;
    budget.memory = part.memory().kind();
  }
  ASSIGN_OR_RETURN(budget.power, ParseWatts(chip.power()));
  return budget;
}

absl::StatusOr<pb::Chip> DeriveChip(const pb::Chip& base,
                                    const pb::Package& base_package,
                                    const TechnologyBudget& budget,
                                    const SiliconLibrary& library) {
  Violations wrong;
  ASSIGN_OR_RETURN(const TechnologyBudget known, BudgetOf(base, base_package));
  const auto new_process = library.processes.find(budget.process);
  const auto old_process = library.processes.find(known.process);
  if (new_process == library.processes.end() ||
      old_process == library.processes.end()) {
    return absl::InvalidArgumentError(fmt::format(
        "there is no process '{}' ('orrery list processes' shows them all)",
        budget.process));
  }
  const pb::Process& to = new_process->second;
  const pb::Process& from = old_process->second;
  pb::Chip chip = base;
  pb::LinkPort* port = ChipPort(chip);
  const int known_links = port == nullptr ? 0 : port->count();
  const int links = budget.links.value_or(known_links);

  const Reticle reticle;
  const SquareMillimetres whole = budget.area * (1 + budget.link_share);
  if (whole > reticle.area()) {
    wrong.Add(
        fmt::format("area: a die of {:.0f} mm2 does not fit the reticle "
                    "of {:.0f} mm2; take more dies",
                    whole.value(), reticle.area().value()));
  }
  // Dies stand side by side; the long sides outside are for memory.
  const DieSize die = SizeOf(budget.area, reticle.width / reticle.height);
  const int beside = std::min(budget.dies, 2);
  const double stack_room = std::floor(die.height / kStackEdge) * 2 * beside *
                            std::ceil(budget.dies / 2.0);
  if (budget.area.value() > 300 && budget.stacks > stack_room) {
    wrong.Add(
        fmt::format("stacks: {} do not fit along the dies' long sides; "
                    "there is room for {:.0f}",
                    budget.stacks, stack_room));
  }
  const double link_room =
      std::floor(2 * budget.dies * (die.width / kLinkEdge));
  if (links > link_room) {
    wrong.Add(
        fmt::format("links: {} do not fit along the dies' short sides; "
                    "there is room for {:.0f}",
                    links, link_room));
  }
  const double room = UnitArea(budget, links);
  const double known_room = UnitArea(known, known_links);
  if (room <= 0) wrong.Add("area: interfaces alone take more than there is");
  RETURN_IF_ERROR(wrong.ToStatus());

  const double logic = from.density() / to.density();
  const double sram = to.sram_mm2_per_mib() / from.sram_mm2_per_mib();
  const double unit_area = UnitScale(from, to);
  const int units = static_cast<int>(std::floor(
      base.compute_units() * (room / known_room) / unit_area + 1e-9));
  if (units < 1) {
    return absl::InvalidArgumentError("area: not even one unit fits");
  }
  const double more = static_cast<double>(units) / base.compute_units();
  const double speed = to.relative_speed() / from.relative_speed();

  // Memory: the known chip's own stacks, or the list's.
  double bandwidth = 0, gigabytes = 0;
  ASSIGN_OR_RETURN(const BytesPerSecond known_bandwidth,
                   ParseBytesPerSecond(base.memory_bandwidth()));
  ASSIGN_OR_RETURN(const Bytes known_memory, ParseBytes(base.memory()));
  if (budget.memory == known.memory) {
    bandwidth = known_bandwidth.value() / known.stacks * budget.stacks;
    gigabytes = static_cast<double>(known_memory.value()) / 1e9 / known.stacks *
                budget.stacks;
  } else {
    ASSIGN_OR_RETURN(
        const PriceEntry* capacity,
        library.prices.Find(fmt::format("stack/{}/capacity", budget.memory),
                            "GB"));
    ASSIGN_OR_RETURN(
        const PriceEntry* rate,
        library.prices.Find(fmt::format("stack/{}/bandwidth", budget.memory),
                            "GB/s"));
    gigabytes = capacity->range.nominal * budget.stacks;
    bandwidth = rate->range.nominal * 1e9 * budget.stacks;
  }

  // What the power leaves for the units, over what the known chip's had.
  ASSIGN_OR_RETURN(const Hertz clock, ParseHertz(base.clock()));
  Hertz held = clock;
  if (base.has_sustained_clock()) {
    ASSIGN_OR_RETURN(held, ParseHertz(base.sustained_clock()));
  }
  BytesPerSecond link_rate{};
  if (port != nullptr) {
    ASSIGN_OR_RETURN(link_rate, ParseBytesPerSecond(port->bandwidth()));
  }
  const auto interfaces = [&](double memory, int count) {
    return memory * kMemoryJoulesPerByte +
           2 * count * link_rate.value() * kLinkJoulesPerByte;
  };
  const double core = budget.power.value() - interfaces(bandwidth, links);
  const double known_core =
      known.power.value() - interfaces(known_bandwidth.value(), known_links);
  if (core <= 0) {
    return absl::InvalidArgumentError(
        fmt::format("power: memory and links alone take {:.0f} W",
                    interfaces(bandwidth, links)));
  }
  const double per_unit = to.relative_power() / from.relative_power();
  const double known_clock = held / clock;
  const double power_of_one =
      CorePower(known_clock) * (core / known_core) / (more * per_unit * speed);
  const double held_clock = std::min(1.0, ClockFor(power_of_one));

  chip.clear_preset();
  chip.clear_source();
  chip.set_name(fmt::format("derived_{}", base.name()));
  chip.set_description(fmt::format(
      "{} units of {} at {:g} nm, {} dies of {:.0f} mm2, {} {} stacks, {}",
      units, base.name(), to.nanometres(), budget.dies, budget.area.value(),
      budget.stacks, budget.memory, ToText(budget.power)));
  chip.set_vendor("derived");
  chip.clear_year();
  chip.set_compute_units(units);
  const double rate = more * speed;
  for (auto& peak : *chip.mutable_peak()) {
    peak.set_rate(Scaled(peak.rate(), rate, ParseFlopsPerSecond));
  }
  chip.set_vector_rate(Scaled(base.vector_rate(), rate, ParseFlopsPerSecond));
  chip.set_sfu_rate(Scaled(base.sfu_rate(), rate, ParseOpsPerSecond));
  chip.set_clock(Scaled(base.clock(), speed, ParseHertz));
  if (base.has_burst_clock()) {
    chip.set_burst_clock(Scaled(base.burst_clock(), speed, ParseHertz));
  }
  if (base.has_power_draw()) {
    // What is drawn says which clock the limit leaves to which kernel.
    RETURN_IF_ERROR(ScaleDraw(
        {.matrix = more * per_unit * speed,
         .memory = bandwidth / known_bandwidth.value(),
         .area = budget.dies * budget.area.value() /
                 (known.dies * known.area.value()),
         .links = Watts(interfaces(0, links) - interfaces(0, known_links))},
        budget.power, chip));
  }
  if (!base.has_power_draw() || base.has_sustained_clock()) {
    chip.set_sustained_clock(ToText(clock * speed * held_clock, 4));
  }
  for (auto& cache : *chip.mutable_cache()) {
    cache.set_bandwidth(Scaled(cache.bandwidth(), rate, ParseBytesPerSecond));
    if (!cache.per_unit()) {
      cache.set_size(
          Scaled(cache.size(), room / known_room / sram, ParseBytes));
    }
  }
  chip.set_memory(ToText(Bytes(static_cast<int64_t>(gigabytes * 1e9)), 5));
  chip.set_memory_bandwidth(ToText(BytesPerSecond(bandwidth), 5));
  chip.set_memory_kind(budget.memory);
  if (port != nullptr) port->set_count(links);
  chip.set_power(ToText(budget.power));
  auto& silicon = *chip.mutable_die();
  silicon.set_node(to.name());
  silicon.set_area(ToText(budget.area, 5));
  silicon.set_compute_dies(budget.dies);
  silicon.set_transistors(base.die().transistors() * (room / known_room) /
                          logic);
  AddSource(chip, "compute_units, peak, vector_rate, sfu_rate, cache, die",
            fmt::format("Architecture of {}; {:.3g} times the area for units, "
                        "of {:.3g} times their area, {:.3g} times the clock.",
                        base.name(), room / known_room, unit_area, speed));
  AddSource(
      chip, "clock, sustained_clock, burst_clock, power, power_draw",
      fmt::format("{:.0f} W for the units, each at {:.3g} times the "
                  "power of {} at the same clock; {}.",
                  core, per_unit, from.name(),
                  base.has_power_draw() ? "drawn by units, bandwidth and area"
                                        : "alpha-power law"));
  AddSource(chip, "memory, memory_bandwidth, memory_kind, port",
            fmt::format("{} stacks of {}; {} links.", budget.stacks,
                        budget.memory, links));
  AddSource(chip, "memory_latency, default_kernels",
            fmt::format("Those of {}.", base.name()));
  return chip;
}

absl::StatusOr<pb::Package> DerivePackage(const pb::Package& base,
                                          const TechnologyBudget& budget,
                                          const SiliconLibrary& library) {
  pb::Package package;
  package.set_name(fmt::format("derived_{}", base.name()));
  package.set_description(fmt::format("{} dies of {:.0f} mm2 in {}",
                                      budget.dies, budget.area.value(),
                                      budget.process));
  package.set_units(base.units());
  auto& assembly = *package.mutable_assembly();
  assembly.set_packaging(budget.dies > 1 ? "cowos_l" : "cowos_s");
  if (budget.dies > 1) assembly.set_bridges(5 * budget.dies);
  int dies = 1;
  const pb::DieDesign* known = ComputeDie(base.assembly(), dies);
  auto& part = *assembly.add_part();
  part.set_count(budget.dies);
  if (known != nullptr) {
    const auto from = library.processes.find(known->process());
    const auto to = library.processes.find(budget.process);
    if (from == library.processes.end() || to == library.processes.end()) {
      return absl::InvalidArgumentError(
          fmt::format("there is no process '{}'", budget.process));
    }
    *part.mutable_die() = *known;
    const double more =
        budget.area / AreaOf(*known) / UnitScale(from->second, to->second);
    const auto scaled = [&](int count) {
      return static_cast<int>(std::floor(count * more + 1e-9));
    };
    if (known->units() > 0) {
      part.mutable_die()->set_units(std::max(1, scaled(known->units())));
      part.mutable_die()->set_spare_units(scaled(known->spare_units()));
    }
  }
  part.mutable_die()->set_process(budget.process);
  if (budget.link_share > 0) {
    part.mutable_die()->set_link_share(budget.link_share);
  }
  part.mutable_die()->clear_width_mm();
  part.mutable_die()->clear_height_mm();
  part.mutable_die()->set_area(ToText(budget.area, 5));
  if (budget.stacks == 0) return package;
  auto& memory = *assembly.add_part();
  memory.set_count(budget.stacks);
  memory.mutable_memory()->set_kind(budget.memory);
  double gigabytes = 16;
  const auto capacity = library.prices.Find(
      fmt::format("stack/{}/capacity", budget.memory), "GB");
  if (capacity.ok()) gigabytes = (*capacity)->range.nominal;
  memory.mutable_memory()->set_capacity(fmt::format("{} GB", gigabytes));
  memory.mutable_memory()->set_quality(0.995);
  return package;
}

}  // namespace orrery
