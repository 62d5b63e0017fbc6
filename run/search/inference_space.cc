#include "run/search/inference_space.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>

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
    if (options_.batches && !Keeps(ServingAxis::kBatch)) {
      Choices batches;
      for (int b = 1; b <= kMostBatch; b *= 2) {
        batches.push_back({fmt::format("inference.batch={}", b)});
      }
      choices = Product(choices, batches);
    }
    if (!Keeps(ServingAxis::kChunk)) choices = Product(choices, Chunks());
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

  // Of a layout over so many chips, below the path.
  Choices Degrees(const std::string& path, const pb::Parallel& said,
                  int64_t chips, bool pipelines) const {
    Choices all;
    const auto one = [](int value) { return std::vector<int>{value}; };
    for (const int64_t tensor : Keeps(ServingAxis::kTensor)
                                    ? one(std::max(1, said.tensor()))
                                    : Divisors(chips, kMostTensor)) {
      if (chips % tensor != 0) continue;
      for (const int64_t pipeline :
           Keeps(ServingAxis::kPipeline) || !pipelines
               ? one(std::max(1, said.pipeline()))
               : Divisors(chips / tensor, kMostPipeline)) {
        if (chips / tensor % pipeline != 0) continue;
        std::vector<int> experts = one(1);
        if (Keeps(ServingAxis::kExpert)) {
          experts = one(std::max(1, said.expert()));
        } else if (scenario_.model.moe() && chips / pipeline > 1) {
          experts.push_back(static_cast<int>(chips / pipeline));
        }
        for (const int64_t expert : experts) {
          all.push_back(
              {fmt::format("{}.tensor={}", path, tensor),
               fmt::format("{}.pipeline={}", path, pipeline),
               fmt::format("{}.expert={}", path, expert),
               fmt::format("{}.data={}", path, chips / tensor / pipeline)});
        }
      }
    }
    return all;
  }

  Choices OneMachine() const {
    return Degrees("inference.parallel", said_.parallel(),
                   scenario_.system.chips(), /*pipelines=*/true);
  }

  Choices Pools() const {
    const pb::Inference::Disaggregated& pools = said_.disaggregated();
    const int64_t chips = pools.prefill_chips() + pools.decode_chips();
    const int64_t node = scenario_.system.chips_per_node();
    const int64_t nodes = chips / node;
    std::vector<int64_t> splits;
    if (Keeps(ServingAxis::kPools) || nodes < 2 || chips % node != 0) {
      splits.push_back(pools.prefill_chips());
    } else {
      const int64_t step =
          std::max<int64_t>(1, (nodes + kMostSplits - 1) / kMostSplits);
      for (int64_t n = step; n < nodes; n += step) splits.push_back(n * node);
    }
    const std::string path = "inference.disaggregated";
    Choices all;
    for (const int64_t prefill : splits) {
      const Choices sizes = {
          {fmt::format("{}.prefill_chips={}", path, prefill),
           fmt::format("{}.decode_chips={}", path, chips - prefill)}};
      const Choices both = Product(
          Product(sizes, Degrees(path + ".prefill_parallel",
                                 pools.prefill_parallel(), prefill, false)),
          Degrees(path + ".decode_parallel", pools.decode_parallel(),
                  chips - prefill, false));
      all.insert(all.end(), both.begin(), both.end());
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
      "'{}' is nothing that is searched for inference{} ({})",
      name.substr(0, 80), DidYouMean(last, known), absl::StrJoin(known, ", ")));
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
