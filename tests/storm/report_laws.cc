#include "tests/storm/report_laws.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <variant>

#include "base/check.h"
#include "base/format.h"
#include "base/units_text.h"
#include "run/explanation.h"
#include "run/utilisation.h"
#include "sim/analysis/time_shares.h"
#include "topology/machine/dtype.h"
#include "workload/model/model_flops.h"

namespace orrery {
namespace {

class TrainingReportLaws {
 public:
  TrainingReportLaws(const ResolvedScenario& scenario, const SimulatedRun& run,
                     const pb::Report& report, StormSheet& sheet)
      : scenario_(scenario),
        plan_(scenario.proto.training()),
        run_(run),
        report_(report),
        sheet_(sheet) {}

  void Check() {
    const double step = ToSeconds(run_.result.end);
    Equal("step", report_.step_time_s(), step);
    CheckThroughput(step);
    CheckBreakdown(step);
    CheckEstimate();
    CheckBounds(step);
    if (!run_.spans.empty()) CheckExplanation(step);
    CheckMemory();
    CheckStates();
    const pb::System& system = scenario_.proto.system();
    const double chips =
        static_cast<double>(system.nodes()) * system.chips_per_node();
    Equal("ranks", static_cast<double>(report_.engine().ranks()), chips);
    if (report_.has_cost()) {
      Equal("chips that are paid for",
            static_cast<double>(report_.cost().chips()), chips);
    }
    sheet_.Hold("a report adds up",
                report_.engine().simulated_ranks() <= report_.engine().ranks(),
                "more ranks were simulated than there are");
  }

 private:
  void Equal(const std::string& what, double is, double should) {
    constexpr double kRounding = 1e-9;
    sheet_.Hold("a report adds up",
                std::abs(is - should) <= kRounding * std::abs(should),
                fmt::format("{}: {} is reported, {} follows from the rest",
                            what, is, should));
  }

  // Of one chip, at the number format of the plan.
  double Peak() const {
    for (const pb::Rate& rate : scenario_.proto.system().chip().peak()) {
      if (rate.dtype() != plan_.precision()) continue;
      const auto value = ParseFlopsPerSecond(rate.rate());
      CHECK(value.ok()) << rate.rate();
      return value->value();
    }
    CHECK(false) << "no peak";
    return 0;
  }

  void CheckThroughput(double step) {
    const pb::System& system = scenario_.proto.system();
    const double chips =
        static_cast<double>(system.nodes()) * system.chips_per_node();
    const double batch = plan_.global_batch();
    const double length = plan_.sequence();
    Equal("tokens", report_.tokens_per_s() * step, batch * length);
    Equal("tokens of a chip", report_.tokens_per_s_per_chip() * chips,
          report_.tokens_per_s());
    const auto model = [&](AttentionCount count) {
      return TrainingModelFlops(scenario_.model, batch, plan_.sequence(), count)
          .value();
    };
    const double full = model(AttentionCount::kFull);
    const double could = Peak() * step * chips;
    Equal("MFU", report_.mfu() * could, full);
    Equal("MFU of causal pairs", report_.mfu_causal() * could,
          model(AttentionCount::kCausal));
    Equal("HFU", report_.hfu() * could, full + run_.recomputed.value());
    Equal("model FLOP/s", report_.model_tflops_per_chip() * 1e12 * step * chips,
          full);
  }

  void CheckBreakdown(double step) {
    const pb::Report::Breakdown& b = report_.breakdown();
    Equal("parts of the step",
          b.compute_s() + b.memory_bound_s() + b.launch_s() +
              b.tensor_exposed_s() + b.context_exposed_s() +
              b.expert_exposed_s() + b.pipeline_exposed_s() +
              b.data_exposed_s() + b.bubble_s() + b.optimizer_s() +
              b.kernels_slowed_by_communication_s() + b.slow_chip_s() +
              b.late_peer_s() + b.host_s(),
          step);
    const Degrees& degrees = scenario_.training()->degrees();
    const auto idle = [&](const std::string& what, double seconds, bool there) {
      sheet_.Hold("a dimension of one rank takes no time",
                  there || seconds == 0,
                  fmt::format("{}: {}", what, SecondsText(seconds)));
    };
    idle("tensor", b.tensor_exposed_s(),
         degrees.tensor > 1 || degrees.expert_tensor > 1);
    idle("context", b.context_exposed_s(), degrees.context > 1);
    idle("expert", b.expert_exposed_s(),
         degrees.expert > 1 || degrees.expert_tensor > 1);
    idle("pipeline", b.pipeline_exposed_s(), degrees.pipeline > 1);
    idle("bubble", b.bubble_s(), degrees.pipeline > 1);
    idle("slow chip", b.slow_chip_s(),
         !scenario_.proto.system().slow_chip().empty());
    idle("host", b.host_s(), scenario_.proto.framework().has_dispatch());
  }

