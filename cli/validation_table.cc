#include "cli/validation_table.h"

#include "accuracy/validation_data.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"

namespace orrery {

absl::StatusOr<ValidationTable> OpenValidationTable(const Arguments& arguments,
                                                    absl::string_view name) {
  std::string text;
  std::string origin = fmt::format("validation/{}", name);
  if (arguments.positional().size() > 1) {
    origin = arguments.positional()[1];
    ASSIGN_OR_RETURN(text, ReadFile(origin));
  } else {
    text = std::string(ValidationText(name));
  }
  auto table = CsvTable::Parse(text);
  if (!table.ok()) return Annotate(table.status(), origin);
  return ValidationTable{*std::move(table), std::move(origin)};
}

std::string RefusedText(size_t predicted,
                        const std::vector<std::string>& refused) {
  std::string text = fmt::format("\n{} rows predicted, {} refused\n", predicted,
                                 refused.size());
  for (const std::string& line : refused) {
    text += fmt::format("  {}\n", line);
  }
  return text;
}

}  // namespace orrery
