#pragma once
// Passing absl::Status up, and putting words in front of it.
//
//   RETURN_IF_ERROR(Validate(plan));
//   ASSIGN_OR_RETURN(const Bytes memory, ParseBytes(text));
//   return Annotate(status, "chip 'h100_sxm'");   // "chip 'h100_sxm': ..."
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>
#include <utility>
#include <vector>

#include "base/format.h"

namespace orrery {

// The same error with `context` and a colon in front; OK stays OK.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

// Many mistakes as one status, one per line, in the order they were added.
// For validation that reports everything that is wrong, not only the first.
class Violations {
 public:
  void Add(std::string message) { messages_.push_back(std::move(message)); }
  // Adds an error's message with its context; does nothing for OK.
  void Add(const absl::Status& status, absl::string_view context = "");
  // The value, or an empty one after its error was added.
  template <class T>
  T Take(absl::StatusOr<T> value) {
    Add(value.status());
    return value.ok() ? *std::move(value) : T();
  }
  bool empty() const { return messages_.empty(); }
  const std::vector<std::string>& messages() const { return messages_; }
  // InvalidArgument with every message, or OK if there is none.
  absl::Status ToStatus() const;

 private:
  std::vector<std::string> messages_;
};

}  // namespace orrery

#define ORRERY_CONCAT_INNER(a, b) a##b
#define ORRERY_CONCAT(a, b) ORRERY_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                      \
  do {                                                   \
    if (absl::Status status_macro_result = (expression); \
        !status_macro_result.ok()) {                     \
      return status_macro_result;                        \
    }                                                    \
  } while (false)

#define ASSIGN_OR_RETURN(declaration, expression)                         \
  ASSIGN_OR_RETURN_IMPL(ORRERY_CONCAT(status_or_, __LINE__), declaration, \
                        expression)
#define ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                  \
  if (!result.ok()) return std::move(result).status();         \
  declaration = *std::move(result)
