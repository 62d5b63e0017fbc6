#include "tests/storm/training_storm.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "base/format.h"
#include "base/units_text.h"
#include "catalog/resolve.h"
#include "catalog/textproto.h"
#include "proto/enum_names.h"
#include "run/report.h"
#include "run/run_scenario.h"
#include "run/training_run.h"
#include "sim/analysis/critical_path.h"
#include "tests/storm/adaptive_laws.h"
#include "tests/storm/bill_laws.h"
#include "tests/storm/draw_machine.h"
#include "tests/storm/draw_training.h"
#include "tests/storm/loop_laws.h"
#include "tests/storm/money_laws.h"
#include "tests/storm/report_laws.h"
#include "tests/storm/request_report_laws.h"
#include "tests/storm/split_laws.h"
#include "tests/storm/transfer_laws.h"
#include "tests/storm/work_laws.h"
#include "workload/lowering/training/lower_loop.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

// The laws of one case on one machine.
class TrainingLaws {
 public:
  TrainingLaws(const ResolvedScenario& scenario, const Network& network,
               StormSheet& sheet)
      : scenario_(scenario), network_(network), sheet_(sheet) {
    options_.record = true;
  }

  void Check() {
    std::optional<SimulatedRun> run = Run("fluid", options_);
    if (!run) return;
    sheet_.Label(run->placed.folded ? "folded" : "not folded");
    if (run->placed.folded && !scenario_.system.faults().empty()) {
      sheet_.Label("folded around a fault");
    }
    if (run->placed.folded && !scenario_.system.slow_chips().empty()) {
      sheet_.Label("folded around a slow chip");
    }
    CheckEstimate(*run);
    HoldArithmetic(scenario_, *run, sheet_);
    HoldLayerWeights(scenario_.model, scenario_.training()->layout(),
                     /*redundant_experts=*/0, sheet_);
    CheckLoop();
    CheckSplit(*run);
    RunOptions all = options_;
    all.fold = false;
    if (run->placed.folded) {
      std::optional<SimulatedRun> whole = Run("fluid, not folded", all);
      if (!whole) return;
      CheckFolding(*run, *whole);
      run = std::move(whole);
    }
    HoldAdaptive(scenario_, *run, options_, sheet_);
    CheckClosedForm();
    CheckStepped(*run, all);
  }

 private:
  bool IsPlain() const {
    return IsAsInCatalogue(scenario_.proto.system()) &&
           scenario_.proto.training().parallel().rank_map().empty();
  }

  // Every run is held against what must be true of any.
  std::optional<SimulatedRun> Run(const char* name, const RunOptions& options) {
    absl::StatusOr<SimulatedRun> run =
        RunScenario(scenario_, network_, options);
    if (!run.ok()) {
      sheet_.Hold("a legal case runs", false,
                  fmt::format("{}: {}", name, run.status().ToString()));
      return std::nullopt;
    }
    sheet_.Hold("a legal case runs", true, "");
    const Duration step = run->result.end.time_since_epoch();
    const auto text = [](Duration d) { return SecondsText(ToSeconds(d)); };
    sheet_.Hold(
        "within bounds", run->bounds.Hold(run->result.end),
        fmt::format("{}: {} is not within {} to {}", name, text(step),
                    text(run->bounds.lower()), text(run->bounds.upper)));
    sheet_.Hold("breakdown = step", run->breakdown.total() == step,
                fmt::format("{}: {} of {}", name, text(run->breakdown.total()),
                            text(step)));
    if (options.record) {
      const Duration path =
          PathLength(CriticalPath(SpanIndex(run->placed.program, run->spans)));
      sheet_.Hold("critical path = step", path == step,
                  fmt::format("{}: {} of {}", name, text(path), text(step)));
    }
    if (const auto broken = WhyNotConserved(*run)) {
      sheet_.Hold("bytes are conserved", false,
                  fmt::format("{}: {}", name, *broken));
    } else {
      sheet_.Hold("bytes are conserved", true, "");
    }
    return *std::move(run);
  }

  void CheckFolding(const SimulatedRun& folded, const SimulatedRun& whole) {
    const int64_t off = (folded.result.end - whole.result.end).count();
    sheet_.Hold("folded = whole", off == 0,
                fmt::format("{} folded, {} whole: {} ps apart",
                            SecondsText(ToSeconds(folded.result.end)),
                            SecondsText(ToSeconds(whole.result.end)), off));
    sheet_.Hold(
        "folded memory = whole",
        folded.memory.peak.total == whole.memory.peak.total,
        fmt::format("{} folded, {} whole", folded.memory.peak.total.value(),
                    whole.memory.peak.total.value()));
    const auto other = WhyOtherWork(folded, whole);
    sheet_.Hold("folded work = whole", !other, other.value_or(""));
  }

