#pragma once
// CatchModel: the model of CATCH, reproduced.
//
// Graening et al., "CATCH: a Cost Analysis Tool for Co-optimization of
// chiplet-based Heterogeneous systems" (arXiv 2503.15753), with the parameters
// of its examples and with what its code does: machines' uptime multiplies,
// parts enter an assembly with the quality of their own test, seams are not
// counted, passive interposers always yield, the interposer's pads count as
// vias. A system is a grid of equal chiplets on an interposer, linked to their
// neighbours and to the outside.
#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "cost/silicon/geometry.h"
#include "cost/silicon/reticle.h"
#include "proto/cost_models.pb.h"

namespace orrery {

// How the chiplets of a system are linked.
enum class CatchNetlist : uint8_t {
  // To the next on the right and above, and to the outside.
  kGrid,
  // Four, two links each to the outside: the study of one custom die.
  kFourWithOutside,
};

struct CatchDesign {
  int chiplets = 1;
  SquareMillimetres total{800};
  std::string layer = {};
  // Instead of the layer's.
  std::optional<DefectsPerSquareCentimetre> defects = std::nullopt;
  std::string process = {};
  std::string interposer = {};
  std::string io = {};
  Watts power{100};
  double external_gbps = 32;
  // Of the system; of each kind of chiplet, `chiplets` times as many unless
  // `die_units` says how many of each.
  double units = 1e7;
  std::vector<double> die_units = {};
  // Share of a die whose design has to be paid.
  double logic = 0;
  // Of the chiplets' tests; nothing: perfect and free. The library's patterns
  // are those of `pattern_coverage`, where that differs.
  std::optional<double> coverage = std::nullopt;
  std::optional<double> pattern_coverage = std::nullopt;
  CatchNetlist netlist = CatchNetlist::kGrid;
};

struct CatchSystem {
  // Of the first chiplet.
  SquareMillimetres chiplet_area{};
  SquareMillimetres io_area{};
  double chiplet_yield = 0;

  SquareMillimetres stacked_area{};
  SquareMillimetres interposer_area{};
  double signal_bonds = 0;
  double assembly_yield = 0;
  Dollars interposer{};
  Dollars assembly{};
  Dollars recurring{};
  // As if everything were good.
  Dollars perfect{};
  Dollars design{};
};

class CatchModel {
 public:
  static absl::StatusOr<CatchModel> FromProto(const pb::CatchParameters& proto);

  Wafer wafer() const;
  Reticle reticle() const;
  absl::StatusOr<const pb::CatchParameters::Layer*> layer(
      const std::string& name) const;
  absl::StatusOr<const pb::CatchParameters::Process*> process(
      const std::string& name) const;
  absl::StatusOr<const pb::CatchParameters::Io*> io(
      const std::string& name) const;

  // A layer of this size, edge of the wafer and empty reticles included.
  Dollars LayerCost(const pb::CatchParameters::Layer& layer,
                    SquareMillimetres area) const;
  static double LayerYield(const pb::CatchParameters::Layer& layer,
                           SquareMillimetres area);
  static Dollars AssemblyCost(const pb::CatchParameters::Process& process,
                              int chips, SquareMillimetres area);
  static double AssemblyYield(const pb::CatchParameters::Process& process,
                              int chips, double bonds, double vias,
                              SquareMillimetres area);
  absl::StatusOr<CatchSystem> Evaluate(const CatchDesign& design) const;

 private:
  CatchModel() = default;
  pb::CatchParameters parameters_;
};

}  // namespace orrery
