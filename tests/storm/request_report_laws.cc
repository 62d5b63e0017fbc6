#include "tests/storm/request_report_laws.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include "base/format.h"
#include "run/requests/kv_transfer.h"
#include "workload/model/layer.h"
#include "workload/model/parameters.h"
#include "workload/plan/inference_memory.h"
#include "workload/plan/memory.h"

namespace orrery {
namespace {

int64_t CeilOver(int64_t a, int64_t b) { return (a + b - 1) / b; }

class RequestReportLaws {
 public:
  RequestReportLaws(const ResolvedScenario& scenario, const pb::Report& report,
                    StormSheet& sheet)
      : plan_(*scenario.inference()),
        asked_(scenario.proto.inference()),
        report_(report),
        r_(report.inference()),
        sheet_(sheet) {}

  void Check() {
    CheckTimes();
    CheckRates();
    CheckPools();
    const pb::Report::Memory& m = report_.memory();
    Equal("parts of memory",
          static_cast<double>(m.weights_bytes() + m.activations_bytes() +
                              m.kv_cache_bytes() + m.buffers_bytes()),
          static_cast<double>(m.peak_bytes()));
    sheet_.Hold("a report of requests adds up",
                !m.fits() || m.peak_bytes() <= m.capacity_bytes(),
                "fits, though the peak is above the capacity");
  }

 private:
  // `rounding` of some picoseconds.
  void Equal(const std::string& what, double is, double should,
             double rounding = 1e-8) {
    sheet_.Hold("a report of requests adds up",
                std::abs(is - should) <= rounding * std::abs(should) + 1e-11,
                fmt::format("{}: {} is reported, {} follows from the rest",
                            what, is, should));
  }

  void CheckTimes() {
    const bool by_decode = asked_.engine().first_token_by_decode();
    Equal("first token", r_.time_to_first_token_s(),
          r_.prefill_s() + r_.pools().exposed_transfer_s() +
              (by_decode ? r_.first_step_s() : 0));
    Equal("end to end", r_.end_to_end_s(),
          r_.time_to_first_token_s() +
              r_.time_per_output_token_s() * (asked_.output() - 1));
    // The closed form too, where the first token comes with the prompt.
    if (!by_decode) {
      Equal("end to end, closed form", r_.estimated_end_to_end_s(),
            r_.estimated_prefill_s() + r_.pools().exposed_transfer_s() +
                r_.estimated_time_per_output_token_s() * (asked_.output() - 1));
    }
    if (!r_.has_first_step_s()) return;
    sheet_.Hold("a report of requests adds up",
                asked_.overlap_halves() || asked_.prompt() == 1 ||
                    r_.first_step_s() <= r_.last_step_s(),
                fmt::format("first step {}, last {}", r_.first_step_s(),
                            r_.last_step_s()));
  }

  void CheckRates() {
    const double batch = asked_.batch();
    Equal("prompt tokens", r_.prefill_tokens_per_s() * r_.prefill_s(),
          static_cast<double>(plan_.prefill_batch()) * asked_.prompt());
    const double requests = r_.output_tokens_per_s() / asked_.output();
    if (!r_.has_pools()) Equal("requests", requests * r_.end_to_end_s(), batch);
    Equal("output tokens", report_.tokens_per_s(), r_.output_tokens_per_s());
    const double prefill_ranks =
        static_cast<double>(plan_.prefill().degrees.ranks());
    const double decode_ranks =
        static_cast<double>(plan_.decode().degrees.ranks());
    Equal("output tokens of a chip",
          report_.tokens_per_s_per_chip() *
              (decode_ranks + (plan_.disaggregated() ? prefill_ranks : 0)),
          report_.tokens_per_s());
    if (report_.has_cost()) {
      const bool decodes = r_.has_decode_tokens_per_s();
      Equal("chips that are paid for",
            static_cast<double>(report_.cost().chips()),
            decodes ? decode_ranks : prefill_ranks);
      Equal("chips that are paid for prompts",
            static_cast<double>(report_.cost().prefill_chips()), prefill_ranks);
    }
    if (!r_.has_decode_tokens_per_s()) return;
    Equal("decoded tokens",
          r_.decode_tokens_per_s() * r_.time_per_output_token_s(), batch);
    Equal("decoded tokens of a user",
          r_.tokens_per_s_per_user() * r_.time_per_output_token_s(), 1);
    Equal("decoded tokens of a chip",
          r_.decode_tokens_per_s_per_chip() * decode_ranks,
          r_.decode_tokens_per_s());
  }

