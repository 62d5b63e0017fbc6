#include "cli/print/inference_text.h"

#include <utility>
#include <vector>

#include "base/format.h"
#include "base/units_text.h"
#include "cli/print/cost_text.h"
#include "cli/print/report_text.h"

namespace orrery {
namespace {

std::string Line(const std::string& name, const std::string& value) {
  return fmt::format("{:<36} {:>12}\n", name, value);
}

std::string RateText(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value)
                       : fmt::format("{:.1f}", value);
}

std::string PoolsText(const pb::Report::Pools& pools) {
  std::string text = "\nseparate pools, both busy all the time\n";
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<34} {:>12}\n", name, value);
  };
  line("prompts per second, prefill pool",
       fmt::format("{:.2f}", pools.prefill_requests_per_s()));
  if (pools.has_decode_requests_per_s()) {
    line("requests per second, decode pool",
         fmt::format("{:.2f}", pools.decode_requests_per_s()));
  }
  line("prompts per second, network",
       fmt::format("{:.2f}", pools.transfer_requests_per_s()));
  line("cache of a prompt", BytesText(pools.transfer_bytes()));
  line("  of a prefill batch, moved in", SecondsText(pools.transfer_s()));
  line("  of which the prefill hides not",
       SecondsText(pools.exposed_transfer_s()));
  if (pools.has_limiting()) {
    text += fmt::format(
        "  {} limits; the pools are balanced with {:.2f} prefill chips per "
        "decode chip\n",
        pools.limiting() == "transfer" ? "the network between the pools"
                                       : "the " + pools.limiting() + " pool",
        pools.balanced_ratio());
  }
  return text;
}

std::string StepText(const pb::Report& report) {
  const auto& b = report.breakdown();
  const std::vector<std::pair<const char*, double>> rows = {
      {"weights, cache: memory-bound", b.memory_bound_s()},
      {"matrix and other compute", b.compute_s()},
      {"starting kernels on the chip", b.launch_s()},
      {"host", b.host_s()},
      {"tensor communication, exposed", b.tensor_exposed_s()},
      {"context communication, exposed", b.context_exposed_s()},
      {"expert communication, exposed", b.expert_exposed_s()},
      {"pipeline communication, exposed", b.pipeline_exposed_s()},
      {"waiting for other ranks (bubble)", b.bubble_s()},
      {"waiting for late peers", b.late_peer_s()},
      {"kernels slowed by communication",
       b.kernels_slowed_by_communication_s()},
      {"kernels longer on a slow chip", b.slow_chip_s()}};
  std::string text =
      fmt::format("\n{}: {}\n",
                  report.inference().decode_steps() > 0
                      ? "the decode step in the middle of the output"
                      : "the prefill",
                  SecondsText(report.step_time_s()));
  for (const auto& [name, seconds] : rows) {
    if (seconds <= 0) continue;
    text +=
        fmt::format("  {:<34} {:>12}  {:>5.1f} %\n", name, SecondsText(seconds),
                    100 * seconds / report.step_time_s());
  }
  return text;
}

std::string MemoryText(const pb::Report& report) {
  const pb::Report::Memory& m = report.memory();
  std::string text = fmt::format(
      "\nmemory of a chip at the end of the request: {} of {}, {}\n",
      BytesText(m.peak_bytes()), BytesText(m.capacity_bytes()),
      m.fits() ? "fits" : "DOES NOT FIT");
  const std::pair<const char*, int64_t> parts[] = {
      {"weights", m.weights_bytes()},
      {"KV cache", m.kv_cache_bytes()},
      {"activations", m.activations_bytes()},
      {"graphs and run-time", m.buffers_bytes()}};
  for (const auto& [name, bytes] : parts) {
    if (bytes == 0) continue;
    text += fmt::format("  {:<34} {:>12}\n", name, BytesText(bytes));
  }
  const pb::Report::InferenceResult& r = report.inference();
  if (r.largest_batch() == 0) {
    text += "  not one request of this length fits\n";
  } else {
    text += fmt::format("  {:<34} {:>12}\n", "largest batch that fits",
                        r.largest_batch());
  }
  text += fmt::format("  {:<34} {:>12}\n", "longest context at this batch",
                      r.longest_context());
  return text;
}

}  // namespace

