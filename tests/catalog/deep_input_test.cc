// No input overflows the stack or takes long, however deep or long it is: every
// reader is given 200 000 of whatever could make it call itself.
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/json.h"
#include "base/units_text.h"
#include "catalog/catalog.h"
#include "catalog/hf_import.h"
#include "catalog/override.h"
#include "catalog/resolve.h"
#include "catalog/textproto.h"
#include "proto/cost.pb.h"
#include "proto/scenario.pb.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

constexpr int kLevels = 200'000;

std::string Many(absl::string_view part) {
  std::string text;
  text.reserve(part.size() * kLevels);
  for (int i = 0; i < kLevels; ++i) absl::StrAppend(&text, part);
  return text;
}

void ExpectRefused(const absl::Status& status, const std::string& what) {
  EXPECT_FALSE(status.ok()) << what;
  EXPECT_LT(status.message().size(), 2000u) << what;
}

TEST(DeepInput, TextprotoIsRefused) {
  for (const char* opener :
       {"assembly { part { ", "assembly <part <", "assembly: [{ part: [{ ",
        "unknown { ", "unknown: [{ ", "[", "{", "\"\" { ", "a: '\\'' b { "}) {
    pb::Package package;
    ExpectRefused(ParseTextproto(Many(opener), "deep", &package), opener);
  }
  // What is closed again is not deep, and comments and texts hold no braces.
  pb::PriceList prices;
  EXPECT_OK(
      ParseTextproto(Many("price { id: \"{[<\" } # {{{\n"), "wide", &prices));
  EXPECT_EQ(prices.price_size(), kLevels);
}

TEST(DeepInput, JsonIsRefused) {
  for (const char* opener : {"[", "{\"a\":", "[{\"a\":[", "-", "\"\\u12",
                             "[0,[", "{\"text_config\":"}) {
    ExpectRefused(ParseJson(Many(opener)).status(), opener);
    ExpectRefused(ImportHuggingFace(Many(opener), "deep").status(), opener);
    const std::string inside =
        absl::StrCat("{\"model_type\": \"llama\", \"x\": ", Many(opener));
    ExpectRefused(ImportHuggingFace(inside, "deep").status(), opener);
  }
}

TEST(DeepInput, OverridesAreRefused) {
  pb::Scenario scenario;
  std::vector<std::string> sets;
  for (const char* part :
       {"{", "[", "{}", "{ parallel ", "[{", "\"", "\\", "-", "1,", "a."}) {
    for (const char* path :
         {"training", "training.layers_per_stage", "training.parallel.tensor",
          "training.schedule", "training.keep_as", "system.chip.clock"}) {
      sets.push_back(absl::StrCat(path, "=", Many(part)));
    }
    sets.push_back(absl::StrCat(Many(part), "=1"));
    sets.push_back(absl::StrCat("system.chip.peak[", Many(part), "].rate=1"));
  }
  for (const std::string& set : sets) {
    const std::string what = set.substr(0, 60);
    const auto resolved = ResolveScenario(Catalog(), "quickstart", {{set}});
    if (resolved.ok()) continue;  // a text, or a long list, is what it is
    ExpectRefused(resolved.status(), what);
  }
}

TEST(DeepInput, QuantitiesAreRefused) {
  for (const char* part : {"1", "9.", "k", " ", "1 G", "-", "e9", "\xC2\xB5"}) {
    const std::string text = Many(part);
    ExpectRefused(ParseBytes(text).status(), part);
    ExpectRefused(ParseDuration(text).status(), part);
    ExpectRefused(ParseDollarsPerHour(text).status(), part);
    ExpectRefused(ParseHertz(text + " GHz").status(), part);
  }
}

TEST(DeepInput, TablesAreReadInTheTimeOfTheirLength) {
  const auto begin = std::chrono::steady_clock::now();
  for (const char* part : {"\"", "\"\"", ",", "\n", "a,\"b\n", "\"\","}) {
    const auto table = CsvTable::Parse(absl::StrCat("a,b\n", Many(part)));
    if (!table.ok()) ExpectRefused(table.status(), part);
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 20);
}

}  // namespace
}  // namespace orrery
