// Every field of a scenario acts or is refused: each is changed, by reflection
// over the schema, in scenarios that have a use for it. Some other value must
// change the report in one of them, unless all of them are refused. A field
// that is silently ignored fails.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/improve_system.h"
#include "run/report.h"
#include "run/run_scenario.h"
#include "tests/run/field_scenarios.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string NameOf(const FieldDescriptor& field) {
  return field.containing_type()->name() + "." + field.name();
}

// What a scenario gives, as text; its error, if it is refused.
struct Answer {
  bool refused = false;
  std::string text;
};
Answer AnswerOf(const pb::Scenario& proto) {
  const auto scenario = MakeScenario(proto);
  if (!scenario.ok()) return {true, scenario.status().ToString()};
  const auto network = Network::Make(scenario->system);
  if (!network.ok()) return {true, network.status().ToString()};
  RunOptions options;
  if (proto.network().fidelity() == pb::Network::CLOSED_FORM) {
    options.fidelity = Fidelity::kClosedForm;
  }
  const auto run = RunScenario(*scenario, *network, options);
  if (!run.ok()) return {true, run.status().ToString()};
  const auto estimate = EstimateScenario(*scenario);
  if (!estimate.ok()) return {true, estimate.status().ToString()};
  pb::Report report = MakeReport(*scenario, *run, *estimate, options, {});
  report.clear_scenario();
  return {false, report.DebugString()};
}

// Other values for a field of `message`, each set in turn; the message is as it
// was afterwards.
class Changes {
 public:
  Changes(Message& message, const FieldDescriptor& field)
      : message_(message),
        field_(field),
        reflection_(*message.GetReflection()) {}

  // Until `enough` says so.
  template <class Enough>
  void Each(Enough enough) {
    const std::unique_ptr<Message> before(message_.New());
    before->CopyFrom(message_);
    for (const auto& set : field_.is_repeated() ? OfList() : OfValue()) {
      set();
      const bool done = enough();
      message_.CopyFrom(*before);
      if (done) return;
    }
  }

 private:
  using Set = std::function<void()>;

  std::vector<Set> OfValue() {
    std::vector<Set> sets;
    const auto add = [&](auto set) { sets.push_back(set); };
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL: {
        const bool value = reflection_.GetBool(message_, &field_);
        add([=, this] { reflection_.SetBool(&message_, &field_, !value); });
        break;
      }
      case FieldDescriptor::CPPTYPE_INT32: {
        const int32_t value = reflection_.GetInt32(message_, &field_);
        for (const int32_t other : {2 * value, value + 1, value / 2, 1, 2, 4}) {
          if (other == value) continue;
          add([=, this] { reflection_.SetInt32(&message_, &field_, other); });
        }
        break;
      }
      case FieldDescriptor::CPPTYPE_UINT64: {
        const uint64_t value = reflection_.GetUInt64(message_, &field_);
        add([=, this] {
          reflection_.SetUInt64(&message_, &field_, value + 1);
        });
        break;
      }
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        const double value = reflection_.GetDouble(message_, &field_);
        for (const double other : {0.8 * value, 1.5 * value, 0.5, 2.0}) {
          if (other == value) continue;
          add([=, this] { reflection_.SetDouble(&message_, &field_, other); });
        }
        break;
      }
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* value = reflection_.GetEnum(message_, &field_);
        for (int i = 0; i < field_.enum_type()->value_count(); ++i) {
          const auto* other = field_.enum_type()->value(i);
          if (other == value || other->number() == 0) continue;
          add([=, this] { reflection_.SetEnum(&message_, &field_, other); });
        }
        break;
      }
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string value = reflection_.GetString(message_, &field_);
        std::vector<std::string> others = {
            "1 us", "100 us", "8 GB/s", "1 MB", "1 GHz", "50 TFLOP/s", "other"};
        for (const double factor : {0.5, 2.0}) {
          const auto scaled = ScaledQuantity(value, factor);
          if (scaled.ok()) others.insert(others.begin(), *scaled);
        }
        for (const std::string& other : others) {
          add([=, this] { reflection_.SetString(&message_, &field_, other); });
        }
        break;
      }
      default:
        ADD_FAILURE() << "no values for " << NameOf(field_);
    }
    return sets;
  }

  // One entry less, the first one twice, or one where there was none.
  std::vector<Set> OfList() {
    std::vector<Set> sets;
    if (reflection_.FieldSize(message_, &field_) > 0) {
      sets.push_back([this] { reflection_.RemoveLast(&message_, &field_); });
      if (reflection_.FieldSize(message_, &field_) == 1) return sets;
      sets.push_back([this] {
        while (reflection_.FieldSize(message_, &field_) > 1) {
          reflection_.RemoveLast(&message_, &field_);
        }
      });
      return sets;
    }
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        sets.push_back([this] { reflection_.AddInt32(&message_, &field_, 1); });
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        sets.push_back(
            [this] { reflection_.AddDouble(&message_, &field_, 1); });
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        sets.push_back([this] {
          reflection_.AddEnum(&message_, &field_, field_.enum_type()->value(1));
        });
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        sets.push_back(
            [this] { reflection_.AddString(&message_, &field_, "other"); });
        break;
      default:
        break;
    }
    return sets;
  }

  Message& message_;
  const FieldDescriptor& field_;
  const Reflection& reflection_;
};

class Survey {
 public:
  // By field: what came of changing it, in any scenario.
  struct Outcome {
    bool changed = false;
    bool ignored = false;  // another legal value, the same answer
  };
  std::map<std::string, Outcome> fields;
  std::set<std::string> descriptive;

  void Add(pb::Scenario scenario) {
    scenario_ = &scenario;
    const Answer answer = AnswerOf(scenario);
    ASSERT_FALSE(answer.refused) << answer.text;
    usual_ = answer.text;
    Visit(scenario);
  }

 private:
  void Visit(Message& message) {
    const Reflection& reflection = *message.GetReflection();
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& field = *message.GetDescriptor()->field(i);
      if (descriptive.contains(NameOf(field))) continue;
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        if (!field.is_repeated()) {
          if (reflection.HasField(message, &field)) {
            Visit(*reflection.MutableMessage(&message, &field));
          }
        } else if (reflection.FieldSize(message, &field) > 0) {
          Visit(*reflection.MutableRepeatedMessage(&message, &field, 0));
        }
        continue;
      }
      Outcome& outcome = fields[NameOf(field)];
      if (outcome.changed) continue;
      Changes(message, field).Each([&] {
        const Answer answer = AnswerOf(*scenario_);
        if (answer.refused) return false;
        outcome.changed |= answer.text != usual_;
        outcome.ignored |= answer.text == usual_;
        return outcome.changed;
      });
    }
  }

  pb::Scenario* scenario_ = nullptr;
  std::string usual_;
};

TEST(Fields, ActOrAreRefused) {
  Survey survey;
  for (const DescriptiveField& field : kDescriptiveFields) {
    survey.descriptive.insert(field.name);
  }
  for (const char* text : kFieldScenarios) {
    ASSERT_OK_AND_ASSIGN(const pb::Scenario proto,
                         ResolveScenarioText(Catalog(), text, "test", {}));
    survey.Add(proto);
  }
  for (const auto& [name, outcome] : survey.fields) {
    EXPECT_TRUE(outcome.changed || !outcome.ignored)
        << name << " changes nothing in any scenario";
  }
  // That the scenarios cover the schema.
  EXPECT_GT(survey.fields.size(), 150u);
}

}  // namespace
}  // namespace orrery
