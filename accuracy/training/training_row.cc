#include "accuracy/training/training_row.h"

#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "accuracy/training/training_columns.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/defaults.h"
#include "catalog/resolve.h"
#include "proto/enum_names.h"
#include "run/run_scenario.h"
#include "workload/model/model_flops.h"

namespace orrery {
namespace {

constexpr int kLargestMicroBatch = 64;

// The sweep's runs that compare calls take, for an all-gather, a reduce-scatter
// or an all-reduce on 2 to 64 nodes, 0.30 ms for each rank and 0.31 of what the
// others take, within 5 % (medians of 18 kinds of calls), if they are of 1 GiB.
constexpr char kCheck[] = "collective_check: \"300 us\"";

class RowReader {
 public:
  RowReader(const MeasurementRow& row, const TrainingRules& rules)
      : row_(row), rules_(rules) {}

  absl::StatusOr<TrainingRow> Read() {
    ASSIGN_OR_RETURN(model_, rules_.ModelOf(row_));
    ASSIGN_OR_RETURN(system_, rules_.SystemOf(row_));
    ASSIGN_OR_RETURN(framework_, rules_.FrameworkOf(row_));
    ASSIGN_OR_RETURN(columns_, TrainingColumns::Read(row_, framework_));
    ASSIGN_OR_RETURN(ResolvedScenario scenario, Scenario());
    RETURN_IF_ERROR(CheckModel(scenario));
    std::optional<bool> finished;
    if (row_.Has("status")) {
      ASSIGN_OR_RETURN(finished, row_.Choice<bool>("status", {{"Success", true},
                                                              {"OOM", false}}));
    }
    std::optional<double> measured;
    std::optional<absl::Status> no_time;
    if (columns_.pipeline > 1 && row_.Text("after_pp_fix") == "False") {
      no_time = row_.Wrong("after_pp_fix",
                           "True where pp is above 1: before, the pipeline had "
                           "a fault of its own");
    } else if (finished.value_or(true)) {
      ASSIGN_OR_RETURN(measured, Measured(scenario));
    }
    TrainingRow result{
        .model = row_.Text("model"),
        .plan = Plan(scenario),
        .plan_set = PlanSet(),
        .measured_s = measured,
        .no_time = no_time,
        .finished = finished,
        .selective = columns_.recompute == pb::Training::RECOMPUTE_SELECTIVE,
        .scenario = std::move(scenario)};
    if (row_.Has("mem_gb")) {
      ASSIGN_OR_RETURN(result.memory_gib, row_.Positive("mem_gb"));
    }
    ASSIGN_OR_RETURN(result.counted, ReadCountedMemory(row_));
    if (row_.Has("mem_reserved_gb")) {
      ASSIGN_OR_RETURN(result.reserved_gib, row_.Positive("mem_reserved_gb"));
    }
    return result;
  }

 private:
  absl::StatusOr<double> Measured(const ResolvedScenario& scenario) const {
    const TrainingPlan& plan = *scenario.training();
    const double tokens =
        static_cast<double>(plan.global_batch()) * plan.sequence();
    const double chips = columns_.chips;
    if (row_.Has("step_time_s")) return row_.Positive("step_time_s");
    if (row_.Has("tokens_per_s_per_gpu")) {
      ASSIGN_OR_RETURN(const double rate,
                       row_.Positive("tokens_per_s_per_gpu"));
      return tokens / rate / chips;
    }
    const std::string kind = row_.Text("tflops_kind");
    const bool full = absl::StartsWith(kind, "model (attention full");
    const bool halved = absl::StartsWith(kind, "model (causal-halved");
    if (!row_.Has("tflops_per_gpu") || !(full || halved)) {
      return row_.Positive("step_time_s");
    }
    ASSIGN_OR_RETURN(const double rate, row_.Positive("tflops_per_gpu"));
    const Flops flops = TrainingModelFlops(
        scenario.model, plan.global_batch(), plan.sequence(),
        full ? AttentionCount::kFull : AttentionCount::kCausal);
    return flops.value() / (rate * 1e12 * chips);
  }

