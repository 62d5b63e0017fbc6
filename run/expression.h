#pragma once
// Expression: arithmetic over named numbers, as studies write it.
//
//   ASSIGN_OR_RETURN(const Expression e,
//                    Expression::Parse("chips / (tensor * pipeline)"));
//   e.Evaluate([](std::string_view name) -> std::optional<double> { ... });
//
// Numbers, names, + - * / %, comparisons, and, or, not, min(a, b), max(a, b),
// floor(a), ceil(a), log2(a), parentheses. Comparisons and logic give 1 or 0.
// A division by zero, or anything else that is no number, is an error that
// quotes the expression.
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

class Expression {
 public:
  // The error says where and what was expected.
  static absl::StatusOr<Expression> Parse(std::string_view text);

  using Lookup =
      absl::FunctionRef<std::optional<double>(std::string_view name)>;
  absl::StatusOr<double> Evaluate(Lookup lookup) const;

  const std::string& text() const { return text_; }
  // In the order of their first use.
  const std::vector<std::string>& names() const { return names_; }

 private:
  friend class ExpressionParser;
  enum class Op : uint8_t {
    kNumber,
    kName,
    kNegate,
    kNot,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kRemainder,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kEqual,
    kUnequal,
    kAnd,
    kOr,
    kMin,
    kMax,
    kFloor,
    kCeil,
    kLog2,
  };
  // In reverse Polish order.
  struct Step {
    Op op;
    double number = 0;  // or the index of a name
  };
  static int Operands(Op op);
  static double Apply(Op op, double a, double b);

  std::string text_;
  std::vector<std::string> names_;
  std::vector<Step> steps_;
};

}  // namespace orrery
