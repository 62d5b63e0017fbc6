#include "catalog/enum_value.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include "catalog/override.h"
#include "catalog/textproto.h"
#include "proto/scenario.pb.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

std::string Found(const gp::EnumDescriptor* type, absl::string_view text) {
  const gp::EnumValueDescriptor* value = FindEnumValue(*type, text);
  return value == nullptr ? "" : value->name();
}

TEST(EnumValue, IsFoundInEveryForm) {
  const auto* recompute = pb::Training::Recompute_descriptor();
  for (const char* text :
       {"RECOMPUTE_FULL", "FULL", "full", "recompute-full", "Recompute_Full"}) {
    EXPECT_EQ(Found(recompute, text), "RECOMPUTE_FULL") << text;
  }
  const auto* sharding = pb::Training::Sharding_descriptor();
  for (const char* text :
       {"ZERO_1", "zero_1", "zero1", "ZeRO-1", "SHARDING_ZERO_1"}) {
    EXPECT_EQ(Found(sharding, text), "ZERO_1") << text;
  }
  const auto* schedule = pb::Training::Schedule_descriptor();
  for (const char* text : {"ONE_F_ONE_B", "1F1B", "1f1b", "SCHEDULE_1F1B"}) {
    EXPECT_EQ(Found(schedule, text), "ONE_F_ONE_B") << text;
  }
  EXPECT_EQ(Found(schedule, "interleaved_1f1b"), "INTERLEAVED_1F1B");
  EXPECT_EQ(Found(schedule, "dualpipe"), "DUAL_PIPE");
}

TEST(EnumValue, IsNotGuessed) {
  EXPECT_EQ(Found(pb::Training::Recompute_descriptor(), "RECOMPUTE"), "");
  EXPECT_EQ(Found(pb::Training::Recompute_descriptor(), "FUL"), "");
  EXPECT_EQ(Found(pb::Training::Recompute_descriptor(), ""), "");
  EXPECT_EQ(
      Found(pb::Training::Recompute_descriptor(), "RECOMPUTE_UNSPECIFIED"), "");
  EXPECT_EQ(Found(pb::Training::Recompute_descriptor(), "unspecified"), "");
}

void Collect(const gp::Descriptor& message, int depth,
             std::vector<const gp::FieldDescriptor*>* out) {
  for (int i = 0; i < message.field_count(); ++i) {
    const gp::FieldDescriptor* field = message.field(i);
    if (field->enum_type() != nullptr) out->push_back(field);
    if (field->message_type() != nullptr && depth > 0) {
      Collect(*field->message_type(), depth - 1, out);
    }
  }
}

// Whatever the schema says, no other spelling of a value means another one.
TEST(EnumValue, OfEveryEnumOfTheSchemaIsFoundInLowerCaseAndWithItsPrefix) {
  std::vector<const gp::FieldDescriptor*> fields;
  Collect(*pb::Scenario::descriptor(), 6, &fields);
  ASSERT_GT(fields.size(), 15u);
  for (const gp::FieldDescriptor* field : fields) {
    const gp::EnumDescriptor* type = field->enum_type();
    for (const std::string& name : LegalNames(*type)) {
      EXPECT_EQ(Found(type, name), name);
      EXPECT_EQ(Found(type, absl::AsciiStrToLower(name)), name);
      EXPECT_EQ(Found(type, absl::StrCat(type->name(), "_", name)), name);
    }
  }
}

TEST(EnumValue, MayBeWrittenSoInFilesAndOverrides) {
  pb::Scenario scenario;
  ASSERT_OK(
      ParseTextproto("# a comment\n"
                     "training {\n"
                     "\trecompute: full sharding: zero1\n"
                     "  schedule: 1F1B  # written as people say it\n"
                     "  precision: bf16\n"
                     "  recompute_module: mlp recompute_module: NORM\n"
                     "}\n"
                     "network { fidelity: stepped }\n",
                     "mine", &scenario));
  EXPECT_EQ(scenario.training().recompute(), pb::Training::RECOMPUTE_FULL);
  EXPECT_EQ(scenario.training().sharding(), pb::Training::ZERO_1);
  EXPECT_EQ(scenario.training().schedule(), pb::Training::ONE_F_ONE_B);
  EXPECT_EQ(scenario.training().precision(), pb::BF16);
  EXPECT_EQ(scenario.training().recompute_module(0), pb::Training::MLP);
  EXPECT_EQ(scenario.network().fidelity(), pb::Network::STEPPED);
  for (const char* set :
       {"training.recompute=none", "training.recompute=RECOMPUTE_NONE"}) {
    ASSERT_OK_AND_ASSIGN(const Override parsed, ParseOverride(set));
    ASSERT_OK(ApplyOverride(parsed, &scenario));
    EXPECT_EQ(scenario.training().recompute(), pb::Training::RECOMPUTE_NONE);
  }
  // The words of an error are about what was written.
  const absl::Status wrong =
      ParseTextproto("training {\n  recompute: fulll\n}", "mine", &scenario);
  EXPECT_EQ(wrong.message(),
            "mine:2:14: recompute must be one of RECOMPUTE_NONE, "
            "RECOMPUTE_SELECTIVE, RECOMPUTE_FULL, RECOMPUTE_PER_MODULE, "
            "RECOMPUTE_PER_OP, not 'fulll'");
}

}  // namespace
}  // namespace orrery
