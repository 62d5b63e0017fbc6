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
#include "sim/analysis/time_shares.h"
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
    if (!run_.spans.empty()) CheckExplanation(step);
    CheckMemory();
    const pb::System& system = scenario_.proto.system();
    Equal("ranks", static_cast<double>(report_.engine().ranks()),
          static_cast<double>(system.nodes()) * system.chips_per_node());
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

  // One run and one rank: a word is one time in the report and the explanation.
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
    Equal("critical path", path, step);
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
  equal("products with weights", executed.linear, linear + 3 * tokens * more);
  // Tensor ranks that share their tokens choose experts each for themselves.
  const int copies = degrees.sequence_parallel ? 1 : degrees.tensor;
  equal("routers", executed.router, 3 * tokens * router * copies);

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
