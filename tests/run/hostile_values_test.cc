// Whatever a field of a scenario is set to, the answer is a report of finite
// numbers or a refusal that says what to do; never a failed check, and never a
// long wait. In one process, so that every field has its turn.
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "proto/quantity.pb.h"
#include "run/requests/scenario_report.h"
#include "run/scenario.h"
#include "tests/effort.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;
using Field = gp::FieldDescriptor;

// Small enough to be run a thousand times.
constexpr const char* kScenarios[] = {
    R"(name: "trains"
       model { preset: "mixtral_8x7b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 1 }
       training { global_batch: 8 micro_batch: 1 sequence: 1024
         parallel { tensor: 2 expert: 4 sequence_parallel: true }
         precision: BF16 } cost { prices: "market_2025" })",
    R"(name: "pipelined"
       model { preset: "gpt_22b" layers: 4 }
       system { preset: "dgx_a100_hdr200" nodes: 2 }
       training { global_batch: 16 micro_batch: 1 sequence: 1024
         parallel { tensor: 4 pipeline: 2 } sharding: ZERO_1
         precision: BF16 run_tokens: 1e12 bucket: "40 MB" })",
    R"(name: "serves"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 1 }
       inference { batch: 8 prompt: 256 output: 8 precision: BF16
         parallel { tensor: 2 } })",
    R"(name: "torus"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "tpu_v5p_pod" nodes: 4 }
       training { global_batch: 16 micro_batch: 1 sequence: 1024
         parallel { } sharding: ZERO_3 precision: BF16 })"};

pb::Legal LegalOf(const Field& field) {
  return pb::Quantity_descriptor()
      ->FindValueByNumber(field.options().GetExtension(pb::quantity))
      ->options()
      .GetExtension(pb::legal);
}

struct Leaf {
  std::string path;
  const Field* field;
};

// Every field below `message`, set or not; of lists the first entry's.
void Collect(const gp::Message& message, const std::string& prefix, int depth,
             std::vector<Leaf>* leaves) {
  const gp::Reflection& r = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const Field* field = message.GetDescriptor()->field(i);
    const std::string path = prefix + field->name();
    if (field->message_type() == nullptr) {
      leaves->push_back({path, field});
    } else if (field->name() == "source" || depth == 0) {
      continue;
    } else if (!field->is_repeated()) {
      // What is a part of its own has its own turn.
      const bool set = r.HasField(message, field);
      Collect(r.GetMessage(message, field), path + ".", set ? depth - 1 : 0,
              leaves);
    } else if (r.FieldSize(message, field) > 0) {
      Collect(r.GetRepeatedMessage(message, field, 0), path + "[0].", depth - 1,
              leaves);
    }
  }
}

std::vector<Leaf> LeavesOf(const char* text) {
  const auto resolved = ResolveScenarioText(Catalog(), text, "test", {});
  EXPECT_OK(resolved.status());
  std::vector<Leaf> leaves;
  Collect(*resolved, "", 8, &leaves);
  return leaves;
}

void ExpectFinite(const gp::Message& message, const std::string& what) {
  const gp::Reflection& r = *message.GetReflection();
  std::vector<const Field*> fields;
  r.ListFields(message, &fields);
  for (const Field* field : fields) {
    const int size = field->is_repeated() ? r.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      if (field->cpp_type() == Field::CPPTYPE_DOUBLE) {
        const double value = field->is_repeated()
                                 ? r.GetRepeatedDouble(message, field, i)
                                 : r.GetDouble(message, field);
        EXPECT_TRUE(std::isfinite(value))
            << what << ": " << field->full_name() << " is " << value;
      } else if (field->message_type() != nullptr) {
        ExpectFinite(field->is_repeated()
                         ? r.GetRepeatedMessage(message, field, i)
                         : r.GetMessage(message, field),
                     what);
      }
    }
  }
}

// Words of which a refusal has some: what would be legal, or what to do.
bool SaysWhatToDo(absl::string_view line) {
  for (const absl::string_view words : {"must be",
                                        "write ",
                                        "; set ",
                                        "did you mean",
                                        "leave ",
                                        "nearest",
                                        "could be",
                                        "would",
                                        " between ",
                                        "needs ",
                                        "give ",
                                        "add ",
                                        "must ",
                                        "one of ",
                                        "its fields are",
                                        "lists them",
                                        "shows them",
                                        "at most",
                                        "at least",
                                        "name ",
                                        "make both",
                                        " can",
                                        "raise ",
                                        "lower ",
                                        "otherwise set",
                                        "is not a whole number from",
                                        "is not a number from",
                                        "is not true or false",
                                        "fewer",
                                        "takes ",
                                        "set the",
                                        "; it has ",
                                        "among the "}) {
    if (absl::StrContains(line, words)) return true;
  }
  return false;
}

void ExpectRefusal(const absl::Status& status, const std::string& what) {
  EXPECT_NE(status.code(), absl::StatusCode::kInternal) << what << status;
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    EXPECT_LT(line.size(), 1200u) << what;
    EXPECT_TRUE(SaysWhatToDo(line)) << what << ": no remedy in: " << line;
  }
}

// What the program would answer.
void Ask(const char* text, const std::vector<std::string>& sets,
         int* answered) {
  const std::string what = absl::StrCat("--set ", sets[0].substr(0, 200),
                                        sets.size() > 1 ? " ..." : "");
  SCOPED_TRACE(what);
  const auto begin = std::chrono::steady_clock::now();
  const auto status = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(pb::Scenario proto,
                     ResolveScenarioText(Catalog(), text, "test", sets));
    ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                     MakeScenario(std::move(proto)));
    ASSIGN_OR_RETURN(const pb::Report estimate, EstimateReport(scenario));
    ExpectFinite(estimate, what);
    RunOptions options;
    options.memory = Bytes(int64_t{1} << 30);
    ASSIGN_OR_RETURN(const pb::Report report,
                     ReportScenario(scenario, options));
    ExpectFinite(report, what);
    return absl::OkStatus();
  }();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 20) << what;
  if (status.ok()) {
    ++*answered;
  } else {
    ExpectRefusal(status, what);
  }
}

