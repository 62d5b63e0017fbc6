#pragma once
// Reading a field by its path, as --set writes it.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <google/protobuf/message.h>

#include <string>

namespace orrery {

// "precision[FP8]" as name and key.
struct FieldName {
  std::string name;
  std::string key;
};
FieldName ParseFieldName(absl::string_view text);

// The text of a scalar field: "0.87", "4.5 us". The error says that it is not
// set.
absl::StatusOr<std::string> FieldText(absl::string_view path,
                                      const google::protobuf::Message& message);

}  // namespace orrery
