#include "run/provenance.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/descriptor.h>

namespace orrery {
namespace {

namespace gp = google::protobuf;
using Field = gp::FieldDescriptor;

// "system.chip h100_sxm".
std::string PartText(const gp::Message& message, const std::string& path) {
  const Field* name = message.GetDescriptor()->FindFieldByName("name");
  if (name == nullptr || name->cpp_type() != Field::CPPTYPE_STRING ||
      !message.GetReflection()->HasField(message, name)) {
    return path;
  }
  return absl::StrCat(path, " ",
                      message.GetReflection()->GetString(message, name));
}

void Collect(const gp::Message& message, const std::string& path,
             std::vector<pb::Provenance>* found) {
  const gp::Reflection& reflection = *message.GetReflection();
  std::vector<const Field*> fields;
  reflection.ListFields(message, &fields);
  for (const Field* field : fields) {
    if (field->cpp_type() != Field::CPPTYPE_MESSAGE) continue;
    const int size =
        field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      const gp::Message& inner =
          field->is_repeated()
              ? reflection.GetRepeatedMessage(message, field, i)
              : reflection.GetMessage(message, field);
      if (field->message_type() != pb::Source::descriptor()) {
        Collect(inner,
                path.empty() ? field->name()
                             : absl::StrCat(path, ".", field->name()),
                found);
        continue;
      }
      const auto& source = static_cast<const pb::Source&>(inner);
      pb::Provenance& each = found->emplace_back();
      each.set_part(PartText(message, path.empty() ? "scenario" : path));
      each.set_title(source.title());
      if (source.has_url()) each.set_url(source.url());
      if (source.has_retrieved()) each.set_retrieved(source.retrieved());
      if (source.has_covers()) each.set_covers(source.covers());
      if (source.has_note()) each.set_note(source.note());
      each.set_estimate(source.estimate());
    }
  }
}

}  // namespace

std::vector<pb::Provenance> ProvenanceOf(const pb::Scenario& scenario) {
  std::vector<pb::Provenance> found;
  Collect(scenario, "", &found);
  return found;
}

}  // namespace orrery
