#include "tests/storm/request_laws.h"

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "accuracy/trust/trust.h"
#include "base/check.h"
#include "base/format.h"
#include "base/units_text.h"
#include "run/inference_run.h"
#include "run/phase_ground.h"
#include "run/report.h"
#include "run/requests/kv_transfer.h"
#include "run/requests/request_timeline.h"
#include "run/run_scenario.h"
#include "workload/model/kv_cache.h"
#include "workload/model/parameters.h"
#include "workload/plan/inference_memory.h"

namespace orrery {
namespace {

std::string Text(Duration time) { return SecondsText(ToSeconds(time)); }

// A scenario changed in one thing; none if that is not legal.
std::optional<ResolvedScenario> With(
    const ResolvedScenario& scenario,
    absl::FunctionRef<void(pb::Scenario&)> change) {
  pb::Scenario proto = scenario.proto;
  change(proto);
  absl::StatusOr<ResolvedScenario> made = MakeScenario(std::move(proto));
  if (!made.ok()) return std::nullopt;
  return *std::move(made);
}

// One step, of decoding or the first of the prefill, by itself.
std::optional<Duration> Step(const ResolvedScenario& scenario,
                             const InferencePass& pass) {
  const auto grounds = PhaseGrounds::Make(scenario);
  if (!grounds.ok()) return std::nullopt;
  auto simulator = InferenceSimulator::Create(grounds->of(pass.purpose),
                                              *scenario.inference());
  CHECK(simulator.ok()) << simulator.status().ToString();
  const auto time = simulator->StepTime(pass, {});
  if (!time.ok()) return std::nullopt;
  return *time;
}

std::optional<Duration> DecodeStep(const ResolvedScenario& scenario,
                                   int64_t cached) {
  return Step(scenario, DecodePass(*scenario.inference(), cached));
}

class RequestLaws {
 public:
  RequestLaws(const ResolvedScenario& scenario, StormSheet& sheet)
      : scenario_(scenario), plan_(*scenario.inference()), sheet_(sheet) {}

  void Check() {
    if (DecodeSteps(plan_) > 0) {
      CheckContext();
      CheckBatch();
      CheckStreaming();
      CheckBandwidth();
      CheckEveryToken();
      CheckTimeline();
    }
    CheckTrust();
    CheckChunks();
    CheckTokens();
    CheckCapacity();
  }

 private:
  void CheckContext() {
    Duration before{};
    int64_t at = 0;
    const int64_t prompt = plan_.prompt();
    // What a kernel loses, and so may gain, by an exchange beside it.
    const NetworkCalibration& calls = scenario_.system.collectives();
    const double taken = std::max(calls.compute_share, calls.memory_share);
    const StormFacts facts = {{"chip share", taken / (1 - taken)}};
    for (const int64_t cached :
         {prompt, prompt + 1, prompt + 63, 2 * prompt + 64, 8 * prompt + 500}) {
      const auto step = DecodeStep(scenario_, cached);
      if (!step) return;
      const double faster =
          at == 0 ? 0 : std::max(0.0, ToSeconds(before) / ToSeconds(*step) - 1);
      sheet_.HoldNear("a longer context is not faster", faster, 0,
                      fmt::format("{} at {} tokens, {} at {}", Text(before), at,
                                  Text(*step), cached),
                      facts);
      before = *step;
      at = cached;
    }
  }

  void CheckBatch() {
    const int data = plan_.decode().degrees.data;
    const int parts = plan_.micro_batches() * (plan_.overlap_halves() ? 2 : 1);
    const int64_t cached = plan_.prompt() + 100;
    const auto base = DecodeStep(scenario_, cached);
    Duration before = base.value_or(Duration(0));
    int at = plan_.batch();
    for (const int more :
         {plan_.batch() + data * parts, 2 * plan_.batch(), 5 * plan_.batch()}) {
      if (more <= at) continue;
      const auto larger = With(scenario_, [&](pb::Scenario& s) {
        s.mutable_inference()->set_batch(more);
      });
      const auto step = larger ? DecodeStep(*larger, cached) : std::nullopt;
      if (!step) continue;
      sheet_.Hold("a larger batch is not faster", *step >= before,
                  fmt::format("{} with {}, {} with {}", Text(before), at,
                              Text(*step), more));
      before = *step;
      at = more;
    }
  }

