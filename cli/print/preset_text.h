#pragma once
// Changing values inside a preset's text without touching the rest of it.
//
// A preset is read by people: its order, comments and sources stay as they are
// when a fit puts new numbers in.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <string>

#include "catalog/override.h"

namespace orrery {

// `preset` with the values of `changes` in place of the old ones, and
// `fitted_row` lines for `ids` before its first source. Paths end in a field
// that stands once in the text, or in the same line as its key
// ("precision[FP8].efficiency").
absl::StatusOr<std::string> WithConstants(absl::string_view preset,
                                          absl::Span<const Override> changes,
                                          absl::Span<const std::string> ids);

}  // namespace orrery
