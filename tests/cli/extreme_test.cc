// Every quantity of every resolved preset, set to what no machine has: nothing,
// next to nothing, far too much, less than nothing, not a number. Whatever is
// asked of it, the program answers, or says in words what is wrong with the
// input; it never meets a bug of its own, and never takes long or much memory.
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/random.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "catalog/scenario_parts.h"
#include "tests/cli/run_orrery.h"
#include "tests/effort.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;
using Type = gp::FieldDescriptor::CppType;

// What every command here is held to; the tests add what a process takes before
// it allocates anything.
constexpr const char* kBudget = "1GiB";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kMemory = int64_t{8} << 30;
#else
constexpr int64_t kMemory = int64_t{1200} << 20;
#endif

// A field and the values it is set to.
struct Extreme {
  std::string path;
  std::string value;
};

const std::vector<std::string> kReals = {
    "0",   "-1",   "1e-300", "1e-30", "1e-9", "1e-3", "1e3",
    "1e9", "1e20", "1e30",   "1e300", "nan",  "inf",  "-inf"};
const std::vector<std::string> kWholes = {
    "0", "-1", "1", "7", "65536", "2147483647", "-2147483648"};

// "1.5 us" is a quantity, "h100_sxm" is none.
bool IsQuantity(const std::string& text, std::string* unit) {
  const size_t end = text.find_first_not_of("0123456789.e+-");
  double number = 0;
  if (end == std::string::npos || end == 0 ||
      !absl::SimpleAtod(text.substr(0, end), &number)) {
    return false;
  }
  *unit = std::string(absl::StripAsciiWhitespace(text.substr(end)));
  return !unit->empty();
}

void Collect(const gp::Message& message, const std::string& prefix,
             std::vector<Extreme>* out) {
  const gp::Reflection& r = *message.GetReflection();
  std::vector<const gp::FieldDescriptor*> fields;
  r.ListFields(message, &fields);
  for (const gp::FieldDescriptor* field : fields) {
    const std::string path = prefix + field->name();
    if (field->cpp_type() == Type::CPPTYPE_MESSAGE) {
      if (field->name() == "source") continue;
      if (!field->is_repeated()) {
        Collect(r.GetMessage(message, field), path + ".", out);
        continue;
      }
      for (int i = 0; i < r.FieldSize(message, field); ++i) {
        Collect(r.GetRepeatedMessage(message, field, i),
                fmt::format("{}[{}].", path, i), out);
      }
      continue;
    }
    if (field->is_repeated()) continue;
    std::string unit;
    switch (field->cpp_type()) {
      case Type::CPPTYPE_STRING:
        if (!IsQuantity(r.GetString(message, field), &unit)) break;
        for (const std::string& value : kReals) {
          out->push_back({path, fmt::format("{} {}", value, unit)});
        }
        break;
      case Type::CPPTYPE_DOUBLE:
        for (const std::string& value : kReals) out->push_back({path, value});
        break;
      case Type::CPPTYPE_INT32:
      case Type::CPPTYPE_INT64:
        for (const std::string& value : kWholes) out->push_back({path, value});
        break;
      default:
        break;
    }
  }
}

void ExpectAnswer(const std::vector<std::string>& words) {
  const ProgramResult result = RunOrrery(words);
  std::string typed = "orrery";
  for (const std::string& word : words) typed += " '" + word + "'";
  ASSERT_TRUE(result.exit_code >= 0 && result.exit_code <= 2)
      << "exit " << result.exit_code << ": " << result.err << "\n"
      << typed;
  ASSERT_LT(result.peak_rss_bytes, kMemory) << typed;
  if (result.exit_code == 2) {
    ASSERT_THAT(result.err, testing::StartsWith("orrery: ")) << typed;
  } else {
    ASSERT_THAT(result.out, testing::Not(testing::HasSubstr("nan"))) << typed;
    ASSERT_THAT(result.out, testing::Not(testing::HasSubstr(" inf"))) << typed;
  }
}

// As many of them as the effort allows, in an order of their own.
std::vector<Extreme> Some(std::vector<Extreme> all, int rounds,
                          const std::string& name) {
  Rng rng(4, "extremes of " + name);
  for (size_t i = all.size(); i > 1; --i) {
    std::swap(all[i - 1], all[rng.Below(i)]);
  }
  all.resize(std::min(all.size(), static_cast<size_t>(rounds)));
  return all;
}

class Extremes : public testing::TestWithParam<const char*> {};

// Small enough to be simulated hundreds of times.
TEST_P(Extremes, OfAScenarioAreAnswered) {
  const std::vector<std::string> small = {"model.layers=2",
                                          "training.global_batch=8"};
  std::vector<std::string> sets;
  ASSERT_OK_AND_ASSIGN(const pb::Scenario scenario,
                       ResolveScenario(Catalog(), GetParam(), {}));
  if (scenario.has_training() &&
      scenario.training().parallel().pipeline() == 1) {
    sets = small;
  }
  std::vector<Extreme> all;
  Collect(scenario, "", &all);
  ASSERT_GT(all.size(), 500u);
  const char* commands[] = {"simulate", "estimate"};
  int turn = 0;
  for (const Extreme& e : Some(all, Rounds(160), GetParam())) {
    std::vector<std::string> words = {commands[turn++ % 4 == 3], GetParam()};
    for (const std::string& set : sets) {
      words.insert(words.end(), {"--set", set});
    }
    words.insert(words.end(), {"--set", fmt::format("{}={}", e.path, e.value)});
    if (words[0] == "simulate") {
      words.insert(words.end(), {"--memory", kBudget});
    }
    ExpectAnswer(words);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Extremes,
                         testing::Values("quickstart", "crossing_groups"));

class SystemExtremes : public testing::TestWithParam<const char*> {};

TEST_P(SystemExtremes, AreAnsweredByACollective) {
  ASSERT_OK_AND_ASSIGN(const pb::System system,
                       ResolveSystem(Catalog(), GetParam(), {}));
  std::vector<Extreme> all;
  Collect(system, "system.", &all);
  for (const Extreme& e : Some(all, Rounds(60), GetParam())) {
    ExpectAnswer({"collective", "--system", GetParam(), "--size", "64MB",
                  "--nodes", "2", "--memory", kBudget, "--set",
                  fmt::format("{}={}", e.path, e.value)});
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Systems, SystemExtremes,
                         testing::Values("dgx_h100_ib400", "tpu_v5p_pod",
                                         "mi300x_8x400"));

TEST(ChipExtremes, AreAnsweredByAKernel) {
  for (const std::string& name : Catalog().Names("chips")) {
    ASSERT_OK_AND_ASSIGN(const pb::Chip chip, ResolveChip(Catalog(), name));
    ASSERT_OK_AND_ASSIGN(const pb::Kernels kernels,
                         ResolveKernels(Catalog(), chip, ""));
    std::vector<Extreme> all;
    Collect(chip, "", &all);
    Collect(kernels, "kernels.", &all);
    for (const Extreme& e : Some(all, Rounds(12), name)) {
      ExpectAnswer({"kernel", "--chip", name, "--m", "4096", "--n", "4096",
                    "--k", "4096", "--set",
                    fmt::format("{}={}", e.path, e.value)});
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace orrery
