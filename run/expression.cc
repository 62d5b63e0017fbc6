#include "run/expression.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"

namespace orrery {

// Recursive descent; each level of binding is a function.
class ExpressionParser {
 public:
  using Op = Expression::Op;

  explicit ExpressionParser(std::string_view text) { result_.text_ = text; }

  absl::StatusOr<Expression> Parse() {
    RETURN_IF_ERROR(Or());
    SkipSpace();
    if (at_ < text().size()) return Unexpected("an operator or the end");
    return std::move(result_);
  }

 private:
  // Nothing that people write is nested more deeply.
  static constexpr int kMostDepth = 50;

  const std::string& text() const { return result_.text_; }

  absl::Status Unexpected(std::string_view wanted) const {
    return absl::InvalidArgumentError(
        fmt::format("'{}': expected {} at '{}'", Excerpt(text(), 200), wanted,
                    text().substr(std::min(at_, text().size()), 20)));
  }

  void SkipSpace() {
    while (at_ < text().size() && absl::ascii_isspace(Byte())) ++at_;
  }
  unsigned char Byte() const { return static_cast<unsigned char>(text()[at_]); }

  // Takes a symbol, or a word that is not the beginning of a longer one.
  bool Take(std::string_view token) {
    SkipSpace();
    if (text().compare(at_, token.size(), token) != 0) return false;
    const size_t end = at_ + token.size();
    if (absl::ascii_isalpha(static_cast<unsigned char>(token[0])) &&
        end < text().size() && IsWord(text()[end])) {
      return false;
    }
    at_ = end;
    return true;
  }
  static bool IsWord(char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '.';
  }
  void Emit(Op op, double number = 0) {
    result_.steps_.push_back({op, number});
  }

  // Every rule that contains itself goes through here, so that no text can
  // overflow the stack.
  absl::Status Nested(absl::Status (ExpressionParser::*rule)()) {
    if (++depth_ > kMostDepth) return Unexpected("less nesting");
    RETURN_IF_ERROR((this->*rule)());
    --depth_;
    return absl::OkStatus();
  }

  absl::Status Or() {
    RETURN_IF_ERROR(And());
    while (Take("or")) {
      RETURN_IF_ERROR(And());
      Emit(Op::kOr);
    }
    return absl::OkStatus();
  }

  absl::Status And() {
    RETURN_IF_ERROR(Comparison());
    while (Take("and")) {
      RETURN_IF_ERROR(Comparison());
      Emit(Op::kAnd);
    }
    return absl::OkStatus();
  }