  void CheckPools() {
    if (!r_.has_pools()) return;
    const pb::Report::Pools& pools = r_.pools();
    Equal("prompts of the prefill pool",
          pools.prefill_requests_per_s() * r_.prefill_s(),
          plan_.prefill_batch());
    Equal("prompts of the network",
          pools.transfer_requests_per_s() * pools.transfer_s(),
          plan_.prefill_batch());
    double slowest = std::min(pools.prefill_requests_per_s(),
                              pools.transfer_requests_per_s());
    std::string limiting =
        pools.prefill_requests_per_s() <= pools.transfer_requests_per_s()
            ? "prefill"
            : "transfer";
    if (pools.has_decode_requests_per_s()) {
      if (pools.decode_requests_per_s() <= slowest) limiting = "decode";
      slowest = std::min(slowest, pools.decode_requests_per_s());
      sheet_.Hold(
          "a report of requests adds up", pools.limiting() == limiting,
          fmt::format("{} limits, {} is reported", limiting, pools.limiting()));
      // A batch is decoded while it is not in its prefill.
      Equal("requests of the decode pool",
            asked_.batch() / pools.decode_requests_per_s(),
            r_.end_to_end_s() - r_.prefill_s() - pools.exposed_transfer_s());
      Equal("balance of the pools",
            pools.balanced_ratio() * pools.prefill_requests_per_s() *
                static_cast<double>(plan_.decode().degrees.ranks()),
            pools.decode_requests_per_s() *
                static_cast<double>(plan_.prefill().degrees.ranks()));
    }
    Equal("requests of the pools", r_.output_tokens_per_s() / asked_.output(),
          slowest);
    sheet_.Hold("a report of requests adds up",
                pools.exposed_transfer_s() <= pools.transfer_s() * (1 + 1e-9) &&
                    pools.exposed_transfer_s() >=
                        (pools.transfer_s() - r_.prefill_s()) * (1 - 1e-9),
                fmt::format("{} of {} exposed", pools.exposed_transfer_s(),
                            pools.transfer_s()));
  }

  const InferencePlan& plan_;
  const pb::Inference& asked_;
  const pb::Report& report_;
  const pb::Report::InferenceResult& r_;
  StormSheet& sheet_;
};

class RequestMemoryLaws {
 public:
  RequestMemoryLaws(const ResolvedScenario& scenario, StormSheet& sheet)
      : scenario_(scenario),
        model_(scenario.model),
        plan_(*scenario.inference()),
        sheet_(sheet) {}

  void Check() {
    for (const PassPurpose phase :
         {PassPurpose::kPrefill, PassPurpose::kDecode}) {
      const ParallelLayout& layout = plan_.layout(phase);
      for (const int64_t tokens :
           {int64_t{1}, int64_t{plan_.prompt()}, plan_.context()}) {
        CheckCache(layout, tokens);
      }
      HoldLayerWeights(model_, layout, plan_.redundant_experts(), sheet_);
    }
    CheckCapacity();
    if (plan_.disaggregated()) CheckTransfer();
  }

 private:
  // Elements of a token in one layer of a rank.
  double Elements(int tensor) const {
    const Attention& a = model_.attention();
    if (a.is_latent()) return a.kv_rank + a.rope_dimension;
    const double heads =
        a.kv_heads > tensor ? static_cast<double>(a.kv_heads) / tensor : 1.0;
    return heads *
           (a.head_dimension + a.rope_dimension + a.value_head_dimension);
  }
  double LayerCache(const ParallelLayout& layout, int layer,
                    int64_t tokens) const {
    const int64_t held =
        std::min<int64_t>(tokens, model_.Window(layer).value_or(tokens));
    const int64_t blocks =
        CeilOver(CeilOver(held, layout.degrees.context), plan_.kv_block());
    return static_cast<double>(blocks * plan_.kv_block()) *
           Elements(layout.degrees.tensor) * Bits(plan_.kv_precision()) / 8;
  }

