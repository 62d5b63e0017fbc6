#pragma once
// What a fit does not say, although it prints a number: constants that ended at
// the end of their range, that the rows do not depend on, or that the rows
// cannot tell from another.
//
//   for (const FitDoubt& doubt : DoubtsOf(fit.constants, loss)) ...
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/kernels/kernel_fit.h"

namespace orrery {

struct FitDoubt {
  enum class Kind : uint8_t {
    kAtLow,   // the rows would have it lower than its range allows
    kAtHigh,  // or higher
    kFlat,    // a tenth more or less of it is the same to the rows
    kAlike,   // a tenth more of it is made good by a change of `other`
  };
  Kind kind;
  std::string constant;
  double value = 0;
  std::string other = {};  // of kAlike
};

// Doubts in the order of the constants. `loss` is that of the fit.
// Cost: some twenty evaluations per pair of constants.
std::vector<FitDoubt> DoubtsOf(
    absl::Span<const FitConstant> fitted,
    absl::FunctionRef<double(absl::Span<const FitConstant>)> loss);

// "kernels.launch = 10 us is at the upper end of its range"; `text` is the
// value with its unit.
std::string DoubtText(const FitDoubt& doubt, absl::string_view text);

}  // namespace orrery
