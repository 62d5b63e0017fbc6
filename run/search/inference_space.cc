#include "run/search/inference_space.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>

#include "base/excerpt.h"
#include "base/format.h"
#include "catalog/nearest.h"
#include "run/search/degrees_tried.h"

namespace orrery {
namespace {

constexpr int kMostPipeline = 16;
constexpr int kMostBatch = 4096;
constexpr int kChunks[] = {512, 2048, 8192};
// Splits of the nodes between two pools.
constexpr int kMostSplits = 16;

constexpr std::string_view kNames[kServingAxes] = {
    "tensor",        "pipeline", "expert",   "batch",
    "prefill_chunk", "pools",    "precision"};

using Settings = std::vector<std::string>;
// Alternatives, each a list of settings.
using Choices = std::vector<Settings>;

Choices Product(const Choices& a, const Choices& b) {
  Choices all;
  for (const Settings& first : a) {
    for (const Settings& second : b) {
      Settings both = first;
      both.insert(both.end(), second.begin(), second.end());
      all.push_back(std::move(both));
    }
  }
  return all;
}

class SpaceMaker {
 public:
  SpaceMaker(const ResolvedScenario& scenario,
             const ServingSpaceOptions& options)
      : scenario_(scenario),
        said_(scenario.proto.inference()),
        options_(options) {}

  Choices Make() const {
    Choices choices = said_.has_disaggregated() ? Pools() : OneMachine();
    if (!Keeps(ServingAxis::kChunk) && !said_.has_disaggregated()) {
      choices = Product(choices, Chunks());
    }
    if (options_.precisions && !Keeps(ServingAxis::kPrecision)) {
      choices = Product(choices, Precisions());
    }
    return choices;
  }

 private:
  bool Keeps(ServingAxis axis) const {
    return std::find(options_.kept.begin(), options_.kept.end(), axis) !=
           options_.kept.end();
  }

  // Degrees of a layout.
  struct Layout {
    int64_t tensor = 1;
    int64_t pipeline = 1;
    int64_t expert = 1;
    int64_t data = 1;
  };

  std::vector<Layout> Layouts(const pb::Parallel& given, int64_t chips,
                              bool pipelines) const {
    std::vector<Layout> all;
    const auto one = [](int value) {
      return std::vector<int>{std::max(1, value)};
    };
    for (const int64_t tensor : Keeps(ServingAxis::kTensor)
                                    ? one(given.tensor())
                                    : Divisors(chips, kMostTensor)) {
      if (chips % tensor != 0) continue;
      for (const int64_t pipeline :
           Keeps(ServingAxis::kPipeline) || !pipelines
               ? one(given.pipeline())
               : Divisors(chips / tensor, kMostPipeline)) {
        if (chips / tensor % pipeline != 0) continue;
        const int64_t data = chips / tensor / pipeline;
        std::vector<int64_t> experts = {1};
        if (Keeps(ServingAxis::kExpert)) {
          experts = {std::max(1, given.expert())};
        } else if (scenario_.model.moe()) {
          if (data > 1) experts.push_back(data);
          // Otherwise experts are split by tensor ranks, too.
          if (given.sequence_parallel() && tensor > 1) {
            experts.push_back(tensor * data);
          }
        }
        for (const int64_t expert : experts) {
          all.push_back({tensor, pipeline, expert, data});
        }
      }
    }
    return all;
  }

  static Settings SettingsOf(const std::string& path, const Layout& layout) {
    return {fmt::format("{}.tensor={}", path, layout.tensor),
            fmt::format("{}.pipeline={}", path, layout.pipeline),
            fmt::format("{}.expert={}", path, layout.expert),
            fmt::format("{}.data={}", path, layout.data)};
  }

