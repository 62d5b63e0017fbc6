// From the message to a PackageModel.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "cost/silicon/die_cost.h"
#include "cost/silicon/gross_dies.h"
#include "cost/silicon/package_cost.h"

namespace orrery {

// Reads the tree, gathering every mistake.
class PackageReader {
 public:
  PackageReader(const pb::Package& package, const SiliconLibrary& library)
      : package_(package), library_(library) {}

  absl::StatusOr<PackageModel> Read() {
    if (!package_.has_assembly()) {
      violations_.Add(
          "package.assembly: not set; write assembly { part { ... } }, as the "
          "packages of 'orrery list packages' do");
      return violations_.ToStatus();
    }
    model_.units_ = package_.units();
    if (!(model_.units_ > 0)) {
      violations_.Add(
          "package.units: must be above 0: the units over which the design is "
          "spread");
    }
    ReadLevel(package_.assembly(), "package.assembly", 1, 0);
    RETURN_IF_ERROR(violations_.ToStatus());
    return std::move(model_);
  }

 private:
  static constexpr int kDeepest = 8;
  static constexpr int kMostParts = 1000;
  static constexpr int kMostUnits = 100000;
  static constexpr double kMostLinks = 10;

  PackageModel::RangeOf Range(const pb::Range& range, bool is_set,
                              const char* unit, const std::string& name) {
    if (!is_set) {
      violations_.Add(fmt::format(
          "{}: not set; write its nominal value, such as {{ nominal: "
          "\"1 {}\" }}",
          name, unit));
      return {};
    }
    absl::StatusOr<PriceRange> parsed = ParseRange(range, unit, name);
    if (!parsed.ok()) {
      violations_.Add(std::string(parsed.status().message()));
      return {};
    }
    return {name, *parsed};
  }
  PackageModel::RangeOf Optional(const pb::Range& range, bool is_set,
                                 const char* unit, const std::string& name) {
    return is_set ? Range(range, is_set, unit, name) : PackageModel::RangeOf{};
  }
  double Share(bool is_set, double value, double fallback,
               const std::string& path) {
    if (!is_set) return fallback;
    if (!(value > 0 && value <= 1)) {
      violations_.Add(fmt::format("{}: must be above 0 and at most 1, got {}",
                                  path, value));
      return fallback;
    }
    return value;
  }
  Dollars Price(const std::string& text, const std::string& path) {
    if (text.empty()) return {};
    const absl::StatusOr<Dollars> price = ParseDollars(text);
    if (price.ok()) return *price;
    violations_.Add(price.status(), path);
    return {};
  }

  int ReadDie(const pb::DieDesign& design, const std::string& path,
              double in_package) {
    PackageModel::Die die;
    die.name = design.name();
    die.process = design.process();
    die.bought = design.bought();
    const auto process = library_.processes.find(design.process());
    if (process == library_.processes.end()) {
      violations_.Add(fmt::format("{}.process: there is no process '{}'", path,
                                  design.process()));
      return -1;
    }
    const pb::Process& p = process->second;
    const std::string of = "process " + p.name() + ".";
    die.wafer =
        Range(p.wafer_price(), p.has_wafer_price(), "USD", of + "wafer_price");
    die.defects = Range(p.defects(), p.has_defects(), "/cm2", of + "defects");
    die.masks = Range(p.mask_set(), p.has_mask_set(), "USD", of + "mask_set");
    die.design = Range(p.design(), p.has_design(), "USD", of + "design");
    die.clustering = p.clustering();
    die.fab.energy_kwh_per_cm2 = p.fab_energy_kwh_per_cm2();
    die.fab.gases_g_per_cm2 = p.fab_gases_g_per_cm2();
    // Yields are counted on the tree.
    die.fab.yield = 1;
    if (design.has_width_mm() && design.has_height_mm()) {
      if (!(design.width_mm() > 0 && design.height_mm() > 0)) {
        violations_.Add(path + ".width_mm, height_mm: must be positive");
        return -1;
      }
      die.size = {Millimetres(design.width_mm()),
                  Millimetres(design.height_mm())};
    } else {
      const auto area = ParseSquareMillimetres(design.area());
      if (!area.ok()) {
        violations_.Add(area.status(), path + ".area");
        return -1;
      }
      die.size = SizeOf(*area);
    }
    if (design.has_link_share() &&
        !(design.link_share() >= 0 && design.link_share() <= kMostLinks)) {
      violations_.Add(fmt::format("{}.link_share: must be 0 .. {}, got {}",
                                  path, kMostLinks, design.link_share()));
    } else if (design.has_link_share()) {
      const double grow = std::sqrt(1 + design.link_share());
      die.size = {die.size.width * grow, die.size.height * grow};
    }
    if (!(die.size.area().value() > 0)) {
      violations_.Add(path + ".area: must be positive");
      return -1;
    }
    const auto fits = CostOfDie({}, die.size);
    if (!fits.ok()) {
      violations_.Add(fits.status(), path);
      return -1;
    }
    die.gross_dies = fits->gross_dies;
    die.units = design.units();
    die.spare = design.spare_units();
    die.unit_share = design.unit_share();
    if (die.units < 0 || die.units > kMostUnits || die.spare < 0 ||
        die.spare > die.units || !(die.unit_share >= 0 && die.unit_share < 1)) {
      violations_.Add(fmt::format(
          "{}: units must be at most {}, spare_units within 0 .. units, "
          "unit_share within [0, 1)",
          path, kMostUnits));
      die.units = 0;
    }
    die.coverage = Share(design.has_test_coverage(), design.test_coverage(), 1,
                         path + ".test_coverage");
    die.test = Price(design.test_price(), path + ".test_price");
    die.made = model_.units_ * in_package;
    for (const auto& shared : package_.shared()) {
      if (shared.die() == die.name) die.made = shared.units();
    }
    if (!(die.made > 0)) {
      violations_.Add(
          fmt::format("package.shared: units of '{}' must be "
                      "above 0",
                      die.name));
    }
    model_.dies_.push_back(std::move(die));
    return static_cast<int>(model_.dies_.size()) - 1;
  }