  void CheckSplit(const SimulatedRun& run) {
    const Degrees& degrees = scenario_.training()->degrees();
    const auto free = WhySplitForNothing(run, degrees, /*sum_gradients=*/true);
    sheet_.Hold("a split moves bytes", !free, free.value_or(""));
    if (degrees.context > 1) CheckContextMethods(scenario_, sheet_);
  }

  void CheckReport(const SimulatedRun& run, const StepEstimate& estimate) {
    const pb::Report report =
        MakeReport(scenario_, run, estimate, options_, RunCost{});
    HoldTrainingReport(scenario_, run, report, sheet_);
    const double held = report.estimate().step_time_s();
    sheet_.Hold(
        "the closed form lies within the bounds of its run",
        held >= report.bounds().lower_s() && held <= report.bounds().upper_s(),
        fmt::format("{:.9g} s, bounds {:.9g} and {:.9g}", held,
                    report.bounds().lower_s(), report.bounds().upper_s()));
    if (report.has_cost()) sheet_.Label("priced");
    HoldBill(scenario_, sheet_);
    HoldDraw(scenario_, report, sheet_);
    HoldMoney(report, sheet_);
  }

  // The same plan with as many micro-batches as make a loop of them.
  void CheckLoop() {
    constexpr int64_t kMostMicroBatches = 100;
    const TrainingPlan& plan = *scenario_.training();
    const std::optional<int> fewest = FewestInLoop(plan);
    if (!fewest || *fewest > kMostMicroBatches) return;
    const TrainingGround ground{scenario_.model, scenario_.system,
                                scenario_.kernels, network_};
    RunOptions options = options_;
    options.record = false;
    options.detail = false;
    const TrainingPlan longer = plan.WithMicroBatches(*fewest);
    const auto looped = RunTraining(ground, longer, options);
    options.loops = false;
    const auto written = RunTraining(ground, longer, options);
    if (!looped.ok() || !written.ok()) {
      sheet_.Hold(
          "a legal case runs", looped.ok() == written.ok(),
          fmt::format("looped: {}; written out: {}", looped.status().ToString(),
                      written.status().ToString()));
      return;
    }
    sheet_.Label(HasLoop(*looped) ? "looped" : "not looped");
    const std::optional<std::string> difference =
        WhyNotAlike(*looped, *written);
    sheet_.Hold("looped = written out", !difference, difference.value_or(""));
  }

  void CheckClosedForm() {
    RunOptions serial = options_;
    serial.record = false;
    serial.waited = DimensionSet::All();
    serial.chip_sharing = false;
    serial.fidelity = Fidelity::kClosedForm;
    const std::optional<SimulatedRun> run = Run("serial", serial);
    const auto estimate = EstimateScenario(scenario_, DimensionSet::All(),
                                           OthersAt(serial.fidelity));
    if (!run || !estimate.ok()) {
      sheet_.Hold("a legal case runs", estimate.ok(),
                  std::string(estimate.status().message()));
      return;
    }
    const double step = ToSeconds(run->result.end);
    const double off = estimate->step_s() / step - 1;
    constexpr double kExact = 0.001;
    sheet_.HoldNear(IsPlain() ? "closed form" : "closed form, rewired", off,
                    kExact,
                    fmt::format("{} closed form, {} simulated: {:+.3f} %",
                                SecondsText(estimate->step_s()),
                                SecondsText(step), 100 * off),
                    {{"calls", estimate->communication_s() / step}});
  }

  void CheckEstimate(const SimulatedRun& run) {
    const auto estimate = ClosedFormBeside(scenario_, options_);
    if (!estimate.ok()) return;
    const double step = ToSeconds(run.result.end);
    const double longest = ToSeconds(run.bounds.critical_path);
    sheet_.Hold("lower bound", estimate->lower_s <= step,
                fmt::format("{} by formula, {} simulated, longest path {}",
                            SecondsText(estimate->lower_s), SecondsText(step),
                            SecondsText(longest)));
    CheckOneClosedForm(*estimate);
    CheckMemory(run, *estimate);
    CheckReport(run, *estimate);
  }

  // Whatever the network is simulated by, and as the search of plans finds it.
  void CheckOneClosedForm(const StepEstimate& said) {
    const auto hold = [&](const char* where, double seconds) {
      sheet_.Hold("one closed form", seconds == said.step_s(),
                  fmt::format("{} estimated, {} {}", SecondsText(said.step_s()),
                              SecondsText(seconds), where));
    };
    for (const Fidelity fidelity : {Fidelity::kFluid, Fidelity::kStepped}) {
      RunOptions options = options_;
      options.fidelity = fidelity;
      const auto beside = ClosedFormBeside(scenario_, options);
      hold("beside a run", beside.ok() ? beside->step_s() : 0);
    }
    auto estimator = StepEstimator::Create(scenario_.model, scenario_.system,
                                           scenario_.kernels);
    hold("in a search",
         estimator.ok() ? estimator->Estimate(*scenario_.training()).step_s()
                        : 0);
  }