  void CheckEstimate() {
    const pb::Report::Estimate& e = report_.estimate();
    Equal("parts of the closed form",
          e.compute_s() + e.host_s() + e.tensor_s() + e.context_s() +
              e.expert_s() + e.pipeline_s() + e.data_s() + e.bubble_s() +
              e.optimizer_s() + e.held_s(),
          e.step_time_s());
    const Degrees& degrees = scenario_.training()->degrees();
    const auto idle = [&](const std::string& what, double seconds, bool there) {
      sheet_.Hold(
          "a dimension of one rank takes no time", there || seconds == 0,
          fmt::format("{}, closed form: {}", what, SecondsText(seconds)));
    };
    idle("tensor", e.tensor_s(),
         degrees.tensor > 1 || degrees.expert_tensor > 1);
    idle("context", e.context_s(), degrees.context > 1);
    idle("expert", e.expert_s(),
         degrees.expert > 1 || degrees.expert_tensor > 1);
    idle("pipeline", e.pipeline_s(), degrees.pipeline > 1);
    idle("bubble", e.bubble_s(), degrees.pipeline > 1);
    idle("host", e.host_s(), scenario_.proto.framework().has_dispatch());
  }

  void CheckBounds(double step) {
    const pb::Report::Bounds& b = report_.bounds();
    Equal("lower bound", b.lower_s(),
          std::max(b.critical_path_s(), b.busiest_resource_s()));
    sheet_.Hold(
        "a report adds up", b.lower_s() <= step && step <= b.upper_s(),
        fmt::format("step {}, bounds {} to {}", SecondsText(step),
                    SecondsText(b.lower_s()), SecondsText(b.upper_s())));
  }

  // Weights, gradients and the optimizer have so many bytes of each
  // parameter: Adam two moments, and in mixed precision a copy of the weights
  // in FP32.
  void CheckStates() {
    if (plan_.sharding() > pb::Training::ZERO_1) return;
    const auto bytes = [](pb::DType dtype) {
      return Bits(FromProto(dtype)) / 8;
    };
    const bool mixed = bytes(plan_.precision()) <= 2;
    const double weight = mixed ? 2 : 4;
    const double gradient = bytes(plan_.gradient_precision());
    const double optimizer =
        2.0 * bytes(plan_.has_moment_precision() ? plan_.moment_precision()
                                                 : pb::FP32) +
        (mixed ? 4 : 0);
    for (const auto& stage : report_.memory().stages()) {
      const double parameters =
          static_cast<double>(stage.weights_bytes()) / weight;
      Equal("gradients of the weights",
            static_cast<double>(stage.gradients_bytes()),
            gradient * parameters);
      const auto state = static_cast<double>(stage.optimizer_bytes());
      if (plan_.sharding() == pb::Training::ZERO_0) {
        Equal("optimizer of the weights", state, optimizer * parameters);
        continue;
      }
      const Degrees& degrees = scenario_.training()->degrees();
      // Experts may be shared among the tensor ranks of others as well, and
      // in two directions two ranks of a pipeline hold the same.
      const double ranks =
          static_cast<double>(degrees.data) * degrees.context *
          (scenario_.model.moe() ? degrees.tensor : 1) *
          (plan_.schedule() == pb::Training::DUAL_PIPE ? 2 : 1);
      sheet_.Hold("a report adds up",
                  state <= optimizer * parameters &&
                      state * ranks >= optimizer * parameters,
                  fmt::format("optimizer: {} bytes on each of {} ranks for {} "
                              "parameters",
                              state, ranks, parameters));
    }
  }

  // One run and one rank: a word is one time in the report and the
  // explanation.
  void CheckExplanation(double step) {
    const pb::Explanation explanation = Explain(scenario_, run_, {});
    const pb::Report::Breakdown& b = report_.breakdown();
    std::map<std::string, double> times;
    double sum = 0;
    for (const auto& share : explanation.rank_time()) {
      times[share.name()] += share.time_s();
      sum += share.time_s();
      if (share.parts_size() == 0) continue;
      double parts = 0;
      for (const auto& part : share.parts()) parts += part.time_s();
      Equal("parts of a wait", parts, share.time_s());
    }
    Equal("time of the rank that is explained", sum, step);
    Equal("explained bubble", times["bubble"], b.bubble_s());
    Equal("explained late peers", times["late peers"], b.late_peer_s());
    Equal("explained kernels slowed by communication",
          times[kSlowedByCommunication], b.kernels_slowed_by_communication_s());
    Equal("explained slow chip", times["slow chip"], b.slow_chip_s());
    Equal("explained host", times["host"], b.host_s());
    double path = 0;
    for (const auto& cause : explanation.critical_path())
      path += cause.time_s();
    // Every task on it is rounded to a picosecond.
    const double rounded = 1e-12 * static_cast<double>(run_.result.tasks);
    sheet_.Hold("a report adds up", std::abs(path - step) <= rounded,
                fmt::format("critical path: {}, step: {}", path, step));
  }

