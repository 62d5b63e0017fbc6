// Whatever a file may say, --set says identically: every field of every message
// of a scenario, with values that are legal and values that are not, gives the
// same resolved scenario both ways, or is refused both ways. Answers are made
// of the resolved scenario alone (MakeScenario), so that they are the same
// bytes.
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "catalog/textproto.h"
#include "proto/quantity.pb.h"
#include "run/scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

constexpr const char* kBases[] = {
    R"(name: "trains"
       model { preset: "mixtral_8x7b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 2 }
       training { global_batch: 32 micro_batch: 1 sequence: 2048
         parallel { tensor: 2 expert: 8 sequence_parallel: true }
         precision: BF16 })",
    R"(name: "own chip"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 1
         chip { name: "mine" like: "h100_sxm" memory: "96 GB" } }
       framework { preset: "torchtitan_2025" kernels { launch: "4 us" } }
       training { global_batch: 16 micro_batch: 1 sequence: 2048
         parallel { tensor: 2 pipeline: 2 } sharding: ZERO_1 precision: BF16 })",
    R"(name: "serves"
       model { preset: "llama2_70b" layers: 4 }
       system { preset: "dgx_h100_ib400" nodes: 4 }
       inference { batch: 32 prompt: 512 output: 16 precision: BF16
         disaggregated { decode_parallel { tensor: 8 } decode_chips: 32
           prefill_parallel { tensor: 8 } prefill_chips: 16 prefill_system {
             preset: "dgx_a100_hdr200" nodes: 2 } } })"};

// The resolved scenario, or why there is none.
using Outcome = absl::StatusOr<pb::Scenario>;

MATCHER_P(ComesToTheSame, other, "comes to the same") {
  *result_listener << arg.status().ToString() << "\nagainst\n"
                   << other.status().ToString();
  // The words of a refusal name the line or the flag.
  if (!arg.ok() || !other.ok()) return arg.ok() == other.ok();
  return arg->SerializeAsString() == other->SerializeAsString();
}

// "training { parallel { tensor: 4 } }" of "training.parallel.tensor".
std::string Snippet(const std::string& path, const std::string& value) {
  const std::vector<std::string> steps = absl::StrSplit(path, '.');
  std::string text, end;
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    absl::StrAppend(&text, steps[i], " { ");
    absl::StrAppend(&end, " }");
  }
  return absl::StrCat(text, steps.back(), ": ", value, end);
}

// The message that holds the last field of the path, made where it is missing.
gp::Message* HolderOf(const std::string& path, gp::Message* message) {
  const std::vector<std::string> steps = absl::StrSplit(path, '.');
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    const auto* field = message->GetDescriptor()->FindFieldByName(steps[i]);
    message = message->GetReflection()->MutableMessage(message, field);
  }
  return message;
}

// The scenario with this line in its file instead of what it says there.
Outcome InAFile(const pb::Scenario& said, const std::string& path,
                const gp::FieldDescriptor& field, const std::string& value) {
  pb::Scenario file = said;
  pb::Scenario line;
  const absl::Status parsed =
      ParseTextproto(Snippet(path, value), "line", &line);
  if (!parsed.ok()) return parsed;
  gp::Message* holder = HolderOf(path, &file);
  if (field.name() == "preset") {
    // It takes the place of the part; the size of the machine stays.
    pb::System kept;
    if (auto* system = dynamic_cast<pb::System*>(holder)) {
      if (system->has_nodes()) kept.set_nodes(system->nodes());
      system->CopyFrom(kept);
    } else {
      holder->Clear();
    }
  }
  holder->GetReflection()->ClearField(holder, &field);
  file.MergeFrom(line);
  return ResolveScenarioText(Catalog(), PrintTextproto(file), "test", {});
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", text, "\"");
}

// As a file writes them.
std::vector<std::string> ValuesFor(const gp::FieldDescriptor& field) {
  using Field = gp::FieldDescriptor;
  switch (field.cpp_type()) {
    case Field::CPPTYPE_BOOL:
      return {"true", "false", "maybe"};
    case Field::CPPTYPE_ENUM: {
      std::vector<std::string> values = {"nonsense", "99"};
      for (int i = 0; i < field.enum_type()->value_count(); ++i) {
        values.push_back(field.enum_type()->value(i)->name());
      }
      // In another form than the schema's.
      values.push_back(absl::AsciiStrToLower(values.back()));
      return values;
    }
    case Field::CPPTYPE_MESSAGE:
      return {"{}", "{ nonsense: 1 }", "3"};
    default:
      break;
  }
  const pb::Legal legal =
      pb::Quantity_descriptor()
          ->FindValueByNumber(field.options().GetExtension(pb::quantity))
          ->options()
          .GetExtension(pb::legal);
  if (field.cpp_type() != Field::CPPTYPE_STRING) {
    return {legal.example(), legal.least(), "-7", "many", "1e99"};
  }
  if (legal.unit() != pb::Legal::LETTERS) {
    return {Quoted(legal.example()), Quoted(legal.most()), Quoted(""),
            Quoted("-1 W"), Quoted("abc")};
  }
  std::vector<std::string> values = {Quoted(""), Quoted("other"),
                                     Quoted("a, b = {c} \\\" d")};
  if (field.name() == "like" || field.name() == "preset" ||
      field.name() == "default_kernels" || field.name() == "attention") {
    for (const char* name :
         {"h200_sxm", "dgx_b200", "hopper_deepseek_2025", "llama3_70b",
          "megatron_core_2025", "sglang", "fa2", "h100_sxm"}) {
      values.push_back(Quoted(name));
    }
  }
  return values;
}

