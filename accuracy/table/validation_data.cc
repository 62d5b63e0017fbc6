#include "accuracy/table/validation_data.h"

#include "base/check.h"

namespace orrery {

absl::string_view ValidationText(absl::string_view name) {
  for (const EmbeddedFile& file : ValidationFiles()) {
    if (file.name == name) return file.text;
  }
  CHECK(false) << "validation table not embedded";
  return {};
}

}  // namespace orrery
