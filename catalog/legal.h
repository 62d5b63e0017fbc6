#pragma once
// What an input may hold: every number and every text of it is a quantity with
// one range (proto/quantity.proto), and this is the one place that keeps them.
//
//   Violations violations;
//   CheckLegal(scenario.system(), "system", &violations);
//     "system.chip.clock: must be a frequency from 1 MHz to 30 GHz, got
//      '1e20 GHz'; write for example \"1.98 GHz\""
//
// Whoever makes values of a message calls it first; whether the value was typed
// in a file, with --set, as an axis of a study or with a flag makes no
// difference. Rules between fields are the business of those who read them.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "base/status.h"
#include "proto/quantity.pb.h"

namespace orrery {

// Adds a violation for each set field, however deep, whose value is outside its
// range, and for each enum that is set to "unspecified". `path` is where the
// message stands; "" for a scenario itself.
void CheckLegal(const google::protobuf::Message& message,
                const std::string& path, Violations* violations);
absl::Status CheckLegal(const google::protobuf::Message& message,
                        const std::string& path);

// Whether the field may hold this number. Requires: the field is a number.
bool IsLegal(const google::protobuf::FieldDescriptor& field, double value);

// "a frequency from 1 MHz to 30 GHz": what the field may hold. Requires: the
// field names a quantity.
std::string LegalValues(const google::protobuf::FieldDescriptor& field);

}  // namespace orrery