  void CheckCache(const ParallelLayout& layout, int64_t tokens) {
    double formula = 0;
    for (int layer = 0; layer < model_.layers(); ++layer) {
      formula += LayerCache(layout, layer, tokens);
    }
    if (plan_.speculation() && plan_.speculation()->prediction_module) {
      formula += LayerCache(layout, model_.layers(), tokens);
    }
    double held = 0;
    for (const Stage& stage : CutStages(model_, layout)) {
      held += static_cast<double>(
          StageCache(model_, plan_, layout, stage, tokens).value());
    }
    sheet_.Hold("cache by formula",
                std::abs(held - formula) <= model_.layers() + 1,
                fmt::format("{} tokens: {} held, {} by formula", tokens, held,
                            formula));
  }

  bool Fit(int64_t sequences, int64_t tokens) const {
    for (const InferenceMemory& held : MemoryByStage(
             model_, plan_, PassPurpose::kDecode,
             scenario_.kernels.reserved_memory(), sequences, tokens)) {
      if (held.cache >
          CacheRoom(plan_.engine(), held, MemoryCapacity(scenario_.system))) {
        return false;
      }
    }
    return true;
  }

  void CheckCapacity() {
    const CacheCapacity capacity =
        CapacityOf(model_, plan_, MemoryCapacity(scenario_.system),
                   scenario_.kernels.reserved_memory());
    const int data = plan_.decode().degrees.data;
    const int64_t most = capacity.largest_batch / data;
    const auto hold = [&](const char* what, int64_t number, bool fits,
                          bool more_fits) {
      sheet_.Hold("as many as fit", fits && !more_fits,
                  fmt::format("{} {}: {}, one more {}", what, number,
                              fits ? "fits" : "does not fit",
                              more_fits ? "fits as well" : "does not"));
    };
    hold("batch", capacity.largest_batch,
         most == 0 || Fit(most, plan_.context()),
         most < plan_.engine().max_batch && Fit(most + 1, plan_.context()));
    const int64_t sequences = plan_.batch() / data;
    const int64_t longest = capacity.longest_context;
    constexpr int64_t kLongest = int64_t{1} << 25;
    hold("context", longest, longest == 0 || Fit(sequences, longest),
         longest < kLongest && Fit(sequences, longest + 1));
  }

  // No faster than the NICs of the replica that gets most prompts.
  void CheckTransfer() {
    const auto transfer = TransferCache(scenario_, Duration(0));
    if (!transfer.ok() || !scenario_.system.scale_out()) return;
    const Degrees& degrees = plan_.decode().degrees;
    const auto prompts =
        static_cast<double>(CeilOver(plan_.prefill_batch(), degrees.data));
    double fullest = 0;
    for (const Stage& stage : CutStages(model_, plan_.decode())) {
      double bytes = 0;
      for (int i = 0; i < stage.layers; ++i) {
        const int layer = stage.first_layer + i;
        bytes += static_cast<double>(std::min<int64_t>(
                     plan_.prompt(),
                     model_.Window(layer).value_or(plan_.prompt()))) *
                 Elements(degrees.tensor) * Bits(plan_.kv_precision()) / 8;
      }
      fullest = std::max(fullest, bytes);
    }
    const double bytes = prompts * fullest / degrees.context;
    // All links that a chip has: of the network between nodes, and inside.
    double rate = 0;
    const auto add = [&](const auto& fabric) {
      rate += fabric.link.bandwidth.value() * 64;
    };
    add(scenario_.system.scale_out()->fabric);
    if (scenario_.system.scale_up()) add(scenario_.system.scale_up()->fabric);
    sheet_.Hold(
        "no cache beats the links", ToSeconds(transfer->time) >= bytes / rate,
        fmt::format("{} s for {} bytes", ToSeconds(transfer->time), bytes));
    sheet_.Hold(
        "what nothing hides is exposed", transfer->exposed == transfer->time,
        fmt::format("{} of {} s with a prefill of no time",
                    ToSeconds(transfer->exposed), ToSeconds(transfer->time)));
  }