  void CheckMemory() {
    const pb::Report::Memory& m = report_.memory();
    Equal("parts of memory",
          static_cast<double>(m.weights_bytes() + m.gradients_bytes() +
                              m.optimizer_bytes() + m.activations_bytes() +
                              m.kv_cache_bytes() + m.buffers_bytes()),
          static_cast<double>(m.peak_bytes()));
    int64_t fullest = 0;
    for (const auto& stage : m.stages()) {
      fullest = std::max(fullest, stage.peak_bytes());
      Equal("parts of a stage's memory",
            static_cast<double>(
                stage.weights_bytes() + stage.gradients_bytes() +
                stage.optimizer_bytes() + stage.activations_bytes() +
                stage.buffers_bytes()),
            static_cast<double>(stage.peak_bytes()));
    }
    Equal("peak of the fullest stage", static_cast<double>(m.peak_bytes()),
          static_cast<double>(fullest));
    const auto memory = ParseBytes(scenario_.proto.system().chip().memory());
    CHECK(memory.ok()) << scenario_.proto.system().chip().memory();
    sheet_.Hold(
        "a report adds up",
        m.capacity_bytes() <= memory->value() &&
            m.fits() == (m.reserved_bytes() <= m.capacity_bytes()) &&
            m.reserved_bytes() >= m.peak_bytes() &&
            m.peak_at_s() <= report_.step_time_s(),
        fmt::format("memory: peak {}, reserved {}, capacity {} of {}, "
                    "{}",
                    m.peak_bytes(), m.reserved_bytes(), m.capacity_bytes(),
                    memory->value(), m.fits() ? "fits" : "does not fit"));
  }