// --set needs no quotes, and takes a list as one value.
std::string AsTyped(const std::string& value) {
  const bool plain = value.size() > 2 && value[0] == '"' &&
                     value.find_first_of("\\,{") == std::string::npos;
  return plain ? value.substr(1, value.size() - 2) : value;
}

class BothWays {
 public:
  explicit BothWays(const char* text) : text_(text) {
    EXPECT_OK(ParseTextproto(text, "test", &said_));
    const auto merged = ResolveScenarioText(Catalog(), text_, "test", {});
    EXPECT_OK(merged.status());
    merged_ = *merged;
    EXPECT_OK(MakeScenario(merged_).status());
  }

  int fields() const { return fields_; }
  int legal() const { return legal_; }
  const std::set<std::string>& seen() const { return seen_; }

  void Visit(const gp::Descriptor& type, const std::string& prefix, int depth) {
    for (int i = 0; i < type.field_count(); ++i) {
      const gp::FieldDescriptor& field = *type.field(i);
      const std::string path = prefix + field.name();
      seen_.insert(field.full_name());
      ++fields_;
      for (const std::string& value : ValuesFor(field)) {
        const std::string in_file =
            field.is_repeated() ? absl::StrCat("[", value, ", ", value, "]")
                                : value;
        const std::string typed =
            field.is_repeated() ? in_file : AsTyped(value);
        Compare(path, in_file, absl::StrCat(path, "=", typed), field);
      }
      if (field.message_type() == nullptr) continue;
      if (field.is_repeated()) {
        VisitEntry(field, path);
      } else if (depth < 6) {
        Visit(*field.message_type(), path + ".", depth + 1);
      }
    }
  }

 private:
  void Compare(const std::string& path, const std::string& value,
               const std::string& set, const gp::FieldDescriptor& field) {
    const Outcome file = InAFile(said_, path, field, value);
    const Outcome typed =
        ResolveScenarioText(Catalog(), text_, "test", {{set}});
    EXPECT_THAT(typed, ComesToTheSame(file))
        << path << ": " << value << "\n--set " << set;
    legal_ += file.ok() && MakeScenario(*file).ok();
  }

  // An entry of a list that is there: a file says the whole list.
  void VisitEntry(const gp::FieldDescriptor& list, const std::string& path) {
    gp::Message* merged = HolderOf(path, &merged_);
    const gp::Reflection& r = *merged->GetReflection();
    if (r.FieldSize(*merged, &list) == 0) return;
    const gp::Descriptor& type = *list.message_type();
    for (int i = 0; i < type.field_count(); ++i) {
      const gp::FieldDescriptor& field = *type.field(i);
      seen_.insert(field.full_name());
      if (field.message_type() != nullptr || field.is_repeated()) continue;
      ++fields_;
      for (const std::string& value : ValuesFor(field)) {
        pb::Scenario file = said_;
        gp::Message* holder = HolderOf(path, &file);
        holder->GetReflection()->ClearField(holder, &list);
        for (int e = 0; e < r.FieldSize(*merged, &list); ++e) {
          holder->GetReflection()
              ->AddMessage(holder, &list)
              ->CopyFrom(r.GetRepeatedMessage(*merged, &list, e));
        }
        gp::Message* entry =
            holder->GetReflection()->MutableRepeatedMessage(holder, &list, 0);
        entry->GetReflection()->ClearField(entry, &field);
        const std::unique_ptr<gp::Message> line(entry->New());
        const absl::Status parsed = ParseTextproto(
            absl::StrCat(field.name(), ": ", value), "line", line.get());
        entry->MergeFrom(*line);
        const Outcome in_file =
            parsed.ok() ? ResolveScenarioText(Catalog(), PrintTextproto(file),
                                              "test", {})
                        : Outcome(parsed);
        const std::string set =
            absl::StrCat(path, "[0].", field.name(), "=", AsTyped(value));
        EXPECT_THAT(ResolveScenarioText(Catalog(), text_, "test", {{set}}),
                    ComesToTheSame(in_file))
            << set;
      }
    }
  }

  std::string text_;
  pb::Scenario said_;
  pb::Scenario merged_;
  int fields_ = 0;
  int legal_ = 0;
  std::set<std::string> seen_;
};

TEST(SaidBothWays, EveryFieldOfAScenarioIsTheSameFromAFileAndFromSet) {
  std::set<std::string> seen;
  for (const char* base : kBases) {
    BothWays both(base);
    both.Visit(*pb::Scenario::descriptor(), "", 0);
    EXPECT_GT(both.fields(), 500);
    EXPECT_GT(both.legal(), 500);
    seen.insert(both.seen().begin(), both.seen().end());
  }
  EXPECT_GT(seen.size(), 330u);
}

}  // namespace
}  // namespace orrery
