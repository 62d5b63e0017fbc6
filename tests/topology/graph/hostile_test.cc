// Every field of a system, spoilt in every way we can think of, one at a time:
// the answer is a refusal that names the field, or a system that is still
// valid; never a crash, a hang or an allocation of absurd size.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/status_matchers.h"
#include "tests/topology/machine/protos.h"
#include "topology/machine/system.h"

namespace orrery {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::vector<std::string> SpoiltTexts() {
  std::vector<std::string> texts = {
      "",         " ",          "-1 GB",    "0 GB/s",
      "nan TB/s", "1e999 TB/s", "1 parsec", "9223372036854775808 B",
      "\xff\xfe"};
  texts.emplace_back("8\0 GB", 5);
  std::string endless(100'000, '9');
  texts.push_back(endless.append(" GB"));
  return texts;
}

// Spoils the scalar `field` of `message` in one way after another and calls
// `check` each time; puts it back in the end.
void SpoilScalar(Message* message, const FieldDescriptor* field,
                 const std::function<void()>& check) {
  const auto* reflection = message->GetReflection();
  const auto try_all = [&](const auto& values, auto set, auto old) {
    for (const auto& value : values) {
      (reflection->*set)(message, field, value);
      check();
    }
    (reflection->*set)(message, field, old);
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      using Limits = std::numeric_limits<int32_t>;
      try_all(std::vector<int32_t>{Limits::min(), -1, 0, 1, 7, 99'999,
                                   Limits::max()},
              &google::protobuf::Reflection::SetInt32,
              reflection->GetInt32(*message, field));
      break;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      using Limits = std::numeric_limits<double>;
      try_all(
          std::vector<double>{-Limits::infinity(), -1, 0, 1e-300, 0.5, 1e300,
                              Limits::infinity(), Limits::quiet_NaN()},
          &google::protobuf::Reflection::SetDouble,
          reflection->GetDouble(*message, field));
      break;
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string old = reflection->GetString(*message, field);
      for (const std::string& value : SpoiltTexts()) {
        reflection->SetString(message, field, value);
        check();
      }
      reflection->SetString(message, field, old);
      break;
    }
    default:
      break;
  }
}

// Calls `spoilt(field name)` for every way in which a set scalar below
// `message` can be spoilt.
void SpoilEach(Message* message,
               const std::function<void(const std::string&)>& spoilt) {
  const auto* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection->ListFields(*message, &set);
  for (const FieldDescriptor* field : set) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      if (field->is_repeated()) continue;
      SpoilScalar(message, field, [&] { spoilt(field->name()); });
    } else if (field->is_repeated()) {
      for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
        SpoilEach(reflection->MutableRepeatedMessage(message, field, i),
                  spoilt);
      }
    } else {
      SpoilEach(reflection->MutableMessage(message, field), spoilt);
    }
  }
}

void ExpectNamedRefusals(pb::System system) {
  int refused = 0;
  SpoilEach(&system, [&](const std::string& field) {
    const auto result = System::FromProto(system);
    if (result.ok()) return;
    ++refused;
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    const std::string message(result.status().message());
    EXPECT_NE(message.find("system."), std::string::npos) << message;
    // A number that is legal by itself may break a rule of its neighbours;
    // then the neighbour or the whole is named.
    const bool by_itself = message.find(field) != std::string::npos;
    const bool by_rule =
        message.find("end points") != std::string::npos ||
        message.find("links") != std::string::npos ||
        message.find("not set, but") != std::string::npos ||
        message.find("shared evenly") != std::string::npos ||
        message.find("nothing of the memory") != std::string::npos;
    EXPECT_TRUE(by_itself || by_rule) << field << ": " << message;
  });
  EXPECT_GT(refused, 100);
  EXPECT_OK(System::FromProto(system)) << "not put back";
}

TEST(HostileSystem, RailsAreRefusedByName) {
  ExpectNamedRefusals(With(TestSystem(), R"pb(
    host {
      cpus_per_node: 2
      memory: "2 TB"
      chip_bandwidth: "63 GB/s"
      power: "4 kW"
    }
    fault { from: 1 to: 2 remaining: 0.5 }
    chip {
      power: "700 W"
      die { node: "N7" area: "800 mm2" compute_dies: 1 transistors: 5e10 }
    }
  )pb"));
}

TEST(HostileSystem, OtherFabricsAreRefusedByName) {
  for (const char* fabric :
       {"torus { shape: [8, 4] }", "torus { dimensions: 2 }",
        "mesh { shape: [32] }", "fat_tree { radix: 40 taper: 2 tiers: 3 }",
        "rail_only { radix: 40 }",
        "dragonfly { hosts_per_router: 2 routers_per_group: 4 "
        "globals_per_router: 2 groups: 5 }",
        "hyperx { shape: [4, 4] hosts_per_router: 2 links: [1, 1] }",
        "links { switches: 1 link { from: 0 to: 32 bandwidth: '1 GB/s' } }"}) {
    pb::System system = TestSystem();
    auto* fabric_proto = system.mutable_scale_out()->mutable_fabric();
    *fabric_proto = With(*fabric_proto, fabric);
    ExpectNamedRefusals(system);
  }
}

}  // namespace
}  // namespace orrery