std::string InferenceText(const pb::Report& report) {
  const pb::Report::InferenceResult& r = report.inference();
  std::string text = fmt::format("{}\n\n", report.scenario());
  text += Line("prefill", SecondsText(r.prefill_s()));
  text += Line("time to first token", SecondsText(r.time_to_first_token_s()));
  if (r.has_time_per_output_token_s()) {
    text +=
        Line("time per output token", SecondsText(r.time_per_output_token_s()));
    if (r.has_first_step_s()) {
      text += Line("  first step, last step",
                   fmt::format("{}, {}", SecondsText(r.first_step_s()),
                               SecondsText(r.last_step_s())));
    }
  }
  if (r.has_tokens_per_step()) {
    text += Line("tokens per step and sequence",
                 fmt::format("{:.2f}", r.tokens_per_step()));
  }
  text += Line("end to end", SecondsText(r.end_to_end_s()));
  text += Line("output tokens per second", RateText(r.output_tokens_per_s()));
  if (r.has_decode_tokens_per_s()) {
    text += Line("  while decoding", RateText(r.decode_tokens_per_s()));
    text += Line("  while decoding, per chip",
                 RateText(r.decode_tokens_per_s_per_chip()));
    text +=
        Line("  while decoding, per user", RateText(r.tokens_per_s_per_user()));
  }
  text += Line("prompt tokens per second", RateText(r.prefill_tokens_per_s()));
  if (report.has_cost()) {
    const pb::Report::CostResult& cost = report.cost();
    text += fmt::format("cost: {}/chip-hour, {} a million input tokens",
                        DollarsText(cost.dollars_per_chip_hour()),
                        DollarsText(cost.million_input_tokens().nominal()));
    // A request of one token does not decode.
    if (cost.has_million_output_tokens()) {
      text += fmt::format(", {} a million output tokens",
                          DollarsText(cost.million_output_tokens().nominal()));
    }
    text += fmt::format(" ({})\nfactors: {}\n", ProductiveShareText(cost),
                        FactorsLine(report));
  }
  if (r.has_pools()) text += PoolsText(r.pools());
  if (report.has_breakdown()) text += StepText(report);
  if (report.has_memory()) text += MemoryText(report);
  text += "\n";
  if (r.has_estimated_end_to_end_s()) {
    text += fmt::format(
        "closed form: prefill {} ({:+.1f} %), end to end {} ({:+.1f} %)\n",
        SecondsText(r.estimated_prefill_s()),
        100 * (r.estimated_prefill_s() / r.prefill_s() - 1),
        SecondsText(r.estimated_end_to_end_s()),
        100 * (r.estimated_end_to_end_s() / r.end_to_end_s() - 1));
  }
  if (report.has_bounds()) {
    text += fmt::format("bounds of the step: {} to {}\n",
                        SecondsText(report.bounds().lower_s()),
                        SecondsText(report.bounds().upper_s()));
  }
  text += MeasuredText(report) + TrustText(report);
  if (report.has_engine()) {
    const auto& e = report.engine();
    text += fmt::format(
        "simulated {} of {} ranks and {} of {} decode steps in {} ({}); the "
        "others change the time of decoding by at most {:.3f} %\n",
        e.simulated_ranks(), e.ranks(), r.simulated_steps(), r.decode_steps(),
        SecondsText(e.wall_s()), e.fidelity(), 100 * r.integration_error());
  }
  for (const std::string& warning : report.warnings()) {
    text += fmt::format("note: {}\n", warning);
  }
  if (report.has_memory() && !report.memory().fits()) {
    text += r.largest_batch() > 0
                ? fmt::format(
                      "\nthe batch does not fit: the largest that does "
                      "is {}\n",
                      r.largest_batch())
                : std::string("\nthe model does not fit: no batch does\n");
  }
  return text;
}

}  // namespace orrery