  // What the fullest stage must read for a step: weights that every token
  // needs, experts that some token chose, and the cache.
  double LeastBytes(int64_t cached) const {
    const Model& model = scenario_.model;
    const ParallelLayout& layout = plan_.decode();
    const Degrees& degrees = layout.degrees;
    const double weight = StoredWeightBits(plan_.stored_weight()) / 8;
    const double sequences = static_cast<double>(plan_.batch()) / degrees.data;
    double most = 0;
    for (const Stage& stage : CutStages(model, layout)) {
      double bytes = 0;
      for (int i = 0; i < stage.layers; ++i) {
        const int layer = stage.first_layer + i;
        const ParameterCount count = LayerParameters(model, layer);
        const auto shared =
            static_cast<double>(LayerParametersOf(model, degrees, layer).dense -
                                count.router - count.norms);
        const std::optional<int> window = model.Window(layer);
        const int64_t seen =
            window ? std::min<int64_t>(cached, *window) : cached;
        bytes += weight * shared +
                 sequences * BytesPerElement(plan_.kv_precision()) *
                     std::floor(static_cast<double>(seen) / degrees.context) *
                     static_cast<double>(KvCacheElementsPerTokenAndLayer(
                         model, degrees.tensor));
      }
      most = std::max(most, bytes);
    }
    return most;
  }

  void CheckStreaming() {
    const int64_t cached = 4 * plan_.prompt() + 1000;
    const auto step = DecodeStep(scenario_, cached);
    if (!step) return;
    const double least =
        LeastBytes(cached) / scenario_.system.chip().memory_bandwidth().value();
    sheet_.Hold("no step beats streaming", ToSeconds(*step) >= least,
                fmt::format("{} for what takes {} to read", Text(*step),
                            SecondsText(least)));
  }

  void CheckBandwidth() {
    constexpr double kMore = 1.4;
    const auto more = [&](std::string* text) {
      const auto value = ParseBytesPerSecond(*text);
      CHECK(value.ok()) << *text;
      *text = fmt::format("{} GB/s", value->value() * kMore / 1e9);
    };
    const auto memory = With(scenario_, [&](pb::Scenario& s) {
      more(s.mutable_system()->mutable_chip()->mutable_memory_bandwidth());
    });
    const auto links = With(scenario_, [&](pb::Scenario& s) {
      pb::System& system = *s.mutable_system();
      for (pb::Fabric* fabric :
           {system.mutable_scale_up()->mutable_fabric(),
            system.mutable_scale_out()->mutable_fabric()}) {
        if (fabric->link().has_bandwidth()) {
          more(fabric->mutable_link()->mutable_bandwidth());
        }
      }
      if (system.scale_up().has_chip_bandwidth()) {
        more(system.mutable_scale_up()->mutable_chip_bandwidth());
      }
      if (system.scale_out().has_nic_bandwidth()) {
        more(system.mutable_scale_out()->mutable_nic_bandwidth());
      }
      if (!scenario_.proto.system().has_scale_out()) system.clear_scale_out();
      if (!scenario_.proto.system().has_scale_up()) system.clear_scale_up();
    });
    std::vector<InferencePass> passes = {DecodePass(plan_, plan_.prompt() + 1),
                                         PrefillPasses(plan_)[0]};
    for (const InferencePass& pass : passes) {
      const auto now = Step(scenario_, pass);
      if (!now) continue;
      for (const auto& [name, better] :
           {std::pair{"memory", &memory}, std::pair{"links", &links}}) {
        const auto step = *better ? Step(**better, pass) : std::nullopt;
        if (!step) continue;
        sheet_.Hold(
            fmt::format("more bandwidth is not slower, {}", name),
            *step <= *now,
            fmt::format(
                "{}: {}, with more of it {}",
                pass.purpose == PassPurpose::kDecode ? "decode" : "prefill",
                Text(*now), Text(*step)));
      }
    }
  }

  absl::StatusOr<InferenceRun> Request(const ResolvedScenario& scenario,
                                       bool every_token) const {
    const auto grounds = PhaseGrounds::Make(scenario);
    CHECK(grounds.ok()) << grounds.status().ToString();
    return RunInference(grounds->of(PassPurpose::kPrefill),
                        grounds->of(PassPurpose::kDecode),
                        *scenario.inference(), {.every_token = every_token});
  }

  void CheckEveryToken() {
    const auto few = Request(scenario_, false);
    const auto all = Request(scenario_, true);
    sheet_.Hold("a legal case runs", few.ok() && all.ok(),
                few.status().ToString());
    if (!few.ok() || !all.ok()) return;
    constexpr double kPromised = 1e-3;
    // A picosecond of each step.
    constexpr double kRounded = 1e-9;
    const double off =
        std::abs(1 - ToSeconds(all->decode) / ToSeconds(few->decode));
    sheet_.Hold("few steps = every token",
                off <= kPromised && off <= few->integration_error + kRounded,
                fmt::format("{:.4f} % apart, {:.4f} % said", 100 * off,
                            100 * few->integration_error));
  }

