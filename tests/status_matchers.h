#pragma once
// IsOk, IsOkAndHolds and StatusIs for absl::Status and absl::StatusOr, which
// Debian 12's Abseil does not have yet.
//
//   EXPECT_THAT(ParseBytes("80 GB"), IsOkAndHolds(Bytes(80'000'000'000)));
//   EXPECT_THAT(ParseBytes("80"), StatusIs(kInvalidArgument, HasSubstr("80")));
//   ASSERT_OK_AND_ASSIGN(const Bytes memory, ParseBytes("80 GB"));
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/status.h"

namespace orrery {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <class T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

MATCHER_P(IsOkAndHolds, matcher, "is OK and holds what matches") {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return testing::ExplainMatchResult(matcher, *arg, result_listener);
}

MATCHER_P2(StatusIs, code, matcher, "has the code and a message that matches") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         testing::ExplainMatchResult(matcher, std::string(status.message()),
                                     result_listener);
}

}  // namespace orrery

#define EXPECT_OK(expression) EXPECT_THAT(expression, ::orrery::IsOk())
#define ASSERT_OK(expression) ASSERT_THAT(expression, ::orrery::IsOk())

#define ASSERT_OK_AND_ASSIGN(declaration, expression)                         \
  ASSERT_OK_AND_ASSIGN_IMPL(ORRERY_CONCAT(status_or_, __LINE__), declaration, \
                            expression)
#define ASSERT_OK_AND_ASSIGN_IMPL(result, declaration, expression) \
  auto result = (expression);                                      \
  ASSERT_TRUE(result.ok()) << result.status().ToString();          \
  declaration = *std::move(result)
