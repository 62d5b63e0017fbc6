#pragma once
// PackageCost: what a package costs to make, from the wafer up.
//
// A package is a tree: dies and memory stacks on carriers, assemblies on
// assemblies. Every die is cut from a wafer (die_cost.h), every assembly adds
// its carrier and loses some of what is put on it (assembly.h), and the designs
// are spread over the units (design_cost.h). Carbon is counted on the same
// tree.
#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <vector>

#include "cost/silicon/carbon.h"
#include "cost/silicon/cost_breakdown.h"
#include "cost/silicon/geometry.h"
#include "cost/silicon/silicon_library.h"

namespace orrery {

// A die of the package, as it comes from the wafer.
struct DieLine {
  std::string name;
  std::string process;
  int count = 0;
  SquareMillimetres area{};
  double gross_dies = 0;
  double yield = 0;
  Dollars known_good{};
};

struct PackageCost {
  CostBreakdown cost;
  // Share of the finished packages that are good.
  double quality = 1;
  double assembly_yield = 1;
  GramsCo2 carbon{};
  std::vector<DieLine> dies;
};

// A package that was read and found legal; its prices are still ranges.
class PackageModel {
 public:
  // The error lists everything that is wrong.
  static absl::StatusOr<PackageModel> Create(const pb::Package& package,
                                             const SiliconLibrary& library);
  PackageCost Evaluate(const PriceDraw& draw) const;

 private:
  friend class PackageReader;
  PackageModel() = default;

  struct RangeOf {
    std::string name;
    PriceRange range;
    double At(const PriceDraw& draw) const { return draw.At(name, range); }
  };
  struct Die {
    std::string name;
    std::string process;
    DieSize size;
    double gross_dies = 0;
    int units = 0;
    int spare = 0;
    double unit_share = 0;
    double clustering = 10;
    RangeOf wafer;
    RangeOf defects;
    RangeOf masks;
    RangeOf design;
    double coverage = 1;
    Dollars test{};
    double made = 1;  // units over which its design is spread
    bool bought = false;
    FabCarbon fab;
  };
  struct Memory {
    std::string kind;
    double gigabytes = 0;
    RangeOf price;
    double quality = 1;
    SquareMillimetres footprint{};
  };
  struct Level {
    struct Entry {
      int count = 1;
      // Exactly one of the three.
      int die = -1;
      int memory = -1;
      int level = -1;
    };
    std::vector<Entry> entries;
    bool has_carrier = false;
    SquareMillimetres carrier_area{};
    RangeOf carrier_price;
    RangeOf carrier_defects;
    double carrier_clustering = 6;
    bool chip_first = false;
    bool has_substrate = false;
    SquareMillimetres substrate_area{};
    RangeOf substrate_price;
    RangeOf bond_yield;
    double mount_yield = 1;
    int bridges = 0;
    RangeOf bridge_price;
    RangeOf design;
    RangeOf module_price;
    double coverage = 1;
    Dollars test{};
    double carbon_g = 0;
  };
  struct Built;
  Built Build(int level, const PriceDraw& draw) const;

  std::vector<Die> dies_;
  std::vector<Memory> memories_;
  // Levels refer to those before them; the last is the package.
  std::vector<Level> levels_;
  double units_ = 1;
};

}  // namespace orrery
