#include "run/report_value.h"

#include <google/protobuf/descriptor.h>

#include <string>

namespace orrery {

std::optional<double> ReportValue(const pb::Report& report,
                                  std::string_view name) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Message* message = &report;
  for (;;) {
    const size_t dot = name.find('.');
    const Field* field = message->GetDescriptor()->FindFieldByName(
        std::string(name.substr(0, dot)));
    if (field == nullptr || field->is_repeated()) return std::nullopt;
    const auto& reflection = *message->GetReflection();
    if (!reflection.HasField(*message, field)) return std::nullopt;
    if (dot != std::string_view::npos) {
      if (field->cpp_type() != Field::CPPTYPE_MESSAGE) return std::nullopt;
      message = &reflection.GetMessage(*message, field);
      name.remove_prefix(dot + 1);
      continue;
    }
    switch (field->cpp_type()) {
      case Field::CPPTYPE_DOUBLE:
        return reflection.GetDouble(*message, field);
      case Field::CPPTYPE_INT64:
        return static_cast<double>(reflection.GetInt64(*message, field));
      case Field::CPPTYPE_INT32:
        return reflection.GetInt32(*message, field);
      case Field::CPPTYPE_BOOL:
        return reflection.GetBool(*message, field) ? 1 : 0;
      default:
        return std::nullopt;
    }
  }
}

}  // namespace orrery