  // Copies of experts, so that as many are on every rank: as given if that
  // divides, else as few as do. None for layouts that need no copies.
  Settings Redundant(absl::Span<const Layout> layouts) const {
    if (!scenario_.model.moe() || Keeps(ServingAxis::kExpert)) return {};
    const int64_t experts = scenario_.model.moe()->experts;
    const auto divides = [&](int64_t copies) {
      return std::all_of(layouts.begin(), layouts.end(), [&](const Layout& l) {
        return (experts + copies) % l.expert == 0;
      });
    };
    const bool spread =
        std::any_of(layouts.begin(), layouts.end(),
                    [](const Layout& layout) { return layout.expert > 1; });
    int64_t copies = spread ? said_.redundant_experts() : 0;
    if (!divides(copies)) copies = 0;
    while (copies < experts && !divides(copies)) ++copies;
    if (copies == said_.redundant_experts()) return {};
    return {fmt::format("inference.redundant_experts={}", copies)};
  }

  // Of all replicas together.
  Choices Batches(const Layout& layout) const {
    if (!options_.batches || Keeps(ServingAxis::kBatch)) return {{}};
    const int64_t least = layout.data * PartsOfBatch();
    Choices batches;
    for (int64_t batch = least; batch <= std::max<int64_t>(kMostBatch, least);
         batch *= 2) {
      batches.push_back({fmt::format("inference.batch={}", batch)});
    }
    const int64_t given = said_.batch();
    if (given % least == 0 &&
        (given > kMostBatch || !IsPowerOfTwo(given / least))) {
      batches.push_back({fmt::format("inference.batch={}", given)});
    }
    return batches;
  }

  int64_t PartsOfBatch() const {
    return int64_t{std::max(1, said_.micro_batches())} *
           (said_.overlap_halves() ? 2 : 1);
  }
  static bool IsPowerOfTwo(int64_t n) { return (n & (n - 1)) == 0; }

  Choices OneMachine() const {
    Choices all;
    for (const Layout& layout :
         Layouts(said_.parallel(), scenario_.system.chips(), true)) {
      const Settings settings = SettingsOf("inference.parallel", layout);
      const Choices choices = Product(
          {settings}, Product({Redundant({&layout, 1})}, Batches(layout)));
      all.insert(all.end(), choices.begin(), choices.end());
    }
    return all;
  }

  // How many chips may be for prefill.
  std::vector<int64_t> Splits() const {
    const pb::Inference::Disaggregated& pools = said_.disaggregated();
    const int64_t chips = pools.prefill_chips() + pools.decode_chips();
    const int64_t node = scenario_.system.chips_per_node();
    const int64_t nodes = chips / node;
    if (Keeps(ServingAxis::kPools) || nodes < 2 || chips % node != 0 ||
        pools.has_prefill_system()) {
      return {pools.prefill_chips()};
    }
    std::vector<int64_t> splits;
    const int64_t step =
        std::max<int64_t>(1, (nodes + kMostSplits - 1) / kMostSplits);
    for (int64_t n = step; n < nodes; n += step) splits.push_back(n * node);
    if (std::find(splits.begin(), splits.end(), pools.prefill_chips()) ==
        splits.end()) {
      splits.push_back(pools.prefill_chips());
    }
    return splits;
  }

  Choices Pools() const {
    const pb::Inference::Disaggregated& pools = said_.disaggregated();
    const int64_t chips = pools.prefill_chips() + pools.decode_chips();
    const std::string path = "inference.disaggregated";
    // Prompts that a replica works on at a time, as given.
    const int64_t prompts = std::max<int64_t>(
        PartsOfBatch(),
        (pools.has_prefill_batch() ? pools.prefill_batch() : said_.batch()) /
            std::max(1, pools.prefill_parallel().data()));
    Choices all;
    for (const int64_t prefill : Splits()) {
      for (const Layout& first :
           Layouts(pools.prefill_parallel(), prefill, false)) {
        Settings common = {
            fmt::format("{}.prefill_chips={}", path, prefill),
            fmt::format("{}.decode_chips={}", path, chips - prefill)};
        if (pools.has_prefill_batch()) {
          common.push_back(
              fmt::format("{}.prefill_batch={}", path, prompts * first.data));
        }
        for (const Layout& second :
             Layouts(pools.decode_parallel(), chips - prefill, false)) {
          const Layout both[] = {first, second};
          const Choices choices =
              Product(Product({common},
                              {SettingsOf(path + ".prefill_parallel", first)}),
                      Product({SettingsOf(path + ".decode_parallel", second)},
                              Product({Redundant(both)}, Batches(second))));
          all.insert(all.end(), choices.begin(), choices.end());
        }
      }
    }
    return all;
  }