  // Of a few tokens, all of them and a sample.
  void CheckTimeline() {
    static constexpr int kFewTokens = 7;
    const auto few = With(scenario_, [](pb::Scenario& s) {
      auto& inference = *s.mutable_inference();
      inference.set_output(std::min(inference.output(), kFewTokens));
    });
    if (!few || few->inference()->disaggregated()) return;
    const InferencePlan& plan = *few->inference();
    const auto report = Request(*few, true);
    const auto drawn =
        RunScenario(*few, {.part = InferencePart::kWholeRequest});
    const auto sample =
        RunScenario(*few, {.part = InferencePart::kRequest, .record = true});
    sheet_.Hold("a legal case runs", report.ok() && drawn.ok() && sample.ok(),
                drawn.status().ToString());
    if (!report.ok() || !drawn.ok() || !sample.ok()) return;
    const Duration overhead = plan.engine().request_overhead;
    const bool drafts =
        plan.speculation() && plan.speculation()->draft_cost > 0;
    if (plan.decode().degrees.pipeline == 1 && !drafts &&
        !plan.engine().overlap_steps) {
      const Duration end = drawn->result.end - Time{} + overhead;
      // Every task is rounded to a picosecond; and a host that is ahead of the
      // chip hides behind the step before.
      constexpr double kPicosecond = 1e-12;
      constexpr double kHidden = 0.1;
      const double said = ToSeconds(report->end_to_end);
      const double off = ToSeconds(end) / said - 1;
      const double rounded =
          kPicosecond * static_cast<double>(drawn->result.tasks) / said;
      sheet_.HoldNear("drawn steps take what the report adds up",
                      off > rounded || off < -kHidden ? off : 0, 0,
                      fmt::format("drawn {} ps, reported {} ps", end.count(),
                                  report->end_to_end.count()));
    }
    const RequestTimeline timeline =
        RequestsOf(*few, *sample, InferencePart::kRequest, report->end_to_end);
    int64_t steps = 0;
    Time last{};
    for (const RequestStep& step : timeline.steps) {
      last = std::max(last, step.to);
      if (step.decodes()) ++steps;
      if (step.kind == RequestStep::Kind::kNotDrawn) steps += step.steps;
    }
    sheet_.Hold("no step is lost", steps == DecodeSteps(plan),
                fmt::format("{} of {} steps", steps, DecodeSteps(plan)));
    if (timeline.drawn_steps == timeline.decode_steps) return;
    sheet_.Hold("a drawn request does not end before the report's",
                last >= Time(report->end_to_end),
                fmt::format("drawn {}, reported {}", Text(last - Time{}),
                            Text(report->end_to_end)));
  }

  void CheckTrust() {
    pb::Scenario proto = scenario_.proto;
    pb::Chip& chip = *proto.mutable_system()->mutable_chip();
    const auto rate = ParseBytesPerSecond(chip.memory_bandwidth());
    CHECK(rate.ok()) << rate.status().ToString();
    chip.set_memory_bandwidth(
        fmt::format("{} TB/s", 100 * rate->value() / 1e12));
    const pb::Trust trust = TrustIn(proto);
    sheet_.Hold(
        "a machine nobody built is not vouched for",
        trust.level() == pb::Trust::EXTRAPOLATED && !trust.has_mean_error(),
        trust.text());
  }

  double PrefillFlops(const InferencePlan& plan) const {
    double sum = 0;
    for (const InferencePass& pass : PrefillPasses(plan)) {
      const LayerShape shape = ShapeOf(plan, pass);
      for (int layer = 0; layer < scenario_.model.layers(); ++layer) {
        sum += pass.parts *
               SumModelFlops(BuildLayer(scenario_.model, layer, shape).forward)
                   .value();
      }
    }
    return sum;
  }