  // A model whose sizes are not the row's must have those.
  absl::Status CheckModel(const ResolvedScenario& scenario) const {
    const Model& model = scenario.model;
    const std::pair<const char*, std::pair<int, int>> sizes[] = {
        {"layers", {columns_.layers, model.layers()}},
        {"hidden", {columns_.hidden, model.hidden()}},
        {"heads", {columns_.heads, model.attention().heads}},
        {"vocab", {columns_.vocabulary, model.vocabulary()}}};
    for (const auto& [column, pair] : sizes) {
      if (pair.first == pair.second) continue;
      return row_.Wrong(
          column, fmt::format("{}, as of {}", pair.second, model_.preset));
    }
    return absl::OkStatus();
  }

  std::string Plan(const ResolvedScenario& scenario) const {
    const TrainingColumns& c = columns_;
    const std::string recompute = row_.Text("recompute");
    return fmt::format("TP {} PP {} v {} DP {}{}{} b {}{}{}", c.tensor,
                       c.pipeline, c.virtual_stages, c.data,
                       c.context > 1 ? fmt::format(" CP {}", c.context) : "",
                       c.expert > 1 ? fmt::format(" EP {}", c.expert) : "",
                       scenario.training()->micro_batch(),
                       recompute.empty() ? "" : ", " + recompute,
                       c.sequence_parallel ? ", SP" : "");
  }

  std::string PlanSet() const {
    return absl::StrJoin({row_.Text("source_id"), row_.Text("hardware"),
                          row_.Text("model"), row_.Text("num_gpus"),
                          row_.Text("seq_len"), row_.Text("global_batch")},
                         "/");
  }

  absl::StatusOr<std::string> SystemText() const {
    const TrainingColumns& c = columns_;
    const auto text = [&](int nodes, const std::string& more) {
      return fmt::format("system {{ preset: \"{}\" nodes: {} {} }}",
                         absl::CEscape(system_.preset), nodes, more);
    };
    const int node = c.chips_per_node.value_or(8);
    switch (system_.domain) {
      case SystemRule::Domain::kNodes:
        if (c.chips % node != 0) {
          return row_.Wrong("gpus_per_node", "a divisor of num_gpus");
        }
        return text(c.chips / node, "");
      case SystemRule::Domain::kRacks: {
        const int rack = std::min(c.chips, system_.chips);
        if (c.chips % rack != 0) {
          return row_.Wrong("num_gpus",
                            fmt::format("a multiple of the {} chips that a job "
                                        "takes of a rack",
                                        rack));
        }
        return text(c.chips / rack,
                    fmt::format("chips_per_node: {} scale_out {{ "
                                "nics_per_node: {} }}",
                                rack, rack));
      }
      case SystemRule::Domain::kPod:
        if (c.chips % node != 0) {
          return row_.Wrong("gpus_per_node", "a divisor of num_gpus");
        }
        return text(c.chips / node, fmt::format("chips_per_node: {} {}", node,
                                                TorusText(c.chips)));
      case SystemRule::Domain::kSlices: {
        const int slice = c.chips / c.slices;
        return text(c.slices, fmt::format("chips_per_node: {} scale_out {{ "
                                          "nics_per_node: {} }} {}",
                                          slice, slice, TorusText(slice)));
      }
    }
    return row_.Wrong("hardware", "that of a known system");
  }

  // The sides of a slice as the catalogue fills them in, but with that first
  // along which tensor ranks make a ring, as a mesh of devices is laid out.
  std::string TorusText(int chips) const {
    const auto pod = Catalog().System(system_.preset);
    if (!pod.ok() || columns_.tensor == 1) return "";
    std::vector<int32_t> sides =
        EvenShape(chips, pod->scale_up().fabric().torus().dimensions());
    std::sort(sides.begin(), sides.end(), std::greater<>());
    std::stable_partition(sides.begin(), sides.end(), [&](int32_t side) {
      return side == columns_.tensor;
    });
    return fmt::format("scale_up {{ fabric {{ torus {{ shape: [{}] }} }} }}",
                       absl::StrJoin(sides, ", "));
  }

