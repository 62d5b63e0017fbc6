// The numbers of reports as rows.
#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>
#include <google/protobuf/descriptor.h>

#include "run/search/compare.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;
using Field = gp::FieldDescriptor;

// Rows in the order in which reports first have them.
class RowMaker {
 public:
  explicit RowMaker(size_t sides) : sides_(sides) {}

  void Add(size_t side, const gp::Message& message, const std::string& path) {
    const gp::Descriptor& type = *message.GetDescriptor();
    const gp::Reflection& reflection = *message.GetReflection();
    for (int i = 0; i < type.field_count(); ++i) {
      const Field& field = *type.field(i);
      const std::string name = absl::StrCat(path, field.name());
      if (field.is_repeated()) {
        AddEntries(side, message, field, name);
      } else if (!reflection.HasField(message, &field)) {
        continue;
      } else if (field.cpp_type() != Field::CPPTYPE_MESSAGE) {
        AddNumber(side, message, field, name);
      } else if (field.message_type() == pb::Report::Interval::descriptor()) {
        if (Repeated(name)) continue;
        const auto& interval = static_cast<const pb::Report::Interval&>(
            reflection.GetMessage(message, &field));
        Put(side, name, interval.nominal());
      } else if (Compared(field)) {
        Add(side, reflection.GetMessage(message, &field),
            absl::StrCat(name, "."));
      }
    }
  }

  std::vector<pb::Comparison::Row> Take() { return std::move(rows_); }

 private:
  // What a run took from this computer is not part of the answer.
  static bool Compared(const Field& field) {
    return field.message_type() != pb::Report::EngineStatistics::descriptor() &&
           field.message_type() != pb::Report::Difference::descriptor();
  }

  // Their nominal values are fields of their own: dollars_per_step.
  static bool Repeated(const std::string& name) {
    return name == "cost.chip_hour" || name == "cost.step" ||
           name == "cost.run" || name == "cost.million_tokens";
  }

  void AddNumber(size_t side, const gp::Message& message, const Field& field,
                 const std::string& name) {
    const gp::Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case Field::CPPTYPE_DOUBLE:
        return Put(side, name, reflection.GetDouble(message, &field));
      case Field::CPPTYPE_INT64:
        return Put(side, name,
                   static_cast<double>(reflection.GetInt64(message, &field)));
      case Field::CPPTYPE_INT32:
        return Put(side, name, reflection.GetInt32(message, &field));
      case Field::CPPTYPE_BOOL:
        return Put(side, name, reflection.GetBool(message, &field) ? 1 : 0);
      default:
        return;
    }
  }

  // Of the bill, by what they are; other lists have no names to go by.
  void AddEntries(size_t side, const gp::Message& message, const Field& field,
                  const std::string& name) {
    if (field.cpp_type() != Field::CPPTYPE_MESSAGE) return;
    const gp::Reflection& reflection = *message.GetReflection();
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      const gp::Message& entry =
          reflection.GetRepeatedMessage(message, &field, i);
      if (const auto* item =
              dynamic_cast<const pb::Report::CostResult::Item*>(&entry)) {
        Put(side, absl::StrCat(name, "[", item->what(), "]"),
            item->total().nominal());
      } else if (const auto* share =
                     dynamic_cast<const pb::Report::CostResult::Share*>(
                         &entry)) {
        Put(side, absl::StrCat(name, "[", share->what(), "]"),
            share->dollars().nominal());
      } else if (const auto* factor =
                     dynamic_cast<const pb::Report::CostResult::Factor*>(
                         &entry)) {
        Put(side, absl::StrCat(name, "[", factor->id(), "]"),
            factor->value().nominal());
      }
    }
  }

  void Put(size_t side, const std::string& name, double value) {
    const auto [place, is_new] = places_.try_emplace(name, rows_.size());
    if (is_new) {
      pb::Comparison::Row& row = rows_.emplace_back();
      row.set_field(name);
      for (size_t i = 0; i < sides_; ++i) row.add_values();
    }
    rows_[place->second]
        .mutable_values(static_cast<int>(side))
        ->set_number(value);
  }

  size_t sides_;
  std::vector<pb::Comparison::Row> rows_;
  absl::flat_hash_map<std::string, size_t> places_;
};

}  // namespace

std::vector<pb::Comparison::Row> RowsOf(
    absl::Span<const pb::Report* const> reports) {
  RowMaker maker(reports.size());
  for (size_t i = 0; i < reports.size(); ++i) maker.Add(i, *reports[i], "");
  return maker.Take();
}

}  // namespace orrery
