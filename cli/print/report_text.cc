#include "cli/print/report_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/units_text.h"
#include "cli/print/cost_text.h"

namespace orrery {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

struct Row {
  std::string name;
  double seconds;
};

std::string Count(double value) {
  constexpr std::pair<double, const char*> kScales[] = {
      {1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
  for (const auto& [scale, suffix] : kScales) {
    if (value >= 10 * scale) {
      return fmt::format("{:.1f}{}", value / scale, suffix);
    }
  }
  return fmt::format("{:.1f}", value);
}

std::string BreakdownText(const pb::Report& report) {
  const auto& b = report.breakdown();
  const std::vector<Row> rows = {
      {"matrix and other compute", b.compute_s()},
      {"memory-bound kernels", b.memory_bound_s()},
      {"kernel launches", b.launch_s()},
      {"tensor communication, exposed", b.tensor_exposed_s()},
      {"context communication, exposed", b.context_exposed_s()},
      {"expert communication, exposed", b.expert_exposed_s()},
      {"pipeline communication, exposed", b.pipeline_exposed_s()},
      {"data communication, exposed", b.data_exposed_s()},
      {"waiting for other ranks (bubble)", b.bubble_s()},
      {"waiting for late peers", b.late_peer_s()},
      {"waiting for the host", b.host_s()},
      {"optimizer", b.optimizer_s()},
      {"kernels slowed by communication",
       b.kernels_slowed_by_communication_s()},
      {"kernels longer on a slow chip", b.slow_chip_s()}};
  std::string text = "where the time goes (one rank of the busiest stage)\n";
  for (const Row& row : rows) {
    if (row.seconds <= 0) continue;
    const double share = row.seconds / report.step_time_s();
    text += fmt::format("  {:<34} {:>12}  {:>5.1f} %\n", row.name,
                        SecondsText(row.seconds), 100 * share);
  }
  return text;
}

std::string MemoryText(const pb::Report::Memory& m) {
  std::string text = fmt::format(
      "memory of rank {}, {} into the step: {} of {}, {}\n", m.peak_rank(),
      SecondsText(m.peak_at_s()), BytesText(m.reserved_bytes()),
      BytesText(m.capacity_bytes()), m.fits() ? "fits" : "DOES NOT FIT");
  const std::pair<const char*, int64_t> parts[] = {
      {"weights", m.weights_bytes()},
      {"gradients", m.gradients_bytes()},
      {"optimizer state", m.optimizer_bytes()},
      {"activations", m.activations_bytes()},
      {"KV cache", m.kv_cache_bytes()},
      {"buffers and run-time", m.buffers_bytes()},
      {"held by the allocator beside them",
       m.reserved_bytes() - m.peak_bytes()}};
  for (const auto& [name, bytes] : parts) {
    if (bytes == 0) continue;
    text += fmt::format("  {:<34} {:>12}\n", name, BytesText(bytes));
  }
  if (m.stages_size() < 2) return text;
  // The first and the last of many; JSON has all, with what they are made of.
  constexpr int kEnds = 4;
  text += "  by stage, first to last, in GiB:";
  for (int i = 0; i < m.stages_size(); ++i) {
    if (m.stages_size() > 2 * kEnds && i == kEnds) {
      text += " ...";
      i = m.stages_size() - kEnds;
    }
    text += fmt::format(" {:.1f}",
                        static_cast<double>(m.stages(i).peak_bytes()) / kGiB);
  }
  return text + "\n";
}

std::string EngineText(const pb::Report::EngineStatistics& e) {
  return fmt::format(
      "simulated {} of {} ranks, {} tasks, {} events in {} ({})\n",
      e.simulated_ranks(), e.ranks(), e.tasks(), e.events(),
      SecondsText(e.wall_s()), e.fidelity());
}

}  // namespace

std::string ReportText(const pb::Report& report) {
  std::string text = fmt::format("{}\n\n", report.scenario());
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<36} {:>12}\n", name, value);
  };
  line("step time", SecondsText(report.step_time_s()));
  line("tokens per second", Count(report.tokens_per_s()));
  line("tokens per second and chip", Count(report.tokens_per_s_per_chip()));
  line("model TFLOP/s per chip",
       fmt::format("{:.1f}", report.model_tflops_per_chip()));
  line("MFU (attention in full)", fmt::format("{:.1f} %", 100 * report.mfu()));
  line("MFU (causal pairs only)",
       fmt::format("{:.1f} %", 100 * report.mfu_causal()));
  line("HFU (recomputation included)",
       fmt::format("{:.1f} %", 100 * report.hfu()));
  if (report.has_cost()) text += fmt::format("cost: {}\n", CostLine(report));
  if (report.has_energy()) {
    text += fmt::format("energy: {}\n", EnergyLine(report));
  }
  if (report.has_cost()) {
    text += fmt::format("factors: {}\n", FactorsLine(report));
  }
  if (report.has_breakdown()) text += "\n" + BreakdownText(report);
  if (report.has_memory()) text += "\n" + MemoryText(report.memory());
  text += "\n";
  if (report.has_estimate()) {
    const double estimate = report.estimate().step_time_s();
    text += fmt::format(
        "closed form: {} ({:+.1f} %){}{}\n", SecondsText(estimate),
        100 * (estimate / report.step_time_s() - 1),
        report.engine().fidelity() == "CLOSED_FORM" ? kLinksToItself : "",
        report.estimate().has_held_s() ? ", held within the bounds" : "");
  }
  if (report.has_bounds()) {
    text += fmt::format("bounds: {} to {}\n",
                        SecondsText(report.bounds().lower_s()),
                        SecondsText(report.bounds().upper_s()));
  }
  text += MeasuredText(report) + TrustText(report);
  if (report.has_engine()) text += EngineText(report.engine());
  for (const std::string& warning : report.warnings()) {
    text += fmt::format("note: {}\n", warning);
  }
  return text;
}

std::string TrustText(const pb::Report& report) {
  if (!report.has_trust()) return "";
  return fmt::format("trust: {}\n", report.trust());
}

std::string MeasuredText(const pb::Report& report) {
  std::string text;
  for (const pb::MeasuredBeside& beside : report.measured()) {
    text += fmt::format("measured: {} {:.4g}", beside.quantity(),
                        beside.measured());
    if (beside.has_predicted()) {
      text += fmt::format(", predicted {:.4g} ({:+.1f} %)", beside.predicted(),
                          100 * beside.error());
    }
    if (beside.has_note()) text += fmt::format("; {}", beside.note());
    text += fmt::format(" [{}]\n", beside.source());
  }
  return text;
}

std::string AdviceText(const pb::Report& report) {
  if (report.memory().changes().empty()) {
    return "no single change of recomputation, sharding, tensor or pipeline "
           "degree or micro-batch makes it fit\n";
  }
  std::string text = "it would fit with any of these, each simulated:\n";
  for (const auto& change : report.memory().changes()) {
    std::string settings;
    for (const std::string& setting : change.settings()) {
      settings += fmt::format(" --set {}", setting);
    }
    text += fmt::format(
        " {:<66} {:>10}, step {} ({:+.1f} %)\n", settings,
        BytesText(change.peak_bytes()), SecondsText(change.step_time_s()),
        100 * (change.step_time_s() / report.step_time_s() - 1));
  }
  return text;
}

}  // namespace orrery
