#include "catalog/finite.h"

#include <cmath>
#include <vector>

#include "base/format.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;
using Type = gp::FieldDescriptor::CppType;

// Beyond any count or share; a product of several of them is still a number.
constexpr double kMost = 1e30;

void CheckNumber(double value, const std::string& path,
                 Violations* violations) {
  if (std::abs(value) <= kMost) return;
  violations->Add(fmt::format("{}: must be a number of at most {:.0e}, got {}",
                              path, kMost, value));
}

}  // namespace

void CheckFinite(const gp::Message& message, const std::string& path,
                 Violations* violations) {
  const gp::Reflection& r = *message.GetReflection();
  std::vector<const gp::FieldDescriptor*> fields;
  r.ListFields(message, &fields);
  for (const gp::FieldDescriptor* field : fields) {
    const int size = field->is_repeated() ? r.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      const std::string here =
          fmt::format("{}{}{}{}", path, path.empty() ? "" : ".", field->name(),
                      field->is_repeated() ? fmt::format("[{}]", i) : "");
      if (field->cpp_type() == Type::CPPTYPE_DOUBLE) {
        CheckNumber(field->is_repeated()
                        ? r.GetRepeatedDouble(message, field, i)
                        : r.GetDouble(message, field),
                    here, violations);
      } else if (field->cpp_type() == Type::CPPTYPE_MESSAGE) {
        CheckFinite(field->is_repeated()
                        ? r.GetRepeatedMessage(message, field, i)
                        : r.GetMessage(message, field),
                    here, violations);
      }
    }
  }
}

}  // namespace orrery
