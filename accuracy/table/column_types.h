#pragma once
// What the columns of measured tables may hold.
//
// Every column of a table of the user's is checked, whether the row's kind has
// a use for it or not: whoever wrote something there meant something, and a
// slip of the keyboard in one column makes the others doubtful.
#include <absl/status/status.h>

#include "base/csv.h"

namespace orrery {

// An error that names the first column whose text is not what such columns
// hold, with what they hold. Empty fields are legal, and so is any text in a
// column of words.
absl::Status CheckColumnTypes(const CsvTable& table, const CsvTable::Row& row);

}  // namespace orrery