  Choices Chunks() const {
    Choices chunks = {{"inference.prefill_chunk="}};
    for (const int chunk : kChunks) {
      if (chunk < said_.prompt()) {
        chunks.push_back({fmt::format("inference.prefill_chunk={}", chunk)});
      }
    }
    return chunks;
  }

  // Products in each format that the matrix units have, the cache in the same
  // or in 8 bits.
  Choices Precisions() const {
    Choices all;
    for (const DType dtype : {DType::kBf16, DType::kFp8}) {
      if (!scenario_.system.chip().peak(dtype)) continue;
      for (const char* cache : {"BF16", "FP8"}) {
        all.push_back({fmt::format("inference.precision={}", Name(dtype)),
                       fmt::format("inference.kv_precision={}", cache)});
      }
    }
    if (all.empty()) all.push_back({});
    return all;
  }

  const ResolvedScenario& scenario_;
  const pb::Inference& said_;
  const ServingSpaceOptions& options_;
};

}  // namespace

std::string_view Name(ServingAxis axis) {
  return kNames[static_cast<size_t>(axis)];
}

absl::StatusOr<ServingAxis> ParseServingAxis(const std::string& name) {
  const std::string last = name.substr(name.rfind('.') + 1);
  std::vector<std::string> known;
  for (int i = 0; i < kServingAxes; ++i) {
    if (kNames[i] == last) return static_cast<ServingAxis>(i);
    known.emplace_back(kNames[i]);
  }
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is nothing that is searched for inference{} ({})", Excerpt(name),
      DidYouMean(last, known), absl::StrJoin(known, ", ")));
}

std::vector<std::vector<std::string>> ServingSpace(
    const ResolvedScenario& scenario, const ServingSpaceOptions& options) {
  return SpaceMaker(scenario, options).Make();
}

std::string DescribeServing(absl::Span<const std::string> settings) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"tensor", "TP"}, {"pipeline", "PP"}, {"expert", "EP"}, {"data", "DP"}};
  std::string text;
  for (const std::string& setting : settings) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(setting, absl::MaxSplits('=', 1));
    const std::string name = parts.first.substr(parts.first.rfind('.') + 1);
    const std::string& value = parts.second;
    if (name == "prefill_chips") {
      absl::StrAppend(&text, value, " chips prefill");
    } else if (name == "decode_chips") {
      absl::StrAppend(&text, ", ", value, " decode");
    } else if (name == "redundant_experts") {
      if (value != "0") absl::StrAppend(&text, ", ", value, " expert copies");
    } else if (name == "batch") {
      absl::StrAppend(&text, ", batch ", value);
    } else if (name == "prefill_chunk") {
      if (!value.empty()) absl::StrAppend(&text, ", chunks of ", value);
    } else if (name == "precision") {
      absl::StrAppend(&text, ", ", value);
    } else if (name == "kv_precision") {
      absl::StrAppend(&text, ", cache ", value);
    }
    for (const auto& [field, word] : kWords) {
      if (field != name) continue;
      if (name == "tensor" && absl::StrContains(parts.first, "prefill")) {
        text += "; prefill";
      } else if (name == "tensor" && absl::StrContains(parts.first, "decode")) {
        text += "; decode";
      }
      if (value != "1" || name == "tensor") {
        text += fmt::format("{}{} {}", text.empty() ? "" : " ", word, value);
      }
    }
  }
  return text;
}

}  // namespace orrery