  const ResolvedScenario& scenario_;
  const Model& model_;
  const InferencePlan& plan_;
  StormSheet& sheet_;
};

// Weights of the matrix products of a layer's forward pass, on a rank.
double ProductWeights(const LayerOps& layer) {
  double sum = 0;
  for (const LayerStep& step : layer.forward) {
    const Op* op = step.op();
    if (op == nullptr || op->name == OpName::kScores ||
        op->name == OpName::kScoresTimesValues) {
      continue;
    }
    if (const auto* gemm = std::get_if<Gemm>(&op->work)) {
      sum += static_cast<double>(gemm->n * gemm->k);
    } else if (const auto* grouped = std::get_if<GroupedGemm>(&op->work)) {
      sum += static_cast<double>(grouped->groups * grouped->n * grouped->k);
    }
  }
  return sum;
}

}  // namespace

void HoldRequestReport(const ResolvedScenario& scenario,
                       const pb::Report& report, StormSheet& sheet) {
  RequestReportLaws(scenario, report, sheet).Check();
}

void HoldRequestMemory(const ResolvedScenario& scenario, StormSheet& sheet) {
  RequestMemoryLaws(scenario, sheet).Check();
}

void HoldLayerWeights(const Model& model, const ParallelLayout& layout,
                      int redundant_experts, StormSheet& sheet) {
  const Degrees& degrees = layout.degrees;
  const Attention& a = model.attention();
  for (const int layer : {0, model.layers() - 1}) {
    const ParameterCount count = LayerParameters(model, layer);
    const RankParameters held = LayerParametersOf(model, degrees, layer);
    LayerShape shape =
        SplitOf(layout, {{.count = 1, .queries = 64 * degrees.context}}, 0);
    shape.redundant_experts = redundant_experts;
    const double products = ProductWeights(BuildLayer(model, layer, shape));
    // Experts that do not divide do so with copies of some of them.
    const double copied = count.experts > 0
                              ? 1.0 + static_cast<double>(redundant_experts) /
                                          model.moe()->experts
                              : 1.0;
    // Beside products a layer has norms, and biases where it has any.
    constexpr double kBiases = 0.02;
    const double rank = static_cast<double>(held.dense) +
                        copied * static_cast<double>(held.experts);
    const double others = static_cast<double>(count.norms) + kBiases * rank;
    sheet.Hold("weights of products = those held",
               products <= rank && rank - products <= others,
               fmt::format("layer {}: {} in products, {} held", layer, products,
                           rank));
    // Every tensor rank has the router, the norms, the narrow ends of latent
    // attention, and a head of keys and values at the least.
    double copies = static_cast<double>(count.router + count.norms);
    if (a.is_latent()) {
      copies += static_cast<double>(model.hidden()) *
                    (a.query_rank + a.kv_rank + a.rope_dimension) +
                a.query_rank + a.kv_rank;
    }
    double all = static_cast<double>(count.total() - count.experts) +
                 copies * (degrees.tensor - 1);
    if (!a.is_latent() && degrees.tensor > a.kv_heads) {
      all += static_cast<double>(model.hidden()) *
             static_cast<double>(a.key_width() + a.value_width()) *
             (static_cast<double>(degrees.tensor) / a.kv_heads - 1);
    }
    // Whole parameters of each kind on each rank.
    const double rounding = 8.0 * degrees.tensor;
    const double together = static_cast<double>(held.dense) * degrees.tensor;
    sheet.Hold("shards = the whole + copies",
               std::abs(together - all) <= rounding,
               fmt::format("layer {}: {} on {} ranks, {} by formula", layer,
                           together, degrees.tensor, all));
    const double experts = static_cast<double>(held.experts) * degrees.expert *
                           degrees.expert_tensor;
    sheet.Hold("shards = the whole + copies",
               std::abs(experts - static_cast<double>(count.experts)) <=
                   degrees.expert * degrees.expert_tensor,
               fmt::format("experts of layer {}: {} on all ranks of {}", layer,
                           experts, count.experts));
  }
}

}  // namespace orrery
