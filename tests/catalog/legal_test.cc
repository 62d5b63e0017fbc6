// Every number and every text that a user can give names a quantity, every
// preset keeps to the ranges, and what is outside of them is refused by name.
#include "catalog/legal.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <google/protobuf/dynamic_message.h>

#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "catalog/catalog.h"
#include "catalog/textproto.h"
#include "proto/cost.pb.h"
#include "proto/scenario.pb.h"
#include "proto/study.pb.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Whatever a command reads; a scenario's parts are within it.
const std::vector<const gp::Message*>& Inputs() {
  static const auto* const inputs = new std::vector<const gp::Message*>{
      &pb::Scenario::default_instance(), &pb::Study::default_instance(),
      &pb::Process::default_instance(),  &pb::Packaging::default_instance(),
      &pb::Package::default_instance(),  &pb::PriceList::default_instance()};
  return *inputs;
}

// Every field that can be reached, once.
void Reach(const gp::Descriptor& type, std::set<const gp::Descriptor*>* seen,
           std::vector<const gp::FieldDescriptor*>* fields) {
  if (!seen->insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const gp::FieldDescriptor* field = type.field(i);
    if (field->message_type() != nullptr) {
      Reach(*field->message_type(), seen, fields);
    } else {
      fields->push_back(field);
    }
  }
}
std::vector<const gp::FieldDescriptor*> AllFields() {
  std::set<const gp::Descriptor*> seen;
  std::vector<const gp::FieldDescriptor*> fields;
  for (const gp::Message* input : Inputs()) {
    Reach(*input->GetDescriptor(), &seen, &fields);
  }
  return fields;
}

bool HoldsAQuantity(const gp::FieldDescriptor& field) {
  return field.enum_type() == nullptr &&
         field.cpp_type() != gp::FieldDescriptor::CPPTYPE_BOOL;
}

pb::Legal LegalOf(const gp::FieldDescriptor& field) {
  const pb::Quantity quantity = field.options().GetExtension(pb::quantity);
  return pb::Quantity_descriptor()
      ->FindValueByNumber(quantity)
      ->options()
      .GetExtension(pb::legal);
}

TEST(Legal, EveryNumberAndTextOfAnInputNamesItsQuantity) {
  const auto fields = AllFields();
  EXPECT_GT(fields.size(), 300u);
  for (const gp::FieldDescriptor* field : fields) {
    if (!HoldsAQuantity(*field)) continue;
    const std::string name = field->full_name();
    EXPECT_TRUE(field->options().HasExtension(pb::quantity))
        << name << ": name its quantity, [(quantity) = ...], of "
        << "proto/quantity.proto";
    const pb::Legal legal = LegalOf(*field);
    const bool text = field->cpp_type() == gp::FieldDescriptor::CPPTYPE_STRING;
    EXPECT_EQ(text, legal.unit() != pb::Legal::NUMBER) << name;
    EXPECT_TRUE(legal.has_example() || legal.unit() == pb::Legal::LETTERS)
        << name;
  }
}

// A message with this value in this field; nothing if it is not of its type.
std::unique_ptr<gp::Message> With(const gp::FieldDescriptor& field,
                                  const std::string& value) {
  std::unique_ptr<gp::Message> message(
      gp::MessageFactory::generated_factory()
          ->GetPrototype(field.containing_type())
          ->New());
  const gp::Reflection& r = *message->GetReflection();
  const bool list = field.is_repeated();
  double number = 0;
  switch (field.cpp_type()) {
    case gp::FieldDescriptor::CPPTYPE_STRING:
      list ? r.AddString(message.get(), &field, value)
           : r.SetString(message.get(), &field, value);
      break;
    case gp::FieldDescriptor::CPPTYPE_DOUBLE:
      if (!absl::SimpleAtod(value, &number)) return nullptr;
      list ? r.AddDouble(message.get(), &field, number)
           : r.SetDouble(message.get(), &field, number);
      break;
    case gp::FieldDescriptor::CPPTYPE_INT32: {
      int32_t whole = 0;
      if (!absl::SimpleAtoi(value, &whole)) return nullptr;
      list ? r.AddInt32(message.get(), &field, whole)
           : r.SetInt32(message.get(), &field, whole);
      break;
    }
    default:
      return nullptr;
  }
  return message;
}

