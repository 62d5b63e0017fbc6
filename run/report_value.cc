#include "run/report_value.h"

#include <absl/algorithm/container.h>
#include <google/protobuf/descriptor.h>

#include "base/excerpt.h"
#include "base/format.h"
#include "catalog/nearest.h"

namespace orrery {
namespace {

bool IsNumber(const google::protobuf::FieldDescriptor& field) {
  using Field = google::protobuf::FieldDescriptor;
  return field.cpp_type() == Field::CPPTYPE_DOUBLE ||
         field.cpp_type() == Field::CPPTYPE_INT64 ||
         field.cpp_type() == Field::CPPTYPE_INT32 ||
         field.cpp_type() == Field::CPPTYPE_BOOL;
}

void AddNames(const google::protobuf::Descriptor& type,
              const std::string& prefix, std::vector<std::string>* names) {
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) continue;
    if (field.message_type() != nullptr) {
      AddNames(*field.message_type(), prefix + field.name() + ".", names);
    } else if (IsNumber(field)) {
      names->push_back(prefix + field.name());
    }
  }
}

}  // namespace

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

const std::vector<std::string>& ReportNames() {
  static const auto* const names = [] {
    auto* made = new std::vector<std::string>;
    AddNames(*pb::Report::descriptor(), "", made);
    return made;
  }();
  return *names;
}

absl::Status CheckNames(const Expression& expression,
                        absl::Span<const std::string> others) {
  for (const std::string& name : expression.names()) {
    if (absl::c_linear_search(ReportNames(), name) ||
        absl::c_linear_search(others, name)) {
      continue;
    }
    std::vector<std::string> known(others.begin(), others.end());
    known.insert(known.end(), ReportNames().begin(), ReportNames().end());
    return absl::InvalidArgumentError(fmt::format(
        "'{}': there is no '{}'{} (names are those that 'orrery simulate "
        "SCENARIO --json -' prints, such as step_time_s or "
        "cost.dollars_per_run)",
        Excerpt(expression.text(), 200), Excerpt(name),
        DidYouMean(name, known)));
  }
  return absl::OkStatus();
}

}  // namespace orrery
