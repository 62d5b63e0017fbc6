#include "tests/storm/inference_storm.h"

#include <cmath>
#include <optional>
#include <vector>

#include "analytic/inference/inference_estimate.h"
#include "base/check.h"
#include "base/format.h"
#include "base/units_text.h"
#include "catalog/textproto.h"
#include "proto/enum_names.h"
#include "run/inference_run.h"
#include "run/phase_ground.h"
#include "run/requests/inference_report.h"
#include "run/run_scenario.h"
#include "sim/analysis/critical_path.h"
#include "tests/storm/bill_laws.h"
#include "tests/storm/draw_inference.h"
#include "tests/storm/draw_machine.h"
#include "tests/storm/money_laws.h"
#include "tests/storm/request_laws.h"
#include "tests/storm/request_report_laws.h"
#include "tests/storm/split_laws.h"
#include "tests/storm/transfer_laws.h"

namespace orrery {
namespace {

// The laws of one phase of one case.
class PhaseLaws {
 public:
  PhaseLaws(const ResolvedScenario& scenario, const TrainingGround& on,
            InferenceSimulator& simulator, InferencePart part,
            StormSheet& sheet)
      : scenario_(scenario),
        plan_(*scenario.inference()),
        on_(on),
        simulator_(simulator),
        passes_(PassesOf(plan_, part)),
        name_(part == InferencePart::kPrefill ? "prefill" : "decode"),
        sheet_(sheet) {
    // Every chunk and every batch of prompts alike: a few are enough.
    constexpr size_t kMostPasses = 3;
    if (passes_.size() > kMostPasses) passes_.resize(kMostPasses);
  }

  void Check() {
    const std::optional<SimulatedRun> run = Run("fluid", {.record = true});
    if (!run) return;
    sheet_.Label(run->placed.folded ? "folded" : "not folded");
    const auto free =
        WhySplitForNothing(*run, plan_.layout(passes_[0].purpose).degrees,
                           /*sum_gradients=*/false);
    sheet_.Hold("a split moves bytes", !free,
                fmt::format("{}: {}", name_, free.value_or("")));
    if (run->placed.folded) {
      const std::optional<SimulatedRun> whole =
          Run("not folded", {.fold = false, .record = true});
      if (!whole) return;
      CheckFolding(*run, *whole);
    }
    CheckClosedForm();
  }

 private:
  std::optional<SimulatedRun> Run(const char* how, const RunOptions& options) {
    absl::StatusOr<SimulatedRun> run = simulator_.Run(passes_, options);
    sheet_.Hold("a legal case runs", run.ok(),
                fmt::format("{}, {}: {}", name_, how,
                            run.ok() ? "" : run.status().ToString()));
    if (!run.ok()) return std::nullopt;
    const Duration step = run->result.end.time_since_epoch();
    const auto text = [](Duration d) { return SecondsText(ToSeconds(d)); };
    sheet_.Hold(
        "within bounds", run->bounds.Hold(run->result.end),
        fmt::format("{}, {}: {} is not within {} to {}", name_, how, text(step),
                    text(run->bounds.lower()), text(run->bounds.upper)));
    sheet_.Hold("breakdown = step", run->breakdown.total() == step,
                fmt::format("{}, {}: {} of {}", name_, how,
                            text(run->breakdown.total()), text(step)));
    if (options.record) {
      const Duration path =
          PathLength(CriticalPath(SpanIndex(run->placed.program, run->spans)));
      sheet_.Hold(
          "critical path = step", path == step,
          fmt::format("{}, {}: {} of {}", name_, how, text(path), text(step)));
    }
    const auto broken = WhyNotConserved(*run);
    sheet_.Hold("bytes are conserved", !broken,
                fmt::format("{}, {}: {}", name_, how, broken.value_or("")));
    return *std::move(run);
  }

  void CheckFolding(const SimulatedRun& folded, const SimulatedRun& whole) {
    const int64_t off = (folded.result.end - whole.result.end).count();
    sheet_.Hold("folded = whole", off == 0,
                fmt::format("{}: {} folded, {} whole: {} ps apart", name_,
                            SecondsText(ToSeconds(folded.result.end)),
                            SecondsText(ToSeconds(whole.result.end)), off));
    sheet_.Hold("folded memory = whole",
                folded.memory.peak.total == whole.memory.peak.total,
                fmt::format("{}: {} folded, {} whole", name_,
                            folded.memory.peak.total.value(),
                            whole.memory.peak.total.value()));
  }

  void CheckClosedForm() {
    const RunOptions serial{.fidelity = Fidelity::kClosedForm,
                            .waited = DimensionSet::All(),
                            .chip_sharing = false};
    auto estimator = InferenceEstimator::Create(
        on_.model, on_.system, on_.kernels, OthersAt(serial.fidelity));
    CHECK(estimator.ok()) << estimator.status().ToString();
    const InferencePass& pass = passes_[0];
    const absl::StatusOr<Duration> step = simulator_.StepTime(pass, serial);
    sheet_.Hold("a legal case runs", step.ok(), step.status().ToString());
    if (!step.ok()) return;
    const double formula =
        estimator
            ->Step(plan_, pass, {.waited = serial.waited, .each_rank = true})
            .step_s();
    const double off = formula / ToSeconds(*step) - 1;
    constexpr double kExact = 0.001;
    const bool piped = plan_.layout(pass.purpose).degrees.pipeline > 1;
    const bool rewired = !IsAsInCatalogue(scenario_.proto.system());
    std::string law = "closed form";
    if (rewired) law += ", rewired";
    if (piped) law += ", pipeline";
    sheet_.Hold(law, std::abs(off) <= kExact,
                fmt::format("{}: {} closed form, {} simulated: {:+.3f} %",
                            name_, SecondsText(formula),
                            SecondsText(ToSeconds(*step)), 100 * off));
    CheckOnce(*estimator, serial);
  }

