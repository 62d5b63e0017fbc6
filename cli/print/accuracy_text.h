#pragma once
// Accuracy tables as text, for a terminal or as Markdown.
#include <string>

#include "accuracy/kernels/kernel_suite.h"
#include "accuracy/table/accuracy_table.h"

namespace orrery {

struct AccuracyTextOptions {
  // Every row, not only the groups.
  bool rows = false;
  // Tables of Markdown, without the rows that were refused.
  bool markdown = false;
};
std::string AccuracyText(const AccuracyTable& table,
                         const AccuracyTextOptions& options);

std::string ProfileText(const ProfileAccuracy& profiles);

}  // namespace orrery