  void CheckMemory(const SimulatedRun& run, const StepEstimate& estimate) {
    const auto formula = static_cast<double>(
        (estimate.peak - scenario_.kernels.reserved_memory()).value());
    const auto simulated = static_cast<double>(run.memory.peak.total.value());
    const auto gradients = static_cast<double>(
        run.memory.peak.by_kind[static_cast<size_t>(MemoryKind::kGradients)]
            .value());
    const double off = formula / simulated - 1;
    constexpr double kExact = 0.001;
    sheet_.HoldNear(
        "memory by formula", off, kExact,
        fmt::format("{} by formula, {} simulated: {:+.2f} %",
                    BytesText(static_cast<int64_t>(formula)),
                    BytesText(static_cast<int64_t>(simulated)), 100 * off),
        {{"gradients", gradients / simulated},
         {"all gradients", AllGradients() / simulated}});
  }

  // Of a rank of the fullest stage, before any are reduced.
  double AllGradients() const {
    const TrainingPlan& plan = *scenario_.training();
    int64_t most = 0;
    for (const Stage& stage : CutStages(scenario_.model, plan.layout())) {
      most = std::max(
          most, ParametersOf(scenario_.model, plan.degrees(), stage).total());
    }
    return static_cast<double>((StorageBytes(plan.gradient_precision(), most) *
                                plan.layout().stages.pieces())
                                   .value());
  }

  // `fluid` is not folded: messages have no stand-ins.
  void CheckStepped(const SimulatedRun& fluid, const RunOptions& all) {
    // Beyond, a case would take seconds.
    constexpr size_t kMostRanks = 16;
    if (fluid.placed.program.ranks().size() > kMostRanks) return;
    CheckCallsAlone(fluid, network_, sheet_);
    RunOptions stepped = all;
    stepped.fidelity = Fidelity::kStepped;
    stepped.record = false;
    const std::optional<SimulatedRun> run = Run("stepped", stepped);
    if (!run) return;
    sheet_.Label("stepped");
    const double off =
        ToSeconds(fluid.result.end) / ToSeconds(run->result.end) - 1;
    double exposed = 0;
    for (const StepBreakdown::Exposed& stream : fluid.breakdown.exposed) {
      exposed += ToSeconds(stream.time);
    }
    constexpr double kContended = 0.15;
    sheet_.HoldNear(
        "stepped step", off, kContended,
        fmt::format("{} fluid, {} stepped: {:+.2f} %",
                    SecondsText(ToSeconds(fluid.result.end)),
                    SecondsText(ToSeconds(run->result.end)), 100 * off),
        {{"exposed", exposed / ToSeconds(run->result.end)}});
  }

  const ResolvedScenario& scenario_;
  const Network& network_;
  StormSheet& sheet_;
  RunOptions options_;
};

void LabelCase(const pb::Scenario& proto, StormSheet& sheet) {
  const pb::Training& plan = proto.training();
  LabelMachine(proto.system(), sheet);
  sheet.Label("schedule " + pb::Training::Schedule_Name(plan.schedule()));
  sheet.Label("sharding " + pb::Training::Sharding_Name(plan.sharding()));
  sheet.Label("recompute " + pb::Training::Recompute_Name(plan.recompute()));
  if (plan.sharding() >= pb::Training::ZERO_2) {
    sheet.Label("gradients sharded");
  }
  if (!plan.parallel().rank_map().empty()) sheet.Label("rank map");
  if (plan.parallel().expert() > 1) sheet.Label("experts");
  if (plan.expert_imbalance() > 1 || plan.expert_load_size() > 0) {
    sheet.Label("uneven experts");
  }
  if (proto.framework().has_dispatch()) {
    sheet.Label(proto.framework().blocking_launches() ? "host waits" : "host");
  }
  if (proto.model().moe().first_dense_layers() > 0) {
    sheet.Label("first layers dense");
  }
  if (plan.parallel().context() > 1) sheet.Label("context");
  if (plan.parallel().tensor() > 1) sheet.Label("tensor");
  if (plan.parallel().pipeline() > 1) sheet.Label("pipeline");
}

}  // namespace

void CheckTraining(const ResolvedScenario& scenario, StormSheet& sheet) {
  const auto network = Network::Make(scenario.system);
  if (!network.ok()) {
    sheet.Hold("a legal case runs", false, network.status().ToString());
    return;
  }
  TrainingLaws(scenario, *network, sheet).Check();
}

Storm TrainingStorm() {
  return {"training",
          [](uint64_t seed, int64_t number) {
            return PrintTextproto(DrawTraining(seed, number));
          },
          [](uint64_t seed, int64_t number, StormSheet& sheet) {
            const pb::Scenario proto = DrawTraining(seed, number);
            LabelCase(proto, sheet);
            const auto scenario = MakeScenario(proto);
            CHECK(scenario.ok()) << scenario.status().ToString();
            CheckTraining(*scenario, sheet);
          }};
}

}  // namespace orrery