  // Runs the passes of the phase once, one after the other, as `check` does.
  // Several of them fill and drain a pipeline once.
  void CheckOnce(InferenceEstimator& estimator, const RunOptions& serial) {
    const absl::StatusOr<SimulatedRun> run = simulator_.Run(passes_, serial);
    sheet_.Hold("a legal case runs", run.ok(), run.status().ToString());
    if (!run.ok()) return;
    const double simulated = ToSeconds(run->result.end.time_since_epoch());
    const StepEstimate estimate = estimator.Steps(
        plan_, passes_,
        {.waited = serial.waited, .each_rank = true, .once = true});
    const double formula = estimate.step_s();
    // More than this is an answer of "no" of `check`. Passes that differ are
    // put in a row by clocks of one rank for each stage, whatever ranks wait
    // for in each of them.
    constexpr double kMostUnexplained = 0.01;
    sheet_.HoldNear("closed form of passes run once", formula / simulated - 1,
                    kMostUnexplained,
                    fmt::format("{}, {} passes: {} closed form, {} simulated",
                                name_, passes_.size(), SecondsText(formula),
                                SecondsText(simulated)),
                    {{"calls", estimate.communication_s() / simulated}});
  }

  const ResolvedScenario& scenario_;
  const InferencePlan& plan_;
  TrainingGround on_;
  InferenceSimulator& simulator_;
  std::vector<InferencePass> passes_;
  const char* name_;
  StormSheet& sheet_;
};

void LabelRequests(const pb::Scenario& proto, StormSheet& sheet) {
  const pb::Inference& plan = proto.inference();
  sheet.Label("system " + proto.system().name());
  sheet.Label("engine " + plan.engine().name());
  sheet.Label("weights " + pb::DType_Name(plan.has_weight_precision()
                                              ? plan.weight_precision()
                                              : plan.precision()));
  sheet.Label("cache " + pb::DType_Name(plan.kv_precision()));
  sheet.Label("attention " +
              pb::Attention::Kind_Name(proto.model().attention().kind()));
  if (proto.model().attention().has_window()) sheet.Label("window");
  if (!proto.system().fault().empty()) sheet.Label("fault");
  if (!proto.system().slow_chip().empty()) sheet.Label("slow chip");
  if (plan.has_disaggregated()) sheet.Label("pools");
  if (plan.disaggregated().has_prefill_system()) sheet.Label("two machines");
  if (plan.prefill_chunk() > 0 && plan.prefill_chunk() < plan.prompt()) {
    sheet.Label("chunks");
  }
  if (plan.decode_beside() > 0) sheet.Label("mixed steps");
  if (plan.micro_batches() > 1) sheet.Label("parts");
  if (plan.overlap_halves()) sheet.Label("halves");
  if (plan.has_speculation()) {
    sheet.Label(plan.speculation().prediction_module() ? "prediction module"
                                                       : "drafts");
  }
  const auto label = [&](const pb::Parallel& parallel) {
    if (parallel.tensor() > 1) sheet.Label("tensor");
    if (parallel.pipeline() > 1) sheet.Label("pipeline");
    if (parallel.context() > 1) sheet.Label("context");
    if (parallel.expert() > 1) sheet.Label("experts");
  };
  if (!plan.has_disaggregated()) return label(plan.parallel());
  label(plan.disaggregated().prefill_parallel());
  label(plan.disaggregated().decode_parallel());
}

}  // namespace

void CheckInference(const ResolvedScenario& scenario, StormSheet& sheet) {
  const auto grounds = PhaseGrounds::Make(scenario);
  CHECK(grounds.ok()) << grounds.status().ToString();
  const InferencePlan& plan = *scenario.inference();
  for (const InferencePart part :
       {InferencePart::kPrefill, InferencePart::kDecodeStep}) {
    if (part == InferencePart::kDecodeStep && DecodeSteps(plan) == 0) continue;
    const TrainingGround on = grounds->of(PassesOf(plan, part)[0].purpose);
    auto simulator = InferenceSimulator::Create(on, plan);
    CHECK(simulator.ok()) << simulator.status().ToString();
    PhaseLaws(scenario, on, *simulator, part, sheet).Check();
  }
  if (plan.prefill().degrees.context > 1) CheckContextMethods(scenario, sheet);
  CheckRequest(scenario, sheet);
  HoldRequestMemory(scenario, sheet);
  const auto report = ReportInference(scenario, {});
  sheet.Hold("a legal case runs", report.ok(), report.status().ToString());
  if (!report.ok()) return;
  HoldRequestReport(scenario, *report, sheet);
  if (report->has_cost()) sheet.Label("priced");
  HoldMoney(*report, sheet);
  HoldDraw(scenario, *report, sheet);
}

Storm InferenceStorm() {
  return {"inference",
          [](uint64_t seed, int64_t number) {
            return PrintTextproto(DrawInference(seed, number));
          },
          [](uint64_t seed, int64_t number, StormSheet& sheet) {
            const pb::Scenario proto = DrawInference(seed, number);
            LabelRequests(proto, sheet);
            const auto scenario = MakeScenario(proto);
            CHECK(scenario.ok()) << scenario.status().ToString();
            CheckInference(*scenario, sheet);
          }};
}

}  // namespace orrery