TEST(Legal, BoundsAndExamplesAreLegal) {
  for (const gp::FieldDescriptor* field : AllFields()) {
    const pb::Legal legal = LegalOf(*field);
    if (!HoldsAQuantity(*field) || legal.unit() == pb::Legal::LETTERS) continue;
    for (const std::string& value :
         {legal.least(), legal.most(), legal.example()}) {
      const auto message = With(*field, value);
      ASSERT_NE(message, nullptr) << field->full_name() << " = " << value;
      EXPECT_OK(CheckLegal(*message, "x"));
    }
  }
}

// The same hostile values for every field: whatever its unit, none is one.
TEST(Legal, WhatIsNoValueIsRefusedForEveryField) {
  for (const gp::FieldDescriptor* field : AllFields()) {
    if (!HoldsAQuantity(*field)) continue;
    const pb::Legal legal = LegalOf(*field);
    std::vector<std::string> bad;
    if (legal.unit() == pb::Legal::LETTERS) {
      bad.emplace_back(200'000, 'x');
      if (legal.least() != "0") bad.insert(bad.end(), {"", "two\nlines"});
    } else if (field->cpp_type() == gp::FieldDescriptor::CPPTYPE_STRING) {
      const size_t blank = legal.example().find(' ');
      for (const char* number : {"", "-1", "nan", "inf", "1e25", "1e300"}) {
        if (blank == std::string::npos) continue;
        bad.push_back(absl::StrCat(number, legal.example().substr(blank)));
      }
      bad.insert(bad.end(), {"", "1 parsec", "\xCE\xBC", "1 2", "abc",
                             std::string(200'000, '9')});
      if (legal.unit() != pb::Legal::PRICE) bad.emplace_back("5");
    } else {
      bad = {"nan", "inf", "-inf", "1e300", "-1e300"};
      if (legal.least()[0] != '-') bad.insert(bad.end(), {"-1", "-2000000000"});
    }
    for (const std::string& value : bad) {
      const auto message = With(*field, value);
      if (message == nullptr) continue;  // no such number
      const absl::Status status = CheckLegal(*message, "at");
      EXPECT_FALSE(status.ok()) << field->full_name() << " = " << value;
      // Field, value and what would be legal, in one short line.
      EXPECT_THAT(std::string(status.message()),
                  AllOf(StartsWith(absl::StrCat("at.", field->name())),
                        HasSubstr("must be"), HasSubstr("; write")));
      EXPECT_LT(status.message().size(), 400u);
    }
  }
}

TEST(Legal, ARefusalNamesFieldRangeValueAndExample) {
  pb::Scenario scenario;
  ASSERT_OK(ParseTextproto(
      "model { published_parameters: -1 } system { chip { year: -1 clock: "
      "\"1e20 GHz\" peak { rate: \"2e9 TFLOP/s\" } memory: \"4 EB\" "
      "memory_bandwidth: \"1000 PB/s\" power: \"\" } collectives { protocol { "
      "fill_latency: \"\" } } } cost { rent: \"-5\" } training { recompute: "
      "RECOMPUTE_UNSPECIFIED }",
      "f", &scenario));
  Violations violations;
  CheckLegal(scenario, "", &violations);
  EXPECT_THAT(
      violations.messages(),
      testing::UnorderedElementsAre(
          "model.published_parameters: must be a number from 1000 to 1e16, got "
          "-1; write for example 70.6e9",
          "system.chip.year: must be a whole number from 1990 to 2100, got -1; "
          "write for example 2025",
          "system.chip.clock: must be a frequency from 1 MHz to 30 GHz, got "
          "'1e20 GHz'; write for example \"1.98 GHz\"",
          "system.chip.peak[0].rate: must be a rate of FLOPs from 1 GFLOP/s to "
          "2 EFLOP/s, got '2e9 TFLOP/s'; write for example \"989.4 TFLOP/s\"",
          "system.chip.memory: must be a number of bytes from 1 MB to 100 TB, "
          "got '4 EB'; write for example \"80 GB\"",
          "system.chip.memory_bandwidth: must be a bandwidth from 1 GB/s to "
          "100 PB/s, got '1000 PB/s'; write for example \"3.35 TB/s\"",
          "system.chip.power: must be a power from 0.1 W to 100 kW, got ''; "
          "write for example \"700 W\"",
          "system.collectives.protocol[0].fill_latency: must be a time from 0 "
          "s to 1 s, got ''; write for example \"1 us\"",
          "cost.rent: must be a price per hour from $0.0001/h to $100000/h, "
          "got '-5'; write for example \"$2.5/h\"",
          "training.recompute: must be one of RECOMPUTE_NONE, "
          "RECOMPUTE_SELECTIVE, RECOMPUTE_FULL, RECOMPUTE_PER_MODULE, "
          "RECOMPUTE_PER_OP, not RECOMPUTE_UNSPECIFIED"));
}

template <class Message>
void ExpectLegal(absl::StatusOr<Message> preset, const std::string& name) {
  ASSERT_OK(preset.status());
  EXPECT_OK(CheckLegal(*preset, name));
}

TEST(Legal, EveryPresetIs) {
  const Catalog catalog;
  for (const EmbeddedPreset& preset : EmbeddedPresets()) {
    const std::string kind(preset.kind);
    const std::string name(preset.name);
    if (kind == "chips") ExpectLegal(catalog.Chip(name), name);
    if (kind == "engines") ExpectLegal(catalog.Engine(name), name);
    if (kind == "frameworks") ExpectLegal(catalog.Framework(name), name);
    if (kind == "kernels") ExpectLegal(catalog.Kernels(name), name);
    if (kind == "models") ExpectLegal(catalog.Model(name), name);
    if (kind == "packages") ExpectLegal(catalog.Package(name), name);
    if (kind == "packaging") ExpectLegal(catalog.Packaging(name), name);
    if (kind == "prices") ExpectLegal(catalog.Prices(name), name);
    if (kind == "processes") ExpectLegal(catalog.Process(name), name);
    if (kind == "scenarios") ExpectLegal(catalog.Scenario(name), name);
    if (kind == "studies") ExpectLegal(catalog.Study(name), name);
    if (kind == "systems") ExpectLegal(catalog.System(name), name);
  }
}

// Each row of the table in the docs is a quantity with a unit, and its range.
TEST(Legal, TheDocsHaveTheRangesOfTheSchema) {
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile("docs/catalog.md"));
  const gp::EnumDescriptor& type = *pb::Quantity_descriptor();
  for (int i = 1; i < type.value_count(); ++i) {
    const pb::Legal legal = type.value(i)->options().GetExtension(pb::legal);
    if (legal.unit() == pb::Legal::NUMBER || legal.unit() == pb::Legal::PRICE ||
        legal.unit() == pb::Legal::LETTERS) {
      continue;
    }
    EXPECT_THAT(page, HasSubstr(absl::StrCat("| ", legal.least(), " | ",
                                             legal.most(), " |")))
        << type.value(i)->name();
  }
}

// Ten times the best chip and network of today, and a tenth of a small one.
TEST(Legal, WhatAResearcherWouldTryIs) {
  pb::Scenario scenario;
  ASSERT_OK(ParseTextproto(
      "model { layers: 2000 hidden: 262144 vocabulary: 1000000 moe { experts: "
      "8192 } published_parameters: 100e12 } system { nodes: 1000000 chip { "
      "year: 2035 clock: \"25 GHz\" peak { rate: \"150 PFLOP/s\" } memory: "
      "\"3 TB\" memory_bandwidth: \"220 TB/s\" power: \"30 kW\" sfu_rate: "
      "\"200 Top/s\" vector_rate: \"10 PFLOP/s\" compute_units: 4000 cache { "
      "size: \"44 GB\" bandwidth: \"21 PB/s\" } } scale_up { chip_bandwidth: "
      "\"18 TB/s\" } scale_out { nic_bandwidth: \"16 Tb/s\" nic_latency: \"0 "
      "us\" } collectives { protocol { step_latency: \"10 ns\" efficiency: 1 } "
      "} } training { sequence: 10000000 run_tokens: 1e15 } cost { rent: "
      "\"$0.05/h\" }",
      "tomorrow", &scenario));
  EXPECT_OK(CheckLegal(scenario, ""));
  scenario.Clear();
  ASSERT_OK(ParseTextproto(
      "model { layers: 1 hidden: 16 vocabulary: 100 published_parameters: 2e4 "
      "} system { chip { clock: \"100 MHz\" peak { rate: \"10 GFLOP/s\" } "
      "memory: \"64 MB\" memory_bandwidth: \"4 GB/s\" power: \"1 W\" cache { "
      "size: \"32 KiB\" bandwidth: \"8 GB/s\" } } scale_out { nic_bandwidth: "
      "\"1 Gb/s\" nic_latency: \"50 ms\" } }",
      "edge", &scenario));
  EXPECT_OK(CheckLegal(scenario, ""));
}

}  // namespace
}  // namespace orrery