  int ReadMemory(const pb::MemoryStack& stack, const std::string& path) {
    PackageModel::Memory memory;
    memory.kind = stack.kind();
    const auto bytes = ParseBytes(stack.capacity());
    if (!bytes.ok()) {
      violations_.Add(bytes.status(), path + ".capacity");
      return -1;
    }
    memory.gigabytes = static_cast<double>(bytes->value()) / 1e9;
    const std::string id = "memory/" + stack.kind();
    const auto price = library_.prices.Find(id, "USD/GB");
    if (!price.ok()) {
      violations_.Add(price.status(), path + ".kind");
      return -1;
    }
    memory.price = {id, (*price)->range};
    memory.quality =
        Share(stack.has_quality(), stack.quality(), 1, path + ".quality");
    memory.footprint = SquareMillimetres(
        stack.has_footprint_mm2() ? stack.footprint_mm2() : kStackFootprint);
    if (!(memory.footprint.value() > 0 && memory.footprint.value() < 1e6)) {
      violations_.Add(path + ".footprint_mm2: must be positive");
      return -1;
    }
    model_.memories_.push_back(std::move(memory));
    return static_cast<int>(model_.memories_.size()) - 1;
  }

  // The level's index; its area on what it stands on is in `areas_`.
  int ReadLevel(const pb::Assembly& assembly, const std::string& path,
                double in_package, int depth) {
    if (depth > kDeepest) {
      violations_.Add(path + ": assemblies are nested too deeply");
      return -1;
    }
    PackageModel::Level level;
    SquareMillimetres area{};
    if (assembly.part_size() == 0) {
      violations_.Add(path + ".part: there must be at least one");
    }
    for (int i = 0; i < assembly.part_size(); ++i) {
      const pb::Assembly::Part& part = assembly.part(i);
      const std::string at = fmt::format("{}.part[{}]", path, i);
      PackageModel::Level::Entry entry{.count =
                                           part.has_count() ? part.count() : 1};
      if (entry.count < 1 || entry.count > kMostParts) {
        violations_.Add(fmt::format("{}.count: must be 1 .. {}, got {}", at,
                                    kMostParts, entry.count));
        entry.count = 1;
      }
      const double many = in_package * entry.count;
      if (part.has_die() + part.has_memory() + part.has_assembly() != 1) {
        violations_.Add(at + ": must have one of die, memory, assembly");
      } else if (part.has_die()) {
        entry.die = ReadDie(part.die(), at + ".die", many);
        if (entry.die < 0) continue;
        area +=
            model_.dies_.back().size.area() * static_cast<double>(entry.count);
      } else if (part.has_memory()) {
        entry.memory = ReadMemory(part.memory(), at + ".memory");
        if (entry.memory < 0) continue;
        area += model_.memories_.back().footprint *
                static_cast<double>(entry.count);
      } else {
        entry.level =
            ReadLevel(part.assembly(), at + ".assembly", many, depth + 1);
        if (entry.level < 0) continue;
        area += areas_[static_cast<size_t>(entry.level)] *
                static_cast<double>(entry.count);
      }
      level.entries.push_back(entry);
    }
    const auto found = library_.packagings.find(assembly.packaging());
    if (found == library_.packagings.end()) {
      violations_.Add(fmt::format("{}.packaging: there is no packaging '{}'",
                                  path, assembly.packaging()));
      return -1;
    }
    ReadPackaging(found->second, area, level);
    if (assembly.bridges() > 0 && !found->second.has_bridge_price()) {
      violations_.Add(fmt::format("{}.bridges: packaging '{}' has none", path,
                                  assembly.packaging()));
    }
    if (assembly.bridges() < 0 || assembly.bridges() > kMostParts) {
      violations_.Add(fmt::format("{}.bridges: must be 0 .. {}, got {}", path,
                                  kMostParts, assembly.bridges()));
    }
    level.bridges = assembly.bridges();
    level.coverage =
        Share(assembly.has_test_coverage(), assembly.test_coverage(), 1,
              path + ".test_coverage");
    level.test = Price(assembly.test_price(), path + ".test_price");
    model_.levels_.push_back(std::move(level));
    // A stack stands on its largest part; carriers on their own area.
    const PackageModel::Level& done = model_.levels_.back();
    areas_.push_back(done.has_carrier ? done.carrier_area
                                      : Footprint(done, area));
    return static_cast<int>(model_.levels_.size()) - 1;
  }