  const ResolvedScenario& scenario_;
  const pb::Training& plan_;
  const SimulatedRun& run_;
  const pb::Report& report_;
  StormSheet& sheet_;
};

// Arithmetic of the matrix units, by what it is for.
struct Arithmetic {
  double linear = 0;
  double router = 0;
  double attention = 0;
  double lookup = 0;
  double again = 0;
  double sum() const { return linear + router + attention + lookup + again; }
};

Arithmetic ArithmeticOf(const SimulatedRun& run) {
  Arithmetic sum;
  const Program& program = run.placed.program;
  for (const RankId rank : program.ranks().ids()) {
    const Role& role = program.role_of(rank);
    Arithmetic of_rank;
    for (const StreamId stream : program.streams().ids()) {
      for (TaskId id = role.stream_begin(stream); id < role.stream_end(stream);
           id = static_cast<TaskId>(Index(id) + 1)) {
        const Task& task = role.task(id);
        if (task.kind != TaskKind::kKernel) continue;
        const KernelFacts& facts = role.kernel(task).facts;
        const double flops = facts.flops.value();
        if (flops == 0) continue;
        CHECK(facts.op.has_value()) << "kernels were merged";
        const Op& op = run.ops[*facts.op];
        if (role.mark(id).phase == WorkPhase::kRecompute) {
          of_rank.again += flops;
        } else if (op.name == OpName::kEmbedding) {
          of_rank.lookup += flops;
        } else if (op.name == OpName::kRouter) {
          of_rank.router += flops;
        } else if (op.name == OpName::kScores ||
                   op.name == OpName::kScoresTimesValues ||
                   std::holds_alternative<FusedAttention>(op.work)) {
          of_rank.attention += flops;
        } else {
          of_rank.linear += flops;
        }
      }
    }
    const auto times = static_cast<double>(program.ranks()[rank].multiplicity);
    sum.linear += times * of_rank.linear;
    sum.router += times * of_rank.router;
    sum.attention += times * of_rank.attention;
    sum.lookup += times * of_rank.lookup;
    sum.again += times * of_rank.again;
  }
  return sum;
}

}  // namespace

void HoldTrainingReport(const ResolvedScenario& scenario,
                        const SimulatedRun& run, const pb::Report& report,
                        StormSheet& sheet) {
  TrainingReportLaws(scenario, run, report, sheet).Check();
}

void HoldArithmetic(const ResolvedScenario& scenario, const SimulatedRun& run,
                    StormSheet& sheet) {
  const Arithmetic executed = ArithmeticOf(run);
  const Model& model = scenario.model;
  const pb::Training& plan = scenario.proto.training();
  const auto equal = [&](const std::string& what, double is, double should) {
    // Rows of experts are means; sums have some thousand terms.
    constexpr double kRounding = 1e-6;
    sheet.Hold("executed = model + recomputed",
               std::abs(is - should) <= kRounding * std::abs(should),
               fmt::format("{}: {:.8g} executed, {:.8g} by formula", what, is,
                           should));
  };
  equal("all kernels", executed.sum(), run.executed.value());
  equal("computed again", executed.again, run.recomputed.value());
  // What units are said to be used does it, on all chips in all of the step.
  const System& system = scenario.system;
  const double all = ToSeconds(run.result.end) * system.chips();
  for (const ResourceClassUse& use : Utilisation(scenario, run)) {
    if (use.name != "matrix units") continue;
    equal("matrix units in use",
          use.mean * all * system.chip().peak(scenario.precision())->value(),
          executed.sum());
  }

  // A sequence of one token has one pair of query and key: without it, what
  // is left are the products with weights, forward and twice backward.
  const Attention& a = model.attention();
  const double tokens =
      static_cast<double>(plan.global_batch()) * plan.sequence();
  const int layers = model.layers() + model.mtp_modules();
  const double pair =
      2.0 * a.heads * (a.score_head_dimension() + a.value_head_dimension);
  double router = 0;
  for (int layer = 0; layer < layers; ++layer) {
    if (!model.IsMoe(layer)) continue;
    router += 2.0 * model.hidden() * model.moe()->experts;
  }
  const double linear =
      TrainingModelFlops(model, tokens, 1, AttentionCount::kCausal).value() -
      3 * tokens * (layers * pair + router);
  const Degrees& degrees = scenario.training()->degrees();
  // A rank has whole columns of the head, and whole heads of keys and values:
  // where tensor ranks are more than these, several have the same.
  const int columns = (model.vocabulary() + degrees.tensor - 1) /
                      degrees.tensor * degrees.tensor;
  double more = 2.0 * model.hidden() * (columns - model.vocabulary()) *
                (1 + model.mtp_modules());
  if (!a.is_latent() && degrees.tensor > a.kv_heads) {
    const double copies = static_cast<double>(degrees.tensor) / a.kv_heads - 1;
    more += 2.0 * model.hidden() *
            static_cast<double>(a.key_width() + a.value_width()) * copies *
            layers;
  }
  // What tokens are pressed into by latent attention is not split: tensor
  // ranks that share their tokens all make the same.
  const int sharing = degrees.sequence_parallel ? 1 : degrees.tensor;
  if (a.is_latent()) {
    more += 2.0 * model.hidden() *
            static_cast<double>(a.query_rank + a.kv_rank + a.rope_dimension) *
            (sharing - 1) * layers;
  }
  equal("products with weights", executed.linear, linear + 3 * tokens * more);
  // Tensor ranks that share their tokens choose experts each for themselves.
  equal("routers", executed.router, 3 * tokens * router * sharing);

  // Fused kernels compute the scores again in the backward pass, which is one
  // product more for six.
  const auto model_attention = [&](AttentionCount count) {
    return TrainingModelFlops(model, plan.global_batch(), plan.sequence(),
                              count)
               .value() -
           linear - 3 * tokens * router;
  };
  const double least = model_attention(AttentionCount::kCausal);
  // Scores that are written to memory are not cut to the window.
  const double square =
      3 * tokens * layers * pair * static_cast<double>(plan.sequence());
  const double most = square * 7 / 6;
  constexpr double kRounding = 1e-9;
  sheet.Hold("executed = model + recomputed",
             executed.attention >= least * (1 - kRounding) &&
                 executed.attention <= most * (1 + kRounding),
             fmt::format("attention: {:.8g} executed, {:.8g} to {:.8g} by "
                         "formula",
                         executed.attention, least, most));
  if (degrees.context > 1) return;
  const double scores = 2.0 * a.heads * a.score_head_dimension();
  const double again = scores / pair / 3;
  if (plan.attention_kernel() == pb::Training::FLASH) {
    equal("fused attention", executed.attention, least * (1 + again));
  } else {
    equal("attention in parts", executed.attention, square);
  }
}

}  // namespace orrery