  std::string ModelText() const {
    const TrainingColumns& c = columns_;
    const bool no_mtp = absl::StrContains(row_.Text("notes"), "w/o MTP");
    if (!model_.sizes_of_row) {
      return fmt::format("model {{ preset: \"{}\" {} }}", model_.preset,
                         no_mtp ? "mtp_modules: 0" : "");
    }
    const bool learned =
        model_.preset == "mpt_7b" || model_.preset == "gpt_22b";
    return fmt::format(
        R"(model {{ preset: "{}" layers: {} hidden: {} vocabulary: {} {}
          attention {{ kind: {} heads: {} kv_heads: {} head_dimension: {} }}
          mlp {{ width: {} }} }})",
        model_.preset, c.layers, c.hidden, c.vocabulary,
        learned ? fmt::format("learned_positions: {}", c.sequence) : "",
        c.kv_heads == c.heads ? "MHA"
        : c.kv_heads == 1     ? "MQA"
                              : "GQA",
        c.heads, c.kv_heads, c.hidden / c.heads, c.width);
  }

  std::string LayersPerStage() const {
    const TrainingColumns& c = columns_;
    if (c.layers % (int64_t{c.pipeline} * c.virtual_stages) == 0 ||
        (c.layers + 2) % c.pipeline != 0 || c.virtual_stages > 1) {
      return "";
    }
    std::string text;
    for (int stage = 0; stage < c.pipeline; ++stage) {
      const bool end = stage == 0 || stage == c.pipeline - 1;
      text += fmt::format(" layers_per_stage: {}",
                          (c.layers + 2) / c.pipeline - (end ? 1 : 0));
    }
    return text;
  }

  std::string TrainingText(int micro_batch) const {
    const TrainingColumns& c = columns_;
    std::string more = LayersPerStage();
    for (const auto module : c.modules) {
      more += fmt::format(" recompute_module: {}", EnumName(module));
    }
    if (c.recompute_layers) {
      more += fmt::format(" recompute_layers: {}", *c.recompute_layers);
    }
    if (c.sharding_group) {
      more += fmt::format(" sharding_group: {}", *c.sharding_group);
    }
    if (row_.Has("zero_stage") && c.sharding == pb::Training::ZERO_1) {
      // nanotron scatters all sums in one call after the passes, where it does
      // not leave them to DDP (FP32GradientAccumulator,
      // sync_gradients_across_dp).
      more += " overlap_gradient_reduction: false bucket: \"1 TB\"";
    }
    if (c.gradient) {
      more += fmt::format(" gradient_precision: {}", Name(*c.gradient));
    }
    return fmt::format(
        R"(training {{ global_batch: {} micro_batch: {} sequence: {}
          parallel {{ tensor: {} context: {} pipeline: {} data: {} expert: {}
            sequence_parallel: {} }}
          schedule: {} virtual_stages: {} sharding: {} recompute: {}
          precision: {} {} }})",
        c.global_batch, micro_batch, c.sequence, c.tensor, c.context,
        c.pipeline, c.data, c.expert, c.sequence_parallel,
        c.virtual_stages > 1 ? "INTERLEAVED_1F1B" : "ONE_F_ONE_B",
        c.virtual_stages, EnumName(c.sharding), EnumName(c.recompute),
        Name(c.precision), more);
  }

  // Runs of the sweep measured an all-reduce of a node themselves. None got
  // between 431 and 435 GB/s: those above reach what NVLink gives, those below
  // lose a third of a millisecond to each call, and lose the more the more
  // ranks call, whatever the collective: their hosts compared calls. Runs that
  // did not get to measure theirs are told by the version they ran with.
  absl::StatusOr<bool> ComparesCalls() const {
    constexpr double kCompared = 433;
    if (!row_.Has("allreduce_intranode_GBps")) {
      return row_.Text("after_pp_fix") == "True";
    }
    ASSIGN_OR_RETURN(const double rate,
                     row_.Positive("allreduce_intranode_GBps"));
    return rate < kCompared;
  }

  absl::StatusOr<ResolvedScenario> ScenarioWith(int micro_batch) const {
    ASSIGN_OR_RETURN(const std::string system, SystemText());
    ASSIGN_OR_RETURN(const bool compares, ComparesCalls());
    const std::string framework =
        framework_.preset.empty()
            ? ""
            : fmt::format("framework {{ preset: \"{}\" {} }}",
                          framework_.preset, compares ? kCheck : "");
    const std::string text =
        fmt::format("name: \"{}\" {} {} {} {}", absl::CEscape(row_.id()),
                    ModelText(), system, framework, TrainingText(micro_batch));
    ASSIGN_OR_RETURN(pb::Scenario proto,
                     ResolveScenarioText(Catalog(), text, "as a scenario",
                                         rules_.RecipeOf(row_)));
    const int node = proto.system().chips_per_node();
    if (system_.domain == SystemRule::Domain::kNodes &&
        columns_.chips_per_node.value_or(node) != node) {
      return row_.Wrong("gpus_per_node",
                        fmt::format("{}, as on {}", node, system_.preset));
    }
    return MakeScenario(std::move(proto));
  }

  absl::StatusOr<ResolvedScenario> Scenario() const {
    if (columns_.hidden % columns_.heads != 0 && model_.sizes_of_row) {
      return row_.Wrong("heads", "a divisor of hidden");
    }
    if (columns_.micro_batch) return ScenarioWith(*columns_.micro_batch);
    std::optional<ResolvedScenario> best;
    double fastest = 0;
    const int replica = columns_.global_batch / columns_.data;
    for (int size = 1; size <= kLargestMicroBatch && replica % size == 0;
         size *= 2) {
      absl::StatusOr<ResolvedScenario> tried = ScenarioWith(size);
      // Not every size makes a plan.
      if (!tried.ok() && size > 1) continue;
      if (!tried.ok()) return tried.status();
      ResolvedScenario scenario = *std::move(tried);
      ASSIGN_OR_RETURN(const StepEstimate estimate, EstimateScenario(scenario));
      if (estimate.reserved > scenario.system.chip().memory()) break;
      if (best && estimate.step_s() >= fastest) continue;
      fastest = estimate.step_s();
      best.emplace(std::move(scenario));
    }
    if (!best) return row_.Wrong("micro_batch", "published: none fits");
    return *std::move(best);
  }

  const MeasurementRow& row_;
  const TrainingRules& rules_;
  ModelRule model_;
  SystemRule system_;
  FrameworkRule framework_;
  TrainingColumns columns_;
};

}  // namespace

absl::StatusOr<MeasurementTable> OpenTrainingTable(
    const std::optional<std::string>& file) {
  return MeasurementTable::Open(
      file, "training.csv",
      {"model", "layers", "hidden", "heads", "ffn", "vocab", "seq_len",
       "global_batch", "tp", "pp", "num_gpus",
       "step_time_s|tokens_per_s_per_gpu|tflops_per_gpu", "system|hardware"});
}

absl::StatusOr<MeasurementTable> OpenTrainingSweep() {
  return MeasurementTable::Open(
      std::nullopt, "training_hf_sweep.csv",
      {"model", "layers", "hidden", "heads", "ffn", "vocab", "seq_len",
       "global_batch", "tp", "pp", "num_gpus", "status"});
}

absl::StatusOr<TrainingRow> ReadTrainingRow(const MeasurementRow& row,
                                            const TrainingRules& rules) {
  return RowReader(row, rules).Read();
}

}  // namespace orrery
