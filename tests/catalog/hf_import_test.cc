#include "catalog/hf_import.h"

#include <absl/strings/str_join.h>
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "catalog/catalog.h"
#include "tests/status_matchers.h"
#include "workload/model/model.h"
#include "workload/model/parameters.h"

namespace orrery {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

std::string Config(const std::string& name) {
  auto text = ReadFile("tests/data/hf/" + name + ".json");
  EXPECT_OK(text);
  return text.ok() ? *text : "";
}

// Replaces the first `from`; the tests break a good file in one place.
std::string Replace(std::string text, const std::string& from,
                    const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

absl::Status Verdict(const std::string& json) {
  return ImportHuggingFace(json, "broken").status();
}
auto Refused(const std::string& words) {
  return StatusIs(StatusCode::kInvalidArgument, HasSubstr(words));
}

// What a model is, without who says so.
pb::Model Architecture(pb::Model model) {
  model.clear_description();
  model.clear_source();
  model.clear_published_parameters();
  model.clear_published_unit();
  model.clear_published_active_parameters();
  model.clear_published_active_unit();
  model.clear_published_active_without_embedding();
  model.clear_parameter_note();
  return model;
}

class HfImportOfPreset : public testing::TestWithParam<std::string> {};

TEST_P(HfImportOfPreset, IsThePreset) {
  ASSERT_OK_AND_ASSIGN(const pb::Model imported,
                       ImportHuggingFace(Config(GetParam()), GetParam()));
  ASSERT_OK_AND_ASSIGN(pb::Model preset, Catalog().Model(GetParam()));
  // The Gemma papers count a table padded by 128 entries, the released weights
  // have none.
  if (GetParam() == "gemma_7b" || GetParam() == "gemma2_9b") {
    EXPECT_EQ(preset.vocabulary(), imported.vocabulary() + 128);
    preset.set_vocabulary(imported.vocabulary());
  }
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  EXPECT_TRUE(differencer.Compare(Architecture(preset), Architecture(imported)))
      << differences;
  ASSERT_OK_AND_ASSIGN(const Model ours, Model::FromProto(imported));
  ASSERT_OK_AND_ASSIGN(const Model theirs, Model::FromProto(preset));
  EXPECT_EQ(TotalParameters(ours), TotalParameters(theirs));
}

INSTANTIATE_TEST_SUITE_P(Files, HfImportOfPreset,
                         testing::Values("bloom_176b", "deepseek_v3",
                                         "gemma2_9b", "gemma3_12b", "gemma_7b",
                                         "gpt_j_6b", "gpt_oss_20b", "kimi_k2",
                                         "llama3_8b", "mistral_7b",
                                         "mixtral_8x7b", "opt_175b",
                                         "qwen3_30b_a3b", "qwen3_8b"),
                         [](const auto& file) { return file.param; });

// Models outside the catalogue, against the exact sizes of their weights as
// the Hugging Face hub and the transformers library report them.
TEST(HfImport, CountsTheParametersOfTheReleasedWeights) {
  const auto parameters = [](const std::string& name) {
    auto imported = ImportHuggingFace(Config(name), name);
    EXPECT_OK(imported);
    auto model = Model::FromProto(*imported);
    EXPECT_OK(model);
    return TotalParameters(*model).main();
  };
  EXPECT_EQ(parameters("gpt2"), 124'439'808);
  EXPECT_EQ(parameters("falcon_7b"), 6'921'720'704);
  EXPECT_EQ(parameters("gpt_neox_20b"), 20'554'567'680);
  EXPECT_EQ(parameters("phi3_mini"), 3'821'079'552);
  EXPECT_EQ(parameters("qwen2_7b"), 7'615'616'512);
  EXPECT_EQ(parameters("qwen1_5_moe_a2_7b"), 14'315'784'192);
  EXPECT_EQ(parameters("deepseek_v2_lite"), 15'706'484'224);
}

TEST(HfImport, NamesTheModelAndItsSource) {
  ASSERT_OK_AND_ASSIGN(const pb::Model model,
                       ImportHuggingFace(Config("llama3_8b"), "mine"));
  EXPECT_EQ(model.name(), "mine");
  EXPECT_THAT(model.source(0).title(), HasSubstr("config.json"));
}

TEST(HfImport, TheArchitectureServesWhereTheTypeIsMissing) {
  const std::string text =
      Replace(Config("llama3_8b"), "\"model_type\": \"llama\",", "");
  EXPECT_OK(Verdict(text));
}

TEST(HfImport, UnknownArchitecturesListTheKnownOnes) {
  EXPECT_THAT(Verdict(R"({"model_type": "mamba2"})"),
              Refused("cannot import model type 'mamba2'"));
  // Another generation is another architecture: no "did you mean 'llama'?".
  const std::string llama4 = std::string(
      ImportHuggingFace(R"({"model_type": "llama4"})", "m").status().message());
  EXPECT_THAT(llama4, HasSubstr("has llama4_scout, llama4_maverick ready"));
  EXPECT_THAT(llama4, testing::Not(HasSubstr("did you mean")));
  EXPECT_THAT(
      Verdict(R"({"model_type": "qwen3_mo"})"),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("did you mean 'qwen3_moe'?"),
                     HasSubstr("known: bloom, deepseek_v2, deepseek_v3"))));
  EXPECT_THAT(Verdict(R"({"architectures": ["T5Model"]})"),
              Refused("'T5Model'"));
}

TEST(HfImport, WhatIsNoConfigurationIsRefused) {
  EXPECT_THAT(Verdict("{}"), Refused("neither 'model_type' nor"));
  EXPECT_THAT(Verdict("[1, 2]"), Refused("this is a list"));
  EXPECT_THAT(Verdict("not json"), Refused("line 1, column 1"));
  EXPECT_THAT(Verdict(R"({"model_type": 3})"),
              Refused("'model_type' must be a string, got 3"));
}

TEST(HfImport, TheDocumentListsTheKnownTypes) {
  ASSERT_OK_AND_ASSIGN(std::string page, ReadFile("docs/models.md"));
  std::replace(page.begin(), page.end(), '\n', ' ');
  EXPECT_THAT(page,
              HasSubstr("model types: " +
                        absl::StrJoin(HuggingFaceModelTypes(), ", ") + ". "));
}

TEST(HfImport, MissingKeysAreNamed) {
  EXPECT_THAT(
      Verdict(R"({"model_type": "llama", "hidden_size": 64})"),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("key 'num_hidden_layers' is missing"),
                     HasSubstr("key 'vocab_size' is missing"),
                     HasSubstr("key 'num_attention_heads' is missing"))));
}

TEST(HfImport, WrongValuesAreNamedWithTheirPlace) {
  const std::string good = Config("llama3_8b");
  const auto layers = [&](const std::string& value) {
    return Verdict(Replace(good, "\"num_hidden_layers\": 32",
                           "\"num_hidden_layers\": " + value));
  };
  EXPECT_THAT(layers("-4"),
              Refused("'num_hidden_layers' must be a whole number from 1 to "
                      "2147483647, got -4"));
  EXPECT_THAT(layers("0"), Refused("got 0"));
  EXPECT_THAT(layers("1.5"), Refused("got 1.5"));
  EXPECT_THAT(layers("1e15"), Refused("got 1000000000000000"));
  EXPECT_THAT(layers("99999999999999999999"), Refused("got 1e+20"));
  EXPECT_THAT(layers("\"many\""), Refused("got 'many'"));
  EXPECT_THAT(layers("null"), Refused("key 'num_hidden_layers' is missing"));
  EXPECT_THAT(layers("-4"), Refused("line 1"));
  EXPECT_THAT(Verdict(Replace(good, "\"tie_word_embeddings\": false",
                              "\"tie_word_embeddings\": 0")),
              Refused("'tie_word_embeddings' must be true or false, got 0"));
  EXPECT_THAT(Verdict(Replace(good, "\"silu\"", "\"mish\"")),
              Refused("'hidden_act': 'mish' is not known for a gated MLP"));
  EXPECT_THAT(Verdict(Replace(good, "\"num_attention_heads\": 32",
                              "\"num_attention_heads\": 33")),
              Refused("4096 is not a multiple of the 33 heads"));
}

TEST(HfImport, WhatCannotBeExpressedIsRefused) {
  EXPECT_THAT(Verdict(Replace(Config("gpt_oss_20b"), "\"sliding_attention\"",
                              "\"full_attention\"")),
              Refused("'layer_types': layer 2 is 'sliding_attention'"));
  EXPECT_THAT(
      Verdict(Replace(Config("gpt_oss_20b"),
                      "\"sliding_attention\", \"full_attention\", ", "")),
      Refused("'layer_types': has 22 entries for 24 layers"));
  EXPECT_THAT(
      Verdict(Replace(Replace(Config("qwen2_7b"), "\"max_window_layers\": 28",
                              "\"max_window_layers\": 20"),
                      "\"use_sliding_window\": false",
                      "\"use_sliding_window\": true")),
      Refused("'use_sliding_window'"));
  EXPECT_THAT(
      Verdict(Replace(Config("opt_175b"), "\"word_embed_proj_dim\": 12288",
                      "\"word_embed_proj_dim\": 512")),
      Refused("'word_embed_proj_dim'"));
  EXPECT_THAT(
      Verdict(Replace(Config("qwen3_30b_a3b"), "\"mlp_only_layers\": []",
                      "\"mlp_only_layers\": [0, 2]")),
      Refused("'mlp_only_layers'"));
}

TEST(HfImport, DenseFirstLayersOfAMixtureKeepTheirMlp) {
  ASSERT_OK_AND_ASSIGN(const pb::Model model,
                       ImportHuggingFace(Replace(Config("qwen3_30b_a3b"),
                                                 "\"mlp_only_layers\": []",
                                                 "\"mlp_only_layers\": [0, 1]"),
                                         "model"));
  EXPECT_EQ(model.moe().first_dense_layers(), 2);
  EXPECT_EQ(model.mlp().width(), 6144);
}

// Corrupted files are imported or refused with a message, and what is imported
// is validated or refused, never worse.
TEST(HfImport, SurvivesCorruptedFiles) {
  Rng rng(11, "import corruption");
  const std::vector<std::string> numbers = {
      "-1", "0", "2147483647", "1e308", "1e18", "null", "[]", "{}", "\"\""};
  int valid = 0;
  int refused = 0;
  for (const char* name : {"deepseek_v3", "falcon_7b", "gemma3_12b", "gpt2",
                           "gpt_oss_20b", "opt_175b", "qwen3_30b_a3b"}) {
    const std::string good = Config(name);
    for (int i = 0; i < 500; ++i) {
      std::string text = good;
      const size_t at = rng.Below(text.size());
      switch (rng.Below(3)) {
        case 0:
          text[at] = static_cast<char>(rng.Below(256));
          break;
        case 1:
          text.resize(at);
          break;
        default: {
          // The value after the next colon becomes something else.
          const size_t colon = text.find(": ", at);
          if (colon == std::string::npos) continue;
          const size_t end = text.find_first_of(",\n", colon);
          text.replace(colon + 2, end - colon - 2,
                       numbers[rng.Below(numbers.size())]);
        }
      }
      const auto imported = ImportHuggingFace(text, "corrupted");
      const absl::Status verdict = imported.ok()
                                       ? Model::FromProto(*imported).status()
                                       : imported.status();
      if (!verdict.ok()) {
        EXPECT_FALSE(verdict.message().empty());
        ++refused;
        continue;
      }
      EXPECT_GT(TotalParameters(*Model::FromProto(*imported)).total(), 0);
      ++valid;
    }
  }
  EXPECT_GT(valid, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace orrery