  void CheckChunks() {
    const auto with = [&](int chunk) {
      return With(scenario_, [&](pb::Scenario& s) {
        s.mutable_inference()->clear_decode_beside();
        if (chunk > 0) {
          s.mutable_inference()->set_prefill_chunk(chunk);
        } else {
          s.mutable_inference()->clear_prefill_chunk();
        }
      });
    };
    const auto plain = with(0);
    const auto one = with(plan_.prompt());
    if (!plain || !one) return;
    const InferencePass first = PrefillPasses(*plain->inference())[0];
    const auto a = Step(*plain, first);
    const auto b = Step(*one, PrefillPasses(*one->inference())[0]);
    if (a && b) {
      sheet_.Hold("one chunk = plain prefill", *a == *b,
                  fmt::format("{} plain, {} in one chunk", Text(*a), Text(*b)));
    }
    const auto cut = with((plan_.prompt() + 2) / 3);
    // Latents in the cache are expanded anew for every chunk, and scores that
    // are written to memory are not cut to the causal half. Rows of experts are
    // whole numbers.
    if (!cut || scenario_.model.attention().is_latent() ||
        plan_.engine().unfused_prefill) {
      return;
    }
    constexpr double kRounded = 1e-3;
    const double off =
        PrefillFlops(*cut->inference()) / PrefillFlops(*plain->inference()) - 1;
    sheet_.Hold("chunks do not change the arithmetic",
                std::abs(off) <= kRounded,
                fmt::format("{:+.4f} % in three chunks", 100 * off));
  }

  void CheckTokens() {
    int64_t prompts = 0;
    for (const InferencePass& pass : PrefillPasses(plan_)) {
      prompts += pass.parts * pass.groups[0].count * pass.groups[0].queries;
    }
    const int64_t asked = int64_t{plan_.prefill_batch()} /
                          plan_.prefill().degrees.data * plan_.prompt();
    sheet_.Hold("no token is lost", prompts == asked,
                fmt::format("prefill takes {} tokens of a replica's {}",
                            prompts, asked));
    const double per_step =
        plan_.speculation() ? plan_.speculation()->TokensPerStep() : 1;
    const double brought = per_step * static_cast<double>(DecodeSteps(plan_));
    const int64_t wanted =
        plan_.output() - (plan_.engine().first_token_by_decode ? 0 : 1);
    sheet_.Hold("no token is lost",
                brought >= static_cast<double>(wanted) &&
                    brought - per_step < static_cast<double>(wanted),
                fmt::format("{} steps of {} tokens bring {}",
                            DecodeSteps(plan_), per_step, wanted));
    if (!plan_.disaggregated()) return;
    const auto transfer = TransferCache(scenario_, Duration(1'000'000'000));
    sheet_.Hold("a legal case runs", transfer.ok(),
                transfer.status().ToString());
    if (!transfer.ok()) return;
    const Bytes whole = KvCacheBytes(scenario_.model, plan_.prompt(),
                                     Bits(plan_.kv_precision()));
    sheet_.Hold(
        "no token is lost", transfer->bytes == whole,
        fmt::format("{} moved of {}", transfer->bytes.value(), whole.value()));
    // Whoever has a copy in decoding gets it.
    const Attention& a = scenario_.model.attention();
    const int heads = a.is_latent() ? 1 : a.kv_heads;
    const int copies = std::max(1, plan_.decode().degrees.tensor / heads);
    const Bytes all = whole * (int64_t{copies} * plan_.prefill_batch());
    sheet_.Hold("no token is lost", transfer->moved == all,
                fmt::format("{} moved of {} in all", transfer->moved.value(),
                            all.value()));
  }

  void CheckCapacity() {
    const Bytes device = MemoryCapacity(scenario_.system);
    const Bytes reserved = scenario_.kernels.reserved_memory();
    const CacheCapacity capacity =
        CapacityOf(scenario_.model, plan_, device, reserved);
    const int data = plan_.decode().degrees.data;
    const int64_t sequences = plan_.batch() / data;
    sheet_.Hold("largest batch",
                capacity.fits == (capacity.largest_batch >= plan_.batch()) ||
                    sequences > plan_.engine().max_batch,
                fmt::format("{} {}, the largest is {}", plan_.batch(),
                            capacity.fits ? "fits" : "does not fit",
                            capacity.largest_batch));
    sheet_.Hold("longest context",
                capacity.fits == (capacity.longest_context >= plan_.context()),
                fmt::format("{} {}, the longest is {}", plan_.context(),
                            capacity.fits ? "fits" : "does not fit",
                            capacity.longest_context));
  }

  const ResolvedScenario& scenario_;
  const InferencePlan& plan_;
  StormSheet& sheet_;
};

}  // namespace

void CheckRequest(const ResolvedScenario& scenario, StormSheet& sheet) {
  RequestLaws(scenario, sheet).Check();
}

}  // namespace orrery
