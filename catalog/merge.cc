#include "catalog/merge.h"

#include <vector>

#include "base/check.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

// Empties every list of `base` that has entries in `override_message`.
void ClearReplacedLists(const gp::Message& override_message,
                        gp::Message* base) {
  const gp::Reflection& reflection = *base->GetReflection();
  std::vector<const gp::FieldDescriptor*> fields;
  reflection.ListFields(override_message, &fields);
  for (const gp::FieldDescriptor* field : fields) {
    if (field->is_repeated()) {
      reflection.ClearField(base, field);
    } else if (field->message_type() != nullptr &&
               reflection.HasField(*base, field)) {
      ClearReplacedLists(reflection.GetMessage(override_message, field),
                         reflection.MutableMessage(base, field));
    }
  }
}

}  // namespace

void MergeOver(const gp::Message& override_message, gp::Message* base) {
  CHECK(override_message.GetDescriptor() == base->GetDescriptor());
  ClearReplacedLists(override_message, base);
  base->MergeFrom(override_message);
}

}  // namespace orrery
