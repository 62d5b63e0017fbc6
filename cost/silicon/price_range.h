#pragma once
// PriceRange: a number that outsiders only estimate, and PriceDraw, which
// chooses a value for every such number at once.
//
// A result's interval is not made of all lowest and all highest prices, which
// never come together, but of many draws: in each, every range has one value
// (triangular between low and high, most likely at nominal; the same name has
// the same value wherever it is asked for), and the middle 90 % of the results
// are the interval. The nominal result has every range at nominal.
//
//   PriceDraw::Nominal().At("wafer/n5", range)
//   PriceDraw::Sample(17).At("wafer/n5", range)
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>
#include <vector>

#include "proto/cost.pb.h"

namespace orrery {

struct PriceRange {
  double low = 0;
  double nominal = 0;
  double high = 0;
  std::string unit = {};
  std::string date = {};
};

// The unit a price is written in, whatever follows the number: "USD/kWh".
absl::string_view UnitOfPrice(absl::string_view text);
// "in USD/kWh", "without a unit".
std::string UnitText(absl::string_view unit);

// `what` is for messages, and so is `example`, a legal bound. The error says if
// bounds are missing, in another unit, or not in order.
absl::StatusOr<PriceRange> ParseRange(const pb::Range& proto,
                                      absl::string_view unit,
                                      absl::string_view what,
                                      absl::string_view example = "");

class PriceDraw {
 public:
  static PriceDraw Nominal() { return PriceDraw(-1); }
  // Requires: index >= 0.
  static PriceDraw Sample(int index) { return PriceDraw(index); }
  double At(absl::string_view name, const PriceRange& range) const;

 private:
  explicit PriceDraw(int index) : index_(index) {}
  int index_;
};

// What a result may be: low <= nominal <= high.
struct Interval {
  double low = 0;
  double nominal = 0;
  double high = 0;
};

// How many draws stand for all.
inline constexpr int kPriceDraws = 200;

// Of the results of `evaluate`, one interval each; every call must return as
// many. Cost: kPriceDraws + 1 calls.
std::vector<Interval> Intervals(
    absl::FunctionRef<std::vector<double>(const PriceDraw&)> evaluate);

}  // namespace orrery
