#pragma once
// FieldReader: the fields of one message, checked and typed as they are read.
//
// Every mistake is added to one list of violations with the field's path, its
// value and the rule it breaks; reading goes on, so that the user learns of all
// of them at once. What is returned for a bad field is a dummy: look at the
// violations before the values are used.
//
//   Violations violations;
//   const FieldReader fields(proto, "chip", &violations);
//   const Bytes memory = fields.Positive<Bytes>("memory");
//   const auto power = fields.OptionalPositive<Watts>("power");
//   RETURN_IF_ERROR(violations.ToStatus());
//     "chip.memory: not set; write for example \"80 GB\""
//
// Fields are named as in the schema; a name that is not there is our mistake
// (CHECK). The message must outlive the reader.
#include <google/protobuf/message.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace orrery {

class FieldReader {
 public:
  FieldReader(const google::protobuf::Message& message, std::string path,
              Violations* violations);

  const std::string& path() const { return path_; }
  bool Has(std::string_view name) const;
  // Adds the violation "path.name: why".
  void Refuse(std::string_view name, std::string_view why) const;
  // Whether there is a violation of this field, so that its value is a dummy.
  bool IsRefused(std::string_view name) const;

  // A quantity written as text with its unit: Duration, Bytes, BytesPerSecond,
  // FlopsPerSecond, OpsPerSecond, Hertz, Watts or SquareMillimetres. Unset is a
  // violation, never zero.
  template <class Q>
  Q Positive(std::string_view name) const;
  template <class Q>
  Q NonNegative(std::string_view name) const;
  // Unset is legal; if set it must be positive.
  template <class Q>
  std::optional<Q> OptionalPositive(std::string_view name) const;

  // A whole number within [low, high].
  int Count(std::string_view name, int low, int high) const;
  std::optional<int> OptionalCount(std::string_view name, int low,
                                   int high) const;
  // A repeated whole number, each within [low, high]; may be empty.
  std::vector<int> Counts(std::string_view name, int low, int high) const;

  // A number within [low, high], within (0, 1], within [0, 1].
  double Real(std::string_view name, double low, double high) const;
  std::optional<double> OptionalReal(std::string_view name, double low,
                                     double high) const;
  double Efficiency(std::string_view name) const;
  double Share(std::string_view name) const;

  // Text that is there, and text that may be missing.
  std::string Text(std::string_view name) const;
  std::string OptionalText(std::string_view name) const;
  // A repeated text; may be empty.
  std::vector<std::string> Texts(std::string_view name) const;
  // Unset is false.
  bool Flag(std::string_view name) const;

  // Unset and UNSPECIFIED are violations that list the legal names.
  template <class E>
  E Enum(std::string_view name) const {
    return static_cast<E>(EnumNumber(name));
  }

  // A message that must be there (unset is a violation), one that may be, and
  // all of a repeated field.
  std::optional<FieldReader> Required(std::string_view name) const;
  std::optional<FieldReader> Optional(std::string_view name) const;
  std::vector<FieldReader> Each(std::string_view name) const;

 private:
  const google::protobuf::FieldDescriptor& Field(std::string_view name) const;
  int EnumNumber(std::string_view name) const;
  bool CheckSet(std::string_view name, std::string_view remedy) const;
  // The parsed quantity, or nothing after a violation.
  template <class Q>
  std::optional<Q> Parsed(std::string_view name, bool zero_is_legal) const;

  const google::protobuf::Message* message_;
  std::string path_;
  Violations* violations_;
};

}  // namespace orrery