  // Of a stack without a carrier: its bottom part, which is named first.
  SquareMillimetres Footprint(const PackageModel::Level& level,
                              SquareMillimetres all) const {
    if (level.entries.empty() || level.has_substrate) return all;
    const PackageModel::Level::Entry& bottom = level.entries.front();
    if (bottom.die < 0) return all;
    return model_.dies_[static_cast<size_t>(bottom.die)].size.area() *
           static_cast<double>(bottom.count);
  }

  void ReadPackaging(const pb::Packaging& p, SquareMillimetres area,
                     PackageModel::Level& level) {
    const std::string of = "packaging " + p.name() + ".";
    level.bond_yield =
        Range(p.bond_yield(), p.has_bond_yield(), "", of + "bond_yield");
    level.mount_yield =
        Share(p.has_mount_yield(), p.mount_yield(), 1, of + "mount_yield");
    level.design = Optional(p.design(), p.has_design(), "USD", of + "design");
    level.module_price = Optional(p.module_price(), p.has_module_price(), "USD",
                                  of + "module_price");
    level.bridge_price = Optional(p.bridge_price(), p.has_bridge_price(), "USD",
                                  of + "bridge_price");
    level.chip_first = p.chip_first();
    level.carbon_g = p.carbon_g();
    SquareMillimetres under = area;
    if (p.has_carrier_price()) {
      level.has_carrier = true;
      level.carrier_area = area * p.carrier_ratio();
      under = level.carrier_area;
      level.carrier_price =
          Range(p.carrier_price(), true, "USD/mm2", of + "carrier_price");
      level.carrier_defects =
          Range(p.carrier_defects(), p.has_carrier_defects(), "/cm2",
                of + "carrier_defects");
      level.carrier_clustering = p.carrier_clustering();
      if (!(p.carrier_ratio() > 0) || !(p.carrier_clustering() > 0)) {
        violations_.Add(of +
                        "carrier_ratio, carrier_clustering: must be "
                        "above 0");
      }
    }
    if (p.has_substrate_price()) {
      level.has_substrate = true;
      level.substrate_area = under * p.substrate_ratio();
      level.substrate_price =
          Range(p.substrate_price(), true, "USD/mm2", of + "substrate_price");
    }
  }

  // Of an HBM stack (JEDEC JESD238: 11 x 10 mm).
  static constexpr double kStackFootprint = 110;

  const pb::Package& package_;
  const SiliconLibrary& library_;
  Violations violations_;
  PackageModel model_;
  std::vector<SquareMillimetres> areas_;
};

absl::StatusOr<PackageModel> PackageModel::Create(
    const pb::Package& package, const SiliconLibrary& library) {
  return PackageReader(package, library).Read();
}

}  // namespace orrery