  absl::Status Comparison() {
    RETURN_IF_ERROR(Sum());
    constexpr std::pair<std::string_view, Op> kSigns[] = {
        {"<=", Op::kLessEqual}, {">=", Op::kGreaterEqual}, {"==", Op::kEqual},
        {"!=", Op::kUnequal},   {"<", Op::kLess},          {">", Op::kGreater}};
    for (const auto& [token, op] : kSigns) {
      if (!Take(token)) continue;
      RETURN_IF_ERROR(Sum());
      Emit(op);
      return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::Status Sum() {
    RETURN_IF_ERROR(Product());
    for (;;) {
      if (Take("+")) {
        RETURN_IF_ERROR(Product());
        Emit(Op::kAdd);
      } else if (Take("-")) {
        RETURN_IF_ERROR(Product());
        Emit(Op::kSubtract);
      } else {
        return absl::OkStatus();
      }
    }
  }

  absl::Status Product() {
    RETURN_IF_ERROR(Unary());
    for (;;) {
      const Op op = Take("*")   ? Op::kMultiply
                    : Take("/") ? Op::kDivide
                    : Take("%") ? Op::kRemainder
                                : Op::kNumber;
      if (op == Op::kNumber) return absl::OkStatus();
      RETURN_IF_ERROR(Unary());
      Emit(op);
    }
  }

  absl::Status Unary() {
    if (Take("-")) {
      RETURN_IF_ERROR(Nested(&ExpressionParser::Unary));
      Emit(Op::kNegate);
      return absl::OkStatus();
    }
    if (Take("not")) {
      RETURN_IF_ERROR(Nested(&ExpressionParser::Unary));
      Emit(Op::kNot);
      return absl::OkStatus();
    }
    return Primary();
  }

  absl::Status Primary() {
    if (Take("(")) {
      RETURN_IF_ERROR(Nested(&ExpressionParser::Or));
      return Take(")") ? absl::OkStatus() : Unexpected("')'");
    }
    SkipSpace();
    const size_t begin = at_;
    while (at_ < text().size() && IsWord(text()[at_])) ++at_;
    const std::string word = text().substr(begin, at_ - begin);
    if (word.empty()) return Unexpected("a number, a name or '('");
    double number = 0;
    if (absl::SimpleAtod(word, &number)) {
      Emit(Op::kNumber, number);
      return absl::OkStatus();
    }
    if (absl::ascii_isdigit(static_cast<unsigned char>(word[0])) ||
        word == "and" || word == "or") {
      at_ = begin;
      return Unexpected("a number or a name");
    }
    if (Take("(")) return Call(word);
    auto& names = result_.names_;
    const auto it = std::find(names.begin(), names.end(), word);
    Emit(Op::kName, static_cast<double>(it - names.begin()));
    if (it == names.end()) names.push_back(word);
    return absl::OkStatus();
  }

  absl::Status Call(const std::string& function) {
    const Op op = function == "min"     ? Op::kMin
                  : function == "max"   ? Op::kMax
                  : function == "floor" ? Op::kFloor
                  : function == "ceil"  ? Op::kCeil
                  : function == "log2"  ? Op::kLog2
                                        : Op::kNumber;
    if (op == Op::kNumber) {
      return Unexpected("min, max, floor, ceil or log2 before");
    }
    RETURN_IF_ERROR(Nested(&ExpressionParser::Or));
    if (Expression::Operands(op) == 2) {
      if (!Take(",")) return Unexpected("','");
      RETURN_IF_ERROR(Nested(&ExpressionParser::Or));
    }
    if (!Take(")")) return Unexpected("')'");
    Emit(op);
    return absl::OkStatus();
  }

  Expression result_;
  size_t at_ = 0;
  int depth_ = 0;
};

absl::StatusOr<Expression> Expression::Parse(std::string_view text) {
  return ExpressionParser(text).Parse();
}

int Expression::Operands(Op op) {
  switch (op) {
    case Op::kNumber:
    case Op::kName:
      return 0;
    case Op::kNegate:
    case Op::kNot:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kLog2:
      return 1;
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide:
    case Op::kRemainder:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
    case Op::kEqual:
    case Op::kUnequal:
    case Op::kAnd:
    case Op::kOr:
    case Op::kMin:
    case Op::kMax:
      return 2;
  }
  return 0;
}

double Expression::Apply(Op op, double a, double b) {
  switch (op) {
    case Op::kNumber:
    case Op::kName:
      return a;
    case Op::kNegate:
      return -a;
    case Op::kNot:
      return a == 0;
    case Op::kFloor:
      return std::floor(a);
    case Op::kCeil:
      return std::ceil(a);
    case Op::kLog2:
      return std::log2(a);
    case Op::kAdd:
      return a + b;
    case Op::kSubtract:
      return a - b;
    case Op::kMultiply:
      return a * b;
    case Op::kDivide:
      return a / b;
    case Op::kRemainder:
      return std::fmod(a, b);
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return a <= b;
    case Op::kGreater:
      return a > b;
    case Op::kGreaterEqual:
      return a >= b;
    case Op::kEqual:
      return a == b;
    case Op::kUnequal:
      return a != b;
    case Op::kAnd:
      return a != 0 && b != 0;
    case Op::kOr:
      return a != 0 || b != 0;
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
  }
  return 0;
}

absl::StatusOr<double> Expression::Evaluate(Lookup lookup) const {
  std::vector<double> stack;
  for (const Step& step : steps_) {
    if (step.op == Op::kNumber) {
      stack.push_back(step.number);
      continue;
    }
    if (step.op == Op::kName) {
      const std::string& name = names_[static_cast<size_t>(step.number)];
      const std::optional<double> value = lookup(name);
      if (!value) {
        return absl::InvalidArgumentError(
            fmt::format("'{}': there is no '{}'", Excerpt(text_, 200), name));
      }
      stack.push_back(*value);
      continue;
    }
    double b = 0;
    if (Operands(step.op) == 2) {
      b = stack.back();
      stack.pop_back();
    }
    stack.back() = Apply(step.op, stack.back(), b);
    if (!std::isfinite(stack.back())) {
      return absl::InvalidArgumentError(
          fmt::format("'{}' is not a number", Excerpt(text_, 200)));
    }
  }
  return stack.back();
}

}  // namespace orrery
