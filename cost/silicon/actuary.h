#pragma once
// Actuary: the model of Chiplet Actuary, reproduced.
//
// Feng and Ma, "Chiplet Actuary", DAC 2022 (arXiv 2203.12268), with the
// parameters of its repository and with what its code does differently from
// its text, so that its published numbers come out: gross dies stay real, a
// micro-bump layer is paid once per kind of chip, dummies count as bonded
// chips, the fixed part of a fan-out package's design is divided by 300, an
// advanced package's design adds its substrate's recurring price. Nothing else
// in Orrery uses any of that.
//
//   ASSIGN_OR_RETURN(const Actuary actuary, Actuary::FromProto(parameters));
//   const auto cost = actuary.Recurring(ActuaryPackage::kOrganic, chips);
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <map>
#include <string>
#include <vector>

#include "cost/silicon/cost_breakdown.h"
#include "cost/silicon/geometry.h"
#include "proto/cost_models.pb.h"

namespace orrery {

enum class ActuaryPackage : uint8_t {
  kOrganic,
  kFanOutChipLast,
  kFanOutChipFirst,
  kInterposer,
};

// Chips of one kind. A dummy costs nothing and takes room.
struct ActuaryChips {
  std::string node;
  SquareMillimetres area;
  int count = 1;
  bool dummy = false;
};

class Actuary {
 public:
  static absl::StatusOr<Actuary> FromProto(const pb::ActuaryParameters& proto);

  // The error lists the nodes there are.
  absl::Status CheckNode(const std::string& node) const;
  // The error says that a chip or a carrier does not fit a wafer.
  // Requires: nodes that exist.
  absl::StatusOr<CostBreakdown> Recurring(
      ActuaryPackage package, absl::Span<const ActuaryChips> chips) const;
  Dollars ModuleDesign(const std::string& node, SquareMillimetres area) const;
  Dollars ChipDesign(const std::string& node, SquareMillimetres area) const;
  // Of a node's die-to-die link, once.
  Dollars LinkDesign(const std::string& node) const;
  Dollars PackageDesign(ActuaryPackage package,
                        absl::Span<const ActuaryChips> chips) const;
  // Substrate area: packages of equal area share their design.
  SquareMillimetres PackageArea(ActuaryPackage package,
                                absl::Span<const ActuaryChips> chips) const;

 private:
  struct Node {
    double defects;
    Dollars wafer;
    Dollars design;
  };
  Actuary() = default;
  const pb::ActuaryParameters::Carrier& CarrierOf(ActuaryPackage package) const;
  // Of an organic substrate, which needs more layers for several chips.
  double LayerFactor(absl::Span<const ActuaryChips> chips) const;

  pb::ActuaryParameters parameters_;
  std::map<std::string, Node, std::less<>> nodes_;
};

}  // namespace orrery