class HostileValues : public testing::TestWithParam<const char*> {};

TEST_P(HostileValues, AtTheBoundsOfEveryFieldThereIsAnAnswer) {
  int answered = 0;
  int asked = 0;
  for (const Leaf& leaf : LeavesOf(GetParam())) {
    std::vector<std::string> values;
    if (leaf.field->cpp_type() == Field::CPPTYPE_BOOL) {
      values = {"true", "false"};
    } else if (const auto* type = leaf.field->enum_type()) {
      for (int i = 1; i < type->value_count(); ++i) {
        values.push_back(type->value(i)->name());
      }
    } else if (LegalOf(*leaf.field).unit() != pb::Legal::LETTERS) {
      const pb::Legal legal = LegalOf(*leaf.field);
      values = {legal.least(), legal.most(), legal.example()};
    }
    for (const std::string& value : values) {
      ++asked;
      Ask(GetParam(), {absl::StrCat(leaf.path, "=", value)}, &answered);
    }
  }
  EXPECT_GT(asked, 400);
  EXPECT_GT(answered, asked / 4);
}

TEST_P(HostileValues, OfEveryFieldAreRefusedWithARemedy) {
  for (const Leaf& leaf : LeavesOf(GetParam())) {
    std::vector<std::string> values = {
        "\"\"",  "{}",  "[",  "}", "nonsense{", "\xCE\xBC\xE2\x82\xAC",
        "1 2 3", "# x", "\"", "0x"};
    const bool letters = leaf.field->cpp_type() == Field::CPPTYPE_STRING &&
                         LegalOf(*leaf.field).unit() == pb::Legal::LETTERS;
    if (letters) {
      values = {std::string(200'000, 'x')};
      // Words for people may have lines.
      if (LegalOf(*leaf.field).least() != "0") {
        values.insert(values.end(), {"\"\"", "\"a\\nb\""});
      }
    } else {
      for (const char* more : {"-1", "nan", "inf", "-inf", "1e999", "1e30",
                               "-1 GB", "5 parsec", "99999999999999999999"}) {
        values.emplace_back(more);
      }
      values.emplace_back(200'000, '9');
    }
    for (const std::string& value : values) {
      const std::string set = absl::StrCat(leaf.path, "=", value);
      const auto proto =
          ResolveScenarioText(Catalog(), GetParam(), "test", {{set}});
      const absl::Status status =
          proto.ok() ? MakeScenario(*proto).status() : proto.status();
      EXPECT_FALSE(status.ok()) << set.substr(0, 200);
      if (!status.ok()) ExpectRefusal(status, set.substr(0, 200));
    }
  }
}

// A legal value, often an extreme one.
std::string Draw(const Field& field, Rng* rng) {
  if (field.cpp_type() == Field::CPPTYPE_BOOL) {
    return rng->Below(2) == 0 ? "true" : "false";
  }
  if (const auto* type = field.enum_type()) {
    return type
        ->value(1 + static_cast<int>(rng->Below(
                        static_cast<uint64_t>(type->value_count() - 1))))
        ->name();
  }
  const pb::Legal legal = LegalOf(field);
  double least = 0, most = 0;
  if (rng->Below(2) == 0 && absl::SimpleAtod(legal.least(), &least) &&
      absl::SimpleAtod(legal.most(), &most)) {
    const double low = std::max(least, 1e-3);
    const double drawn = low * std::pow(most / low, rng->Uniform());
    return field.cpp_type() == Field::CPPTYPE_INT32
               ? absl::StrCat(static_cast<int64_t>(drawn))
               : absl::StrCat(drawn);
  }
  const std::string values[] = {legal.least(), legal.most(), legal.example()};
  return values[rng->Below(3)];
}

// Fields that contradict each other, three at a time.
TEST_P(HostileValues, ThatContradictEachOtherAreAnswered) {
  std::vector<Leaf> leaves = LeavesOf(GetParam());
  std::erase_if(leaves, [](const Leaf& leaf) {
    return leaf.field->cpp_type() == Field::CPPTYPE_STRING &&
           LegalOf(*leaf.field).unit() == pb::Legal::LETTERS;
  });
  Rng rng(5, absl::StrCat("contradict ", GetParam()));
  int answered = 0;
  const int rounds = Rounds(400);
  for (int i = 0; i < rounds; ++i) {
    std::vector<std::string> sets;
    for (int j = 0; j < 3; ++j) {
      const Leaf& leaf = leaves[rng.Below(leaves.size())];
      sets.push_back(absl::StrCat(leaf.path, "=", Draw(*leaf.field, &rng)));
    }
    SCOPED_TRACE(absl::StrCat(sets[0], " ", sets[1], " ", sets[2]));
    Ask(GetParam(), sets, &answered);
  }
  EXPECT_GT(answered, 0);
}

std::string NameOf(const testing::TestParamInfo<const char*>& info) {
  const std::vector<std::string> parts = absl::StrSplit(info.param, '"');
  return parts[1];
}
INSTANTIATE_TEST_SUITE_P(Scenarios, HostileValues,
                         testing::ValuesIn(kScenarios), NameOf);

}  // namespace
}  // namespace orrery
