#include "catalog/preset_file.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <vector>

#include "base/format.h"
#include "catalog/catalog.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

bool NamesPreset(const gp::FieldDescriptor& field) {
  return field.cpp_type() == gp::FieldDescriptor::CPPTYPE_STRING &&
         !field.is_repeated() &&
         (field.name() == "preset" || field.name() == "like" ||
          field.name() == "default_kernels");
}

}  // namespace

bool LooksLikePath(absl::string_view name) {
  return name.find_first_of("./") != absl::string_view::npos;
}

void RebasePaths(const Catalog& catalog, const std::string& file,
                 gp::Message* message) {
  const size_t slash = file.rfind('/');
  if (slash == std::string::npos) return;
  const std::string folder = file.substr(0, slash + 1);
  const gp::Reflection& r = *message->GetReflection();
  std::vector<const gp::FieldDescriptor*> fields;
  r.ListFields(*message, &fields);
  for (const gp::FieldDescriptor* field : fields) {
    if (NamesPreset(*field)) {
      const std::string path = r.GetString(*message, field);
      if (LooksLikePath(path) && path[0] != '/' && !catalog.HasAny(path)) {
        r.SetString(message, field, folder + path);
      }
    } else if (field->message_type() != nullptr && !field->is_repeated()) {
      RebasePaths(catalog, file, r.MutableMessage(message, field));
    }
  }
}

absl::Status CheckMessageComment(absl::string_view text,
                                 absl::string_view origin,
                                 const gp::Descriptor& wanted) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    if (line[0] != '#') break;
    absl::ConsumePrefix(&line, "#");
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "proto-message:")) continue;
    line = absl::StripAsciiWhitespace(line);
    // With or without the package.
    if (line == wanted.name() || line == wanted.full_name()) break;
    return absl::InvalidArgumentError(
        fmt::format("{}: holds a {} by its own words, and a {} is needed here",
                    origin, line.substr(0, 40), wanted.name()));
  }
  return absl::OkStatus();
}

}  // namespace orrery
